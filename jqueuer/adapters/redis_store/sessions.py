"""Sessions, by the digests of their ids, on Redis or Valkey: keys that the server itself lets go when they end."""

from __future__ import annotations

from typing import Final

from jqueuer.access import SessionRecord
from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.adapters.redis_store.tokens import TOKENS, current

SESSIONS: Final = "jq:session:"
"""Their keys begin with it; each holds the digest of its token."""
MOST_OF_A_TOKEN: Final = 100
"""Who logs in again and again does not fill the store."""

_OF_TOKEN: Final = f"{SESSIONS}of:"
"""The sessions of a token, by the moments at which they end."""

_ENDS: Final = """
local function ends(index, session, milliseconds)
  local time = redis.call('TIME')
  redis.call('ZADD', index, time[1] * 1000 + math.floor(time[2] / 1000) + milliseconds, session)
  if redis.call('PTTL', index) < tonumber(milliseconds) then redis.call('PEXPIRE', index, milliseconds) end
end
"""
_OPEN: Final = f"""{_ENDS}
-- KEYS: session, sessions of its token; ARGV: digest, token's digest, milliseconds, most, what keys begin with.
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
ends(KEYS[2], ARGV[1], ARGV[3])
local surplus = redis.call('ZCARD', KEYS[2]) - ARGV[4]
if surplus <= 0 then return end
for _, digest in ipairs(redis.call('ZRANGE', KEYS[2], 0, surplus - 1)) do redis.call('DEL', ARGV[5] .. digest) end
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, surplus - 1)
"""
_FIND: Final = """
-- KEYS: session, tokens. Returns the token's digest, the token, the milliseconds left, the time.
local token = redis.call('GET', KEYS[1])
if not token then return false end
return {token, redis.call('HGET', KEYS[2], token), redis.call('PTTL', KEYS[1]), redis.call('TIME')}
"""
_RENEW: Final = f"""{_ENDS}
-- KEYS: session, sessions of its token; ARGV: digest, milliseconds.
if redis.call('PEXPIRE', KEYS[1], ARGV[2]) == 1 then ends(KEYS[2], ARGV[1], ARGV[2]) end
"""


class RedisSessionStore:
    """The :class:`~jqueuer.ports.SessionStore` on Redis or Valkey; sessions end by the server's clock."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client
        self._open = client.register_script(_OPEN)
        self._find = client.register_script(_FIND)
        self._renew = client.register_script(_RENEW)

    def open(self, digest: str, token_digest: str, *, seconds: float) -> None:
        """Remember a session; of a token that has too many the one goes that would end first."""
        arguments = [digest, token_digest, _milliseconds(seconds), MOST_OF_A_TOKEN, SESSIONS]
        self._open(keys=[SESSIONS + digest, _OF_TOKEN + token_digest], args=arguments)

    def find(self, digest: str) -> SessionRecord | None:
        """The session and its token; one round trip, because every request of a browser asks."""
        found = self._find(keys=[SESSIONS + digest, TOKENS])
        if not found:
            return None
        token_digest, token, milliseconds, (seconds, microseconds) = found
        return SessionRecord(
            digest=digest,
            token_digest=token_digest,
            token=current(token, (int(seconds), int(microseconds))),
            seconds_left=milliseconds / 1000,
        )

    def renew(self, session: SessionRecord, *, seconds: float) -> None:
        """Let it last so long from now on, unless it has ended meanwhile."""
        keys = [SESSIONS + session.digest, _OF_TOKEN + session.token_digest]
        self._renew(keys=keys, args=[session.digest, _milliseconds(seconds)])

    def end(self, digest: str) -> None:
        """Forget it at once."""
        token_digest = self._client.getdel(SESSIONS + digest)
        if token_digest:
            self._client.zrem(_OF_TOKEN + token_digest, digest)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
