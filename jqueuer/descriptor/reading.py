"""Reading a description in whatever format and dialect it is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from jqueuer.descriptor.description import Description
from jqueuer.descriptor.dialects import dialect_of, read_2018
from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.native import read_native
from jqueuer.model import Experiment

MAX_JOBS = 1_000_000
_OUTSIDE_NAMES = re.compile(r"[^A-Za-z0-9 ._-]+")


def read_description(
    data: bytes, *, source: str = "", base: Path | None = None, max_jobs: int = MAX_JOBS
) -> Description:
    """The experiment and its jobs from YAML, JSON, or either dialect of 2018.

    ``source`` is the file it comes from; an experiment without a name is called after it. ``base`` is the folder of
    the description, for the CSV file of a sweep; without it such a file is refused.
    Raises :class:`~jqueuer.errors.DescriptionError` with all faults at once.
    """
    document = read_document(data)
    dialect = dialect_of(document.value)
    if dialect == "native":
        description = read_native(document, base=base, max_jobs=max_jobs)
    else:
        description = read_2018(document, dialect, max_jobs=max_jobs)
    return replace(description, experiment=_named(description.experiment, source))


def _named(experiment: Experiment, source: str) -> Experiment:
    name = _OUTSIDE_NAMES.sub("-", Path(source).stem).lstrip(" ._-")[:63]
    if not name or "name" in experiment.model_fields_set:
        return experiment
    return experiment.model_copy(update={"name": name})
