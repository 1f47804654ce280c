"""What is asked about an experiment whenever there is news of it: the last decision, failures, who is busy where."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any, Final

from jqueuer.cli.display.looks import Failure, Look
from jqueuer.cli.display.words import how_it_failed, last_lines
from jqueuer.client import Client, ClientError
from jqueuer.client.following import News, follow

FAILURES: Final = 3
"""So many are shown, the latest."""
_LINES: Final = 2
_TAIL_BYTES: Final = 2000
_OVERLAP_SECONDS: Final = 2.0
"""Attempts are not recorded in quite the order in which they ended."""
_FAILED: Final = frozenset({"failed", "timed-out", "killed", "lost"})


class Onlooker:
    """Remembers what cannot change any more, so that it is asked for once."""

    def __init__(self, client: Client, experiment_id: str) -> None:
        self._client = client
        self._id = experiment_id
        self._decision: dict[str, Any] | None = None
        self._failed: dict[str, tuple[float, int]] = {}
        """The jobs whose attempts failed last: when, and which attempt."""
        self._failures: dict[tuple[str, int], Failure] = {}
        self._busy_on: Counter[str] = Counter()
        self._since = 0.0

    def looks(self) -> Generator[Look, None, None]:
        """A look per piece of news, until the experiment has ended."""
        for news in follow(self._client, self._id):
            yield self._look(news)

    def _look(self, news: News) -> Look:
        trouble = news.trouble
        if not trouble:
            try:
                self._ask()
            except ClientError as error:
                trouble = str(error)
        latest = sorted(self._failures.values(), key=lambda failure: failure.ended_at, reverse=True)
        return Look(news.experiment, self._decision, tuple(latest), dict(self._busy_on), trouble)

    def _ask(self) -> None:
        decisions = self._client.journal(self._id, limit=1)
        self._decision = decisions[-1] if decisions else None
        spans = self._client.timeline(self._id, since=max(0.0, self._since - _OVERLAP_SECONDS))
        self._busy_on = Counter(span["node"] for span in spans if span["finished_at"] is None)
        for span in spans:
            if span["finished_at"] is not None:
                self._since = max(self._since, span["finished_at"])
                if span["outcome"] in _FAILED:
                    last = (span["finished_at"], span["attempt"])
                    self._failed[span["job"]] = max(last, self._failed.get(span["job"], last))
        self._failed = dict(sorted(self._failed.items(), key=lambda item: item[1])[-FAILURES:])
        latest = [(job, attempt) for job, (_, attempt) in self._failed.items()]
        self._failures = {which: self._failures.get(which) or self._failure(*which) for which in latest}

    def _failure(self, job: str, number: int) -> Failure:
        attempts = self._client.job(self._id, job)["attempts"]
        attempt = next((one for one in attempts if one["number"] == number), None)
        if attempt is None:  # the line of time remembers longer
            return Failure(job, number, self._failed[job][0], "failed")
        written = b"".join(self._client.log(self._id, job, number, "stderr", -_TAIL_BYTES))
        return Failure(
            job=job,
            attempt=number,
            ended_at=attempt["finished_at"],
            how=how_it_failed(attempt),
            reason=attempt["reason"],
            words=last_lines(written.decode(errors="replace"), _LINES),
        )
