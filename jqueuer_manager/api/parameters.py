"""What paths and queries may contain; anything else is refused before a handler sees it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from jqueuer.access import UserName
from jqueuer.states import ExperimentState, JobState

PREFIX: Final = "/api/v1"
MAX_PAGE: Final = 500

_MAX_OFFSET: Final = 1_000_000_000
Offset = Annotated[int, Field(ge=0, le=_MAX_OFFSET, description="How many to skip")]
Limit = Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many to return at most")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class ExperimentPath(BaseModel):
    """Names one experiment."""

    experiment_id: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]


class JobPath(ExperimentPath):
    """Names one job; ``@post`` is the experiment's post command."""

    job_id: Annotated[str, StringConstraints(pattern=r"^(@post|[A-Za-z0-9][A-Za-z0-9._-]{0,127})$")]


class AttemptPath(JobPath):
    """Names one attempt at a job."""

    number: Annotated[int, Field(ge=1, le=_MAX_OFFSET)]


class LogPath(AttemptPath):
    """Names one captured stream."""

    stream: Literal["stdout", "stderr"]


class OutputPath(AttemptPath):
    """Names one output file."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class FilePath(BaseModel):
    """Names a file by its content."""

    sha256: Sha256


class TokenPath(BaseModel):
    """Names one token without telling it."""

    token_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{12}$")]


class Query(BaseModel):
    """A query; keys it does not know are errors."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
        """As pydantic's; the plain one is made once, because it is asked for at every request."""
        if arguments or options:
            return super().model_json_schema(*arguments, **options)
        if cls not in _SCHEMAS:
            _SCHEMAS[cls] = super().model_json_schema()
        return _SCHEMAS[cls]


_SCHEMAS: Final[dict[type[Query], dict[str, Any]]] = {}


class ExperimentsQuery(Query):
    """Which experiments."""

    state: Annotated[list[ExperimentState], Field(description="Only these states; may be repeated")] = []
    owner: Annotated[UserName | Literal[""], Field(description="Only those of this user")] = ""
    offset: Offset = 0
    limit: Limit = 50


class JobsQuery(Query):
    """Which jobs."""

    state: JobState | None = None
    search: Annotated[str, Field(max_length=128, description="A part of the job's id")] = ""
    offset: Offset = 0
    limit: Limit = 50


class OutputsQuery(Query):
    """Where the listing of outputs goes on."""

    after: Annotated[
        str, Field(pattern=r"^(|(\d{1,9}|post)\.\d{1,9})$", description="From the previous page's ``next`` link")
    ] = ""
    limit: Limit = 100


class JournalQuery(Query):
    """How much of the journal."""

    limit: Annotated[int, Field(ge=1, le=5000, description="So many of the latest decisions")] = 200


class SubmitQuery(Query):
    """What a client remembers about a submission."""

    source: Annotated[str, Field(max_length=4096, description="The file the description came from")] = ""
    source_digest: Annotated[str, Field(max_length=128, description="Checksum of that file")] = ""
    if_feasible: Annotated[
        bool, Field(description="Refuse it, with a counter-offer, unless its quote is that it is feasible")
    ] = False


class QuoteQuery(Query):
    """What names an experiment that has no name."""

    source: Annotated[str, Field(max_length=4096, description="The file the description came from")] = ""


class SubmitHeader(BaseModel):
    """Headers of a submission."""

    key: Annotated[
        str | None,
        Field(
            alias="Idempotency-Key",
            pattern=r"^[\x21-\x7e]{1,255}$",
            description="The same key with the same body makes one experiment, however often it is sent",
        ),
    ] = None


def next_link(path: str, query: ExperimentsQuery | JobsQuery, total: int) -> str | None:
    """The link to the page after this one, or None on the last."""
    offset = query.offset + query.limit
    if offset >= total:
        return None
    parameters: dict[str, Any] = {**query.model_dump(mode="json", exclude_defaults=True), "offset": offset}
    return f"{path}?{urlencode(parameters | {'limit': query.limit}, doseq=True)}"
