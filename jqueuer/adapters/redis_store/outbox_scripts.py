"""The Lua scripts of the outbox, and how a message stands in the store.

``X:outbox`` has a field per message, ``<when it happened> <failed tries> <the message>``; ``jq:outbox`` says when each
is due, as ``<experiment> <message> <receiver>``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jqueuer.notifying import Message, receiver_of

DUE: Final = "jq:outbox"
OUTCOMES: Final = "jq:webhooks"
_SAID_ELSEWHERE: Final = {"at", "tries"}

PUT: Final = """
-- For scripts that put messages in: each is three arguments, its id, itself, and its place among those that are due.
local function put_messages(outbox, due, first, at)
  for i = first, #ARGV, 3 do
    redis.call('HSET', outbox, ARGV[i], at .. ' 0 ' .. ARGV[i + 1])
    redis.call('ZADD', due, at, ARGV[i + 2])
  end
end
"""

_JOURNAL: Final = """
local function journal(line)
  redis.call('RPUSH', KEYS[4], line)
  redis.call('LTRIM', KEYS[4], -ARGV[2], -1)
end
"""
"""All below have the KEYS experiment, its outbox, due messages, journal, outcomes; ARGV begins with the journal's line
and how many of these are kept."""

TELL_AT_RISK: Final = f"""
{PUT}{_JOURNAL}
-- ARGV: …, when, the messages
local known = redis.call('HMGET', KEYS[1], 'description', 'told_at_risk', 'finished_at')
if not known[1] or known[2] or known[3] then return 0 end
redis.call('HSET', KEYS[1], 'told_at_risk', ARGV[3])
put_messages(KEYS[2], KEYS[3], 4, ARGV[3])
journal(ARGV[1])
return 1
"""

POSTPONE: Final = f"""
{_JOURNAL}
-- ARGV: …, until when, failed tries, the message. One that is not there any more stays away.
local held = redis.call('HGET', KEYS[2], ARGV[5])
if not held then return 0 end
redis.call('HSET', KEYS[2], ARGV[5], string.match(held, '^%S+') .. ' ' .. ARGV[4] .. ' ' .. ARGV[6])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[7])
redis.call('HINCRBY', KEYS[5], 'failed', 1)
if ARGV[1] ~= '' then journal(ARGV[1]) end
return 1
"""

CLOSE: Final = f"""
{_JOURNAL}
-- ARGV: …, outcome, the message. Of a deleted experiment nothing is journalled.
redis.call('ZREM', KEYS[3], ARGV[6])
if redis.call('HDEL', KEYS[2], ARGV[4]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[5], ARGV[3], 1)
journal(ARGV[1])
return 1
"""


def arguments_of(messages: Sequence[Message]) -> list[str]:
    """What scripts are told of messages."""
    return [part for one in messages for part in (one.id, one.model_dump_json(exclude=_SAID_ELSEWHERE), place_of(one))]


def place_of(message: Message) -> str:
    """The message among those that are due; none of the parts has a space in it."""
    return f"{message.experiment_id} {message.id} {receiver_of(message.url)}"


def message_in(entry: str) -> Message:
    """The message that stands in the outbox; :class:`ValueError` where this version cannot read it."""
    at, tries, text = entry.split(" ", 2)
    return Message.model_validate_json(text).model_copy(update={"at": float(at), "tries": int(tries)})
