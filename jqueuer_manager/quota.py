"""How much one user may have under way."""

from __future__ import annotations

from jqueuer.errors import TooManyExperimentsError
from jqueuer_manager.services import Services


def refuse_too_many(services: Services, owner: str, *, counted: bool) -> None:
    """Raise where the owner has no room for another experiment; ``counted`` where it is in the store already.

    Of two that come at once where there is room for one, both may be refused, but never is one too many accepted.
    """
    limit = services.settings.max_experiments_per_user
    others = services.experiments.unfinished_of(owner) - counted
    if others >= limit:
        raise TooManyExperimentsError(
            f"{owner} has {others} experiments that have not ended, and may have {limit}: "
            "wait until one has ended, or cancel one (JQUEUER_MAX_EXPERIMENTS_PER_USER is the limit)"
        )
