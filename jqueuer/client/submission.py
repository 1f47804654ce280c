"""From a description on disk to a submission: what it refers to is sent along, and named by its checksum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jqueuer.client.client import Client
from jqueuer.descriptor import Description, inline_files, read_description, read_job_line, read_jobs_header
from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.printing import to_yaml
from jqueuer.errors import DescriptionError, Fault
from jqueuer.model import Experiment, InputFile, Job

LINES_SUFFIXES: Final = frozenset({".jsonl", ".ndjson"})
"""Files with these names have the experiment on the first line and then a job on each."""


@dataclass(frozen=True)
class Prepared:
    """A description that no longer needs the folder it lies in."""

    document: bytes | None
    """The description in one piece; None where it is sent line by line."""
    lines: Iterable[bytes] = ()
    """The experiment's line and its jobs', to be sent as they come."""


def submit_file(
    path: Path, client: Client, *, idempotency_key: str | None = None, if_feasible: bool = False
) -> dict[str, Any]:
    """Submit a description file with its inputs; the manager's answer.

    Raises :class:`~jqueuer.errors.DescriptionError` for faults in the file, before anything is sent, and
    :class:`~jqueuer.client.ClientError` for what the manager refuses.
    """
    prepared = prepare(path, client)
    source, digest = source_of(path)
    said: dict[str, Any] = {"source": source, "source_digest": digest, "if_feasible": if_feasible}
    if prepared.document is not None:
        return client.submit_bytes(prepared.document, idempotency_key=idempotency_key, **said)
    return client.submit_stream(prepared.lines, idempotency_key=idempotency_key, **said)


def quote_file(path: Path, client: Client) -> dict[str, Any]:
    """What the manager could promise about a description file; its inputs stay where they are."""
    if path.suffix in LINES_SUFFIXES:
        with path.open("rb") as lines:
            return client.quote_stream(lines)
    base, data = path.resolve().parent, path.read_bytes()
    native = read_description(data, source=str(path), base=base).dialect == "native"
    return client.quote_bytes(inline_files(data, base) if native else data, source=str(path.resolve()))


def source_of(path: Path) -> tuple[str, str]:
    """By what a submission is recognized again: the file's absolute path, and a SHA-256 of it and all it refers to.

    A program that was changed makes another experiment, as a changed description does.
    """
    base, data = path.resolve().parent, path.read_bytes()
    if path.suffix in LINES_SUFFIXES:
        return str(path.resolve()), hashlib.sha256(data).hexdigest()
    description = read_description(data, source=str(path), base=base)
    digest = hashlib.sha256(inline_files(data, base) if description.dialect == "native" else data)
    for source in sorted({base / (file.source or file.path) for file in _files_of(description)}):
        digest.update(f"\0{source}\0".encode())
        if source.is_file():  # what is missing is complained about where it is sent
            digest.update(source.read_bytes())
    return str(path.resolve()), digest.hexdigest()


def _files_of(description: Description) -> Iterator[InputFile]:
    yield from description.experiment.inputs
    if description.experiment.post is not None:
        yield from description.experiment.post.inputs
    for job in description.jobs:
        yield from job.inputs


def prepare(path: Path, client: Client) -> Prepared:
    """Upload the inputs of an experiment, its jobs and its post command, and put their checksums in their places.

    Paths are relative to the description's folder. The table of a sweep travels in the description. A sweep whose jobs
    have inputs is sent job by job, since each has checksums of its own. Both 2018 dialects go out unchanged.
    """
    base = path.resolve().parent
    inputs = _Inputs(base, client)
    if path.suffix in LINES_SUFFIXES:
        return Prepared(None, _lines_of_file(path, inputs))
    data = path.read_bytes()
    description = read_description(data, source=str(path), base=base)
    if description.dialect != "native":
        return Prepared(data)
    data = inline_files(data, base)
    document = read_document(data).value
    if "sweep" in document and next(iter(description.jobs)).inputs:  # all its jobs come from one template
        return Prepared(None, _lines_of(description, inputs))
    changed = _fill(document, description, inputs)
    return Prepared(to_yaml(document).encode() if changed else data)


def _fill(document: dict[str, Any], description: Description, inputs: _Inputs) -> bool:
    """Put checksums into the document; whether there was anything to put."""
    experiment = inputs.of_experiment(description.experiment)
    places = [(document, experiment.inputs)]
    if experiment.post is not None:
        places.append((document["post"], experiment.post.inputs))
    if "jobs" in document:
        jobs = zip(document["jobs"], description.jobs, strict=True)
        places += [
            (written, inputs.of_job(job, f"jobs[{place}]", None).inputs) for place, (written, job) in enumerate(jobs)
        ]
    filled = [(written, files) for written, files in places if files]
    for written, files in filled:
        written["inputs"] = [file.model_dump(exclude_none=True) for file in files]
    return bool(filled)


def _lines_of(description: Description, inputs: _Inputs) -> Iterator[bytes]:
    # In full: the name may be the file's, which does not travel with a line.
    yield inputs.of_experiment(description.experiment).model_dump_json().encode()
    for place, job in enumerate(description.jobs):
        yield inputs.of_job(job, f"jobs[{place}]", None).model_dump_json(exclude_defaults=True).encode()


def _lines_of_file(path: Path, inputs: _Inputs) -> Iterator[bytes]:
    with path.open("rb") as file:
        numbered = ((number, line) for number, line in enumerate(file, start=1) if line.strip())
        _, first = next(numbered, (0, b""))
        experiment = read_jobs_header(first)
        filled = inputs.of_experiment(experiment)
        yield first if filled == experiment else filled.model_dump_json().encode()
        for number, line in numbered:
            job = read_job_line(line, number, experiment)
            if job.inputs:
                filled_job = inputs.of_job(job, f"jobs[{number - 2}]", number)
                yield filled_job.model_dump_json(exclude_defaults=True).encode()
            else:
                yield line


class _Inputs:
    """Sends each file once."""

    def __init__(self, base: Path, client: Client) -> None:
        self._base = base
        self._client = client
        self._sent: dict[Path, str] = {}

    def of_experiment(self, experiment: Experiment) -> Experiment:
        """The experiment with the checksums of its inputs and its post command's."""
        changes: dict[str, Any] = {"inputs": self._filled(experiment.inputs, "inputs", None)}
        if experiment.post is not None:
            post_inputs = self._filled(experiment.post.inputs, "post.inputs", None)
            changes["post"] = experiment.post.model_copy(update={"inputs": post_inputs})
        return experiment.model_copy(update=changes)

    def of_job(self, job: Job, path: str, line: int | None) -> Job:
        """The job with the checksums of its inputs."""
        if not job.inputs:
            return job
        return job.model_copy(update={"inputs": self._filled(job.inputs, f"{path}.inputs", line)})

    def _filled(self, files: tuple[InputFile, ...], path: str, line: int | None) -> tuple[InputFile, ...]:
        return tuple(
            file if file.sha256 else InputFile(path=file.path, sha256=self._send(file, f"{path}[{place}]", line))
            for place, file in enumerate(files)
        )

    def _send(self, file: InputFile, path: str, line: int | None) -> str:
        source = self._base / (file.source or file.path)
        if source not in self._sent:
            try:
                self._sent[source] = self._client.upload_input(source)
            except OSError as error:
                message = f"cannot read the input {str(source)!r}: {error.strerror or error}"
                raise DescriptionError((Fault(path, message, line),)) from None
        return self._sent[source]
