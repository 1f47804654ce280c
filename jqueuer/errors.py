"""Every error a user can meet, one sentence each."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a description: where it is and what was expected."""

    path: str
    """Where, as a path into the description: ``jobs[3].tasks[0].command``."""
    message: str
    """What was wrong and what was expected, in words for its author."""
    line: int | None = None
    """The line in the source text, where it is known."""

    def __str__(self) -> str:
        line = "" if self.line is None else f"line {self.line}: "
        path = f"{self.path}: " if self.path else ""
        return f"{line}{path}{self.message}"

    def as_dict(self) -> dict[str, object]:
        """The fault as JSON."""
        return asdict(self)


class JQueuerError(Exception):
    """Something went wrong that the user can act on."""


class DescriptionError(JQueuerError):
    """The experiment description has faults."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(str(fault) for fault in faults))


class TooLargeError(JQueuerError):
    """The request is larger than the configured limit."""


class NotFoundError(JQueuerError):
    """There is no such experiment, job, attempt or file."""


class ConflictError(JQueuerError):
    """The experiment's state does not allow this."""


class TooManyExperimentsError(ConflictError):
    """The user has as many experiments that have not ended as one user may have."""


class StoreUnavailableError(JQueuerError):
    """The store does not answer."""


class UnauthenticatedError(JQueuerError):
    """The request shows no token, or one that is not known here."""


class ForbiddenError(JQueuerError):
    """The user's role does not allow this."""


class BusyError(JQueuerError):
    """As much as is allowed at once is under way already; later there is room again."""


class RefusedError(JQueuerError):
    """The manager does not take, or does not give, what an agent asked of it."""


class StorageFullError(RefusedError):
    """There is no room left on the disk that keeps inputs, logs and outputs."""


class EngineUnavailableError(JQueuerError):
    """The container engine does not answer, or refused what was asked of it."""


class ContainerGoneError(JQueuerError):
    """The container died while something was to be done in it."""


class SettingsError(JQueuerError):
    """A setting is missing or wrong."""


class BackupError(JQueuerError):
    """The backup is damaged, or not one that can be restored."""


class UnsupportedError(JQueuerError):
    """This engine cannot do what the description asks for."""
