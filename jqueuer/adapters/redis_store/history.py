"""What is kept for drawing: points of an experiment's history, thinned as time goes on, and spans of its attempts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from pydantic import TypeAdapter

from jqueuer.adapters.redis_store.connection import StoreClient
from jqueuer.records import HistoryPoint, Span

MOST_POINTS: Final = 600
FIRST_INTERVAL_SECONDS: Final = 1.0
"""Between two points, to begin with; it doubles whenever there are as many as are kept."""
MOST_SPANS: Final = 2000

_POINTS: Final = TypeAdapter(list[HistoryPoint])

RECORD_POINT: Final = """
-- KEYS: hash, list of points; ARGV: the point, its moment, first interval, most points, however early it is (1/0).
-- Returns the milliseconds until the next one is due.
if redis.call('HEXISTS', KEYS[1], 'description') == 0 then return 60000 end
local interval = tonumber(redis.call('HGET', KEYS[1], 'point_seconds') or ARGV[3])
local last = redis.call('LINDEX', KEYS[2], -1)
local passed = last and math.abs(ARGV[2] - cjson.decode(last)['at'])  -- clocks are set back, too
if passed and passed < interval and ARGV[5] == '0' then return math.ceil((interval - passed) * 1000) end
if redis.call('LLEN', KEYS[2]) >= tonumber(ARGV[4]) then
  local points, kept = redis.call('LRANGE', KEYS[2], 0, -1), {}
  for i = 1, #points, 2 do kept[#kept + 1] = points[i] end
  redis.call('DEL', KEYS[2])
  redis.call('RPUSH', KEYS[2], unpack(kept))
  interval = interval * 2
  redis.call('HSET', KEYS[1], 'point_seconds', interval)
end
redis.call('RPUSH', KEYS[2], ARGV[1])
return math.ceil(interval * 1000)
"""

SPAN: Final = f"""
-- For scripts that end attempts: who worked on what from when to when, of the latest ends only.
local function span(run, attempt, finished_at, outcome)
  local line = {{run.id, attempt['number'], attempt['container'], attempt['node'], attempt['started_at'], finished_at}}
  line[7] = outcome
  redis.call('RPUSH', KEYS[1] .. ':spans', cjson.encode(line))
  redis.call('LTRIM', KEYS[1] .. ':spans', {-MOST_SPANS}, -1)
end
"""


class History:
    """The points of experiments."""

    def __init__(self, client: StoreClient) -> None:
        self._client = client
        self._record = client.register_script(RECORD_POINT)

    def record(self, base: str, point: HistoryPoint, *, at_once: bool) -> float:
        """Keep a point unless it is too early; the seconds until the next one is due."""
        line = point.model_dump_json(exclude_none=True)
        arguments = [line, point.at, FIRST_INTERVAL_SECONDS, MOST_POINTS, int(at_once)]
        return float(self._record(keys=[base, history_key(base)], args=arguments)) / 1000

    def points(self, base: str) -> list[HistoryPoint]:
        """The points by their moments, whatever was done to the clock meanwhile."""
        points = _POINTS.validate_json(_array(self._client.lrange(history_key(base), 0, -1)))
        return sorted(points, key=lambda point: point.at)

    def latest(self, bases: Sequence[str]) -> list[HistoryPoint | None]:
        """The last point of each."""
        with self._client.pipeline(transaction=False) as batch:
            for base in bases:
                batch.lindex(history_key(base), -1)
            return [HistoryPoint.model_validate_json(line) if line else None for line in batch.execute()]


def history_key(base: str) -> str:
    """Where the points of an experiment are."""
    return f"{base}:history"


def spans_key(base: str) -> str:
    """Where the spans of the ended attempts of an experiment are."""
    return f"{base}:spans"


def ended_spans(client: StoreClient, base: str, since: float) -> list[Span]:
    """The spans of the latest attempts that have ended, at that moment or later, in that order."""
    rows = json.loads(_array(client.lrange(spans_key(base), 0, -1)))
    return [
        Span(
            job=job,
            attempt=attempt,
            container=container,
            node=node,
            started_at=started_at,
            finished_at=finished_at,
            outcome=outcome,
        )
        for job, attempt, container, node, started_at, finished_at, outcome in rows
        if finished_at >= since
    ]


def running_spans(client: StoreClient, lane: str) -> list[Span]:
    """The spans of the attempts that run; of a job with two copies both."""
    job_ids = client.zrange(f"{lane}:running", 0, MOST_SPANS - 1)
    with client.pipeline(transaction=False) as batch:
        for job_id in job_ids:
            batch.hmget(f"{lane}:job:{job_id}", "token", "copies")
        held = batch.execute()
    attempts = [
        (job_id, token)
        for job_id, (last, copies) in zip(job_ids, held, strict=True)
        for token in (json.loads(copies) if copies else (last,))
    ]
    with client.pipeline(transaction=False) as batch:
        for job_id, token in attempts:
            batch.hget(f"{lane}:job:{job_id}", f"a:{token}")
        lines = batch.execute()
    return [_running(job_id, line) for (job_id, _), line in zip(attempts, lines, strict=True) if line]


def _array(lines: list[str]) -> str:
    """Many lines of JSON as one, which takes much less time to read."""
    return f"[{','.join(lines)}]"


def _running(job_id: str, line: str) -> Span:
    """What it says of its end is left out: it may have come between two looks."""
    attempt = json.loads(line)
    return Span(
        job=job_id,
        attempt=attempt["number"],
        container=attempt["container"],
        node=attempt["node"],
        started_at=attempt["started_at"],
    )
