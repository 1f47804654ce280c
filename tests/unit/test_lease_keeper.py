"""The keeper of leases, while no command runs that would renew them."""

from __future__ import annotations

from collections.abc import Callable

from jqueuer.ports import Renewal
from jqueuer_agent.lease import Lease, LeaseKeeper


def test_it_goes_on_whatever_the_store_answers(eventually: Callable[..., None]) -> None:
    """It is started once; jobs to come would lose their leases while files are brought and fetched."""
    answers: list[Renewal | Exception] = [RuntimeError("ERR something nobody thought of"), *[Renewal.KEPT] * 10_000]
    asked: list[int] = []

    def renew() -> Renewal:
        asked.append(1)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with LeaseKeeper(0.01).keeping(Lease(renew)):
        eventually(lambda: len(asked) > 1)
