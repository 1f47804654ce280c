"""Which requests wait in which room."""

from __future__ import annotations

import pytest

from jqueuer_manager.open_requests import Kind, kind_of

SUM = "0" * 64
ATTEMPT = "/experiments/x/jobs/a/attempts/1"


@pytest.mark.parametrize(
    ("method", "path", "length", "kind"),
    [
        ("GET", "/api/v1/experiments", "", Kind.QUESTION),
        ("POST", "/api/v1/experiments", "10", Kind.SUBMISSION),
        ("POST", "/api/v1/experiments/", "10", Kind.SUBMISSION),
        ("POST", "/api/v1/quotes", "", Kind.SUBMISSION),
        ("POST", "/experiment/add", "", Kind.SUBMISSION),
        ("POST", "/experiment/del", "20", Kind.COMMAND),
        ("POST", "/api/v1/session", "20", Kind.LOGIN),
        ("DELETE", "/api/v1/session", "", Kind.COMMAND),
        ("GET", "/api/v1/events", "", Kind.STREAM),
        ("HEAD", "/api/v1/events", "", Kind.QUESTION),
        ("GET", "/api/v1/experiments/x/history", "", Kind.QUESTION),
        ("POST", "/api/v1/experiments/x/pause", "", Kind.COMMAND),
        ("PUT", f"/api/v1/files/{SUM}", "65537", Kind.TRANSFER),
        ("PUT", f"/api/v1/files/{SUM}", "", Kind.TRANSFER),
        ("PUT", f"/api/v1/files/{SUM}", "many", Kind.TRANSFER),
        ("PUT", f"/api/v1/files/{SUM}", "65536", Kind.COMMAND),
        ("HEAD", f"/api/v1/files/{SUM}", "", Kind.QUESTION),
        ("PUT", f"/api/v1/agents{ATTEMPT}/logs/stdout", "300", Kind.COMMAND),
        ("PUT", f"/api/v1/agents{ATTEMPT}/outputs", "1000000", Kind.TRANSFER),
        ("GET", f"/api/v1/agents{ATTEMPT}/outputs", "", Kind.TRANSFER),
        ("GET", f"/api/v1/agents/inputs/{SUM}", "", Kind.TRANSFER),
        ("GET", f"/api/v1{ATTEMPT}/outputs/a/b", "", Kind.TRANSFER),
        ("GET", "/api/v1/experiments/x/outputs", "", Kind.QUESTION),
        ("GET", f"/api/v1{ATTEMPT}/stdout", "", Kind.QUESTION),
    ],
)
def test_submissions_and_transfers_are_told_apart_from_questions(
    method: str, path: str, length: str, kind: Kind
) -> None:
    assert kind_of(method, path, length) is kind
