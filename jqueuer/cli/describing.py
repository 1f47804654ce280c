"""``validate`` and ``schema``: about a description, without a manager."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import typer

from jqueuer.cli.exits import Exit, WrongFileError, explain_error
from jqueuer.cli.options import AsJson, DescriptionFile, examples
from jqueuer.cli.output import counted, duration, say, tell, tell_json
from jqueuer.client.submission import LINES_SUFFIXES
from jqueuer.descriptor import Description, json_schema, read_description, read_job_line, read_jobs_header
from jqueuer.errors import DescriptionError, Fault

MAX_FAULTS: Final = 200
"""A file of lines is not read on once it has more."""


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(epilog=examples("jqueuer validate experiments/epidemic.yaml"))(validate)
    app.command(epilog=examples("jqueuer schema > experiment.schema.json"))(schema)


def validate(file: DescriptionFile, as_json: AsJson = False) -> None:
    """Check a description: all its faults, or what was understood."""
    try:
        description = read_file(file)
    except WrongFileError as error:
        if as_json:
            tell_json({"file": str(file), "valid": False, "faults": [fault.as_dict() for fault in error.faults]})
            raise typer.Exit(Exit.WRONG) from None
        raise typer.Exit(explain_error(error)) from None
    if as_json:
        tell_json(
            {
                "file": str(file),
                "valid": True,
                "dialect": description.dialect,
                "jobs": description.count,
                "notices": list(description.notices),
                "experiment": description.experiment.model_dump(mode="json"),
            }
        )
        return
    for notice in description.notices:
        say(f"notice: {notice}")
    tell(f"{file}: valid: {_essence(description)}")


def schema(as_json: AsJson = False) -> None:
    """Print the JSON Schema of descriptions, for editors."""
    tell_json(json_schema())


def read_file(file: Path) -> Description:
    """The description in a file; :class:`WrongFileError` with all its faults."""
    try:
        if file.suffix in LINES_SUFFIXES:
            return _read_lines(file)
        return read_description(file.read_bytes(), source=str(file), base=file.parent)
    except DescriptionError as error:
        raise WrongFileError(file, error.faults) from None


def _read_lines(file: Path) -> Description:
    """What stands in a file of lines, read without holding its jobs."""
    faults: list[Fault] = []
    seen: set[str] = set()
    with file.open("rb") as lines:
        numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
        experiment = read_jobs_header(next(numbered, (1, b""))[1])
        for number, line in numbered:
            try:
                job = read_job_line(line, number, experiment)
            except DescriptionError as error:
                faults += error.faults
            else:
                if job.id in seen:
                    faults.append(Fault("id", f"{job.id!r} is the id of an earlier job", number))
                seen.add(job.id)
            if len(faults) > MAX_FAULTS:
                break
    if not seen and not faults:
        faults.append(Fault("", "expected at least one job, each on a line of its own after the first"))
    if faults:
        raise DescriptionError(tuple(faults))
    return Description(experiment, (), len(seen))


def _essence(description: Description) -> str:
    experiment = description.experiment
    deadline = experiment.deadline
    parts = [
        counted(description.count, "job"),
        f"{experiment.containers.min}..{experiment.containers.max} containers",
        f"deadline {'none' if deadline is None else duration(deadline) if isinstance(deadline, float) else deadline}",
    ]
    return ", ".join(parts) + ("" if description.dialect == "native" else f" (dialect {description.dialect})")
