"""The Lua scripts of experiments: their states, and the keys by which requests are known again."""

from __future__ import annotations

from jqueuer.adapters.redis_store.outbox_scripts import PUT

MOVE_EXPERIMENT = f"""
{PUT}
-- KEYS: hash, active set, outbox, due messages; ARGV: id, new state, reason, terminal (1/0), how many of a kind are
-- kept, how many states are expected, these, and the messages that tell of it.
local state = redis.call('HGET', KEYS[1], 'state')
local expected = false
for i = 7, 6 + ARGV[6] do if ARGV[i] == state then expected = true end end
if not expected then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[2], 'reason', ARGV[3])
if ARGV[4] == '1' then
  local t = redis.call('TIME')
  local at = t[1] .. '.' .. string.format('%06d', t[2])
  redis.call('HSET', KEYS[1], 'finished_at', at)
  put_messages(KEYS[3], KEYS[4], 7 + ARGV[6], at)
  local kind = redis.call('HGET', KEYS[1], 'kind')
  if kind and ARGV[2] ~= 'cancelled' then
    redis.call('LREM', kind, 0, ARGV[1])
    redis.call('LPUSH', kind, ARGV[1])
    redis.call('LTRIM', kind, 0, ARGV[5] - 1)
  end
else
  redis.call('HDEL', KEYS[1], 'finished_at')
  redis.call('SADD', KEYS[2], ARGV[1])
end
return 1
"""

SETTLE = """
-- KEYS: hash, active set; ARGV: id, terminal states …  A retry that came in between keeps the experiment active.
local state = redis.call('HGET', KEYS[1], 'state')
for i = 2, #ARGV do if ARGV[i] == state then state = false end end
if not state then redis.call('SREM', KEYS[2], ARGV[1]) end
"""

FORGET_KEY = """
-- KEYS: the key; ARGV: experiment id. Only whoever stands for the key gives it back.
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, -#ARGV[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""

ACCEPT = """
-- KEYS: hash, all experiments, active set, receiving set; ARGV: id, the new state. Only what is there: one that was
-- cleared away by a second manager meanwhile does not come back as half of one.
local created = redis.call('HGET', KEYS[1], 'created_at')
if not created then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[2])
redis.call('ZADD', KEYS[2], created, ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
return 1
"""

AMEND = """
-- KEYS: hash; ARGV: fields and values. Nothing comes back to life by it.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
"""
