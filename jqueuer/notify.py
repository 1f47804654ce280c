"""Who is told of an experiment's end, or that its deadline is at risk; the field names are the keys of ``notify``."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field, model_validator

from jqueuer.frozen import Frozen
from jqueuer.kinds import check_url
from jqueuer.units import shown

MAX_URL_LENGTH: Final = 2000

Occasion: TypeAlias = Literal["accomplished", "failed", "at-risk"]
"""What somebody may want to be told of."""
OCCASIONS: Final[tuple[Occasion, ...]] = get_args(Occasion)


def check_webhook_url(url: str) -> str:
    """The URL if it can be told something; :class:`ValueError` otherwise, which repeats no password."""
    if holds_credentials(url):
        raise ValueError("a URL cannot hold a user or a password here: the receiver knows us by our signature")
    if len(url) > MAX_URL_LENGTH:
        raise ValueError(f"expected a URL of at most {MAX_URL_LENGTH:,} characters, got {len(url):,}")
    return check_url(url)


def holds_credentials(url: str) -> bool:
    """Whether something that looks like ``user:password@`` is in it, however odd the rest may be."""
    return "@" in url.partition("//")[2].partition("/")[0]


WebhookUrl = Annotated[str, AfterValidator(check_webhook_url)]


class Notify(Frozen):
    """Who is told by a signed webhook, and of what. A bare URL is told of everything."""

    url: WebhookUrl
    on: Annotated[tuple[Occasion, ...], Field(min_length=1)] = OCCASIONS

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, value: Any) -> Any:
        if isinstance(value, bool | int | float | list | tuple):
            raise ValueError(f'expected a URL, or {{url: "https://…", on: [failed, at-risk]}}, got {shown(value)}')
        return {"url": value} if isinstance(value, str) else value
