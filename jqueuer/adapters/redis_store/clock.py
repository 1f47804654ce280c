"""The store's steady clock, in milliseconds: leases and back-offs go by it, not by the clock on the wall.

It goes on with the server's clock, but never back, and between two scripts by no more than the longest silence. So
nothing runs out because that clock was set, or because store or machine stood still for a while: what nobody could
renew meanwhile is not held against anybody. Every script asks it; what was last told stands in the hash ``jq:clock``.
"""

from __future__ import annotations

from typing import Final

CLOCK: Final = "jq:clock"
READING: Final = ("wall", "steady")

_SHORTEST_SILENCE_MS: Final = 1000
_SILENCE: Final = "LONGEST_SILENCE_MS"

LUA: Final = """
local function wall_ms() local t = redis.call('TIME'); return t[1] * 1000 + math.floor(t[2] / 1000) end
local function now_ms()
  local wall, known = wall_ms(), redis.call('HMGET', 'jq:clock', 'wall', 'steady')
  local passed = known[1] and wall - known[1] or 0
  local steady = (known[2] or wall) + math.max(0, math.min(passed, LONGEST_SILENCE_MS))
  if not known[1] or passed < 0 or passed >= 250 then redis.call('HSET', 'jq:clock', 'wall', wall, 'steady', steady) end
  return steady
end
"""


def paced(script: str, lease_ms: int) -> str:
    """A script for a store whose leases last so long: after any silence three quarters of a fresh one are left."""
    return script.replace(_SILENCE, str(max(_SHORTEST_SILENCE_MS, lease_ms // 4)))


def ahead_ms(reading: list[str | None]) -> float:
    """How far the clock on the wall is ahead of the steady one, by a :data:`READING` of :data:`CLOCK`."""
    wall, steady = reading
    return 0.0 if wall is None or steady is None else float(wall) - float(steady)
