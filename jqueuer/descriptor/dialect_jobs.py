"""The jobs of a 2018 description: lists and arrays of jobs, lists and arrays of tasks, commands with their data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from jqueuer.descriptor.dialect_ids import JobIds
from jqueuer.descriptor.dialect_values import whole_number
from jqueuer.descriptor.faults import FaultList, Path
from jqueuer.descriptor.validation import check
from jqueuer.kinds import word
from jqueuer.model import MAX_TASKS, Command, Job, Shell, Task
from jqueuer.units import shown

_JOB_KEYS = {"id", "params", "command", "data", "tasks", "count", "service_name"}
_TASK_KEYS = {"id", "params", "command", "data", "count", "service_name"}
_COMMAND: TypeAdapter[Any] = TypeAdapter(Command)


@dataclass(frozen=True)
class JobArray:
    """So many equal jobs, ``id-1``, ``id-2`` …, made anew at each iteration."""

    job: Job
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Job]:
        for number in range(1, self.count + 1):
            yield self.job.model_copy(update={"id": f"{self.job.id}-{number}"})


class _WrongError(ValueError):
    """A value that cannot be read, and where it stands."""

    def __init__(self, path: Path, message: str) -> None:
        self.path = path
        super().__init__(message)


class JobReader:
    """Reads the jobs of one description, noting its faults and what its author should know."""

    def __init__(self, raw: dict[str, Any], faults: FaultList, *, appends_worker_id: bool, max_jobs: int) -> None:
        self._raw = raw
        self._faults = faults
        self._appends_worker_id = appends_worker_id
        self._max_jobs = max_jobs
        self._ids = JobIds()
        self._shell_lines: dict[str, None] = {}
        self._ignored: dict[str, None] = {}
        self._has_params = bool(raw.get("params"))

    def read(self) -> list[Job] | JobArray | None:
        """The jobs; an array's are not held. None or fewer of them with their faults noted."""
        raw = self._raw.get("jobs")
        if isinstance(raw, dict):
            return self._array(raw)
        if not isinstance(raw, list):
            self._faults.add(("jobs",), f"expected a list of jobs, or one job with a count, got {shown(raw)}")
            return None
        if not 1 <= len(raw) <= self._max_jobs:
            problem = (
                f"{len(raw)} jobs are more than the {self._max_jobs} allowed" if raw else "expected at least one job"
            )
            self._faults.add(("jobs",), problem)
            return None
        jobs = (self._job(item, ("jobs", index), f"{index + 1}") for index, item in enumerate(raw))
        return [job for job in jobs if job is not None]

    def notices(self) -> Iterator[str]:
        """What was decided for the author, in words."""
        if self._shell_lines:
            lines = ", ".join(shown(line) for line in list(self._shell_lines)[:3])
            more = " …" if len(self._shell_lines) > 3 else ""
            yield f"a command of one word with spaces is run as a line of /bin/sh: {lines}{more}"
        yield from self._ids.notices()
        if self._has_params:
            yield "'params' have no effect: nothing ever used them"
        if self._ignored:
            yield f"keys without a meaning in a 2018 job or task are ignored: {', '.join(self._ignored)}"

    def _array(self, raw: dict[str, Any]) -> JobArray | list[Job] | None:
        job = self._job(raw, ("jobs",), "job")
        try:
            count = whole_number(raw.get("count", 1), 1, self._max_jobs)
        except ValueError as error:
            self._faults.add(("jobs", "count"), str(error))
            return None
        if job is None:
            return None
        return JobArray(job, count) if count > 1 else [job]

    def _job(self, raw: Any, path: Path, default_id: str) -> Job | None:
        if not isinstance(raw, dict):
            self._faults.add(path, f"expected a job, got {shown(raw)}")
            return None
        self._look_over(raw, _JOB_KEYS if path == ("jobs",) else _JOB_KEYS - {"count"})
        job_id = ""
        tasks: tuple[Task, ...] = ()
        try:
            job_id = self._ids.take(raw.get("id"), default_id)
        except ValueError as error:
            self._faults.add((*path, "id"), str(error))
        try:
            tasks = self._tasks(raw, path)
        except _WrongError as error:
            self._faults.add(error.path, str(error))
        return Job(id=job_id, tasks=tasks) if job_id and tasks else None

    def _tasks(self, job: dict[str, Any], path: Path) -> tuple[Task, ...]:
        """The tasks of a job; none with their faults noted."""
        raw = job.get("tasks")
        if raw is None:
            return (self._task({}, path, job, path),)
        path_of_tasks = (*path, "tasks")
        if isinstance(raw, dict):
            try:
                count = whole_number(raw.get("count", 1), 1, MAX_TASKS)
            except ValueError as error:
                raise _WrongError((*path_of_tasks, "count"), str(error)) from None
            self._look_over(raw, _TASK_KEYS)
            return (self._task(raw, path_of_tasks, job, path),) * count
        if not isinstance(raw, list) or not 1 <= len(raw) <= MAX_TASKS:
            got = f"{len(raw)} tasks" if isinstance(raw, list) else shown(raw)
            raise _WrongError(
                path_of_tasks, f"expected a list of 1 to {MAX_TASKS} tasks, or one with a count, got {got}"
            )
        tasks = []
        for index, item in enumerate(raw):
            here = (*path_of_tasks, index)
            try:
                if not isinstance(item, dict):
                    raise _WrongError(here, f"expected a task, got {shown(item)}")
                self._look_over(item, _TASK_KEYS - {"count"})
                tasks.append(self._task(item, here, job, path))
            except _WrongError as error:
                self._faults.add(error.path, str(error))
        return tuple(tasks) if len(tasks) == len(raw) else ()

    def _task(self, raw: dict[str, Any], path: Path, job: dict[str, Any], job_path: Path) -> Task:
        holders = ((raw, path), (job, job_path), (self._raw, ()))
        commands = (_words(holder.get("command"), (*where, "command")) for holder, where in holders)
        words = next((words for words in commands if any(word.strip() for word in words)), None)
        if words is None:
            raise _WrongError(path, "no command here, in its job or in the experiment")
        arguments = (
            _words(holder["data"], (*where, "data")) for holder, where in holders if holder.get("data") is not None
        )
        command = self._command(words, next(arguments, ()))
        problem = check(_COMMAND, command)
        if problem is not None:
            raise _WrongError((*path, "command"), problem)
        return Task(command=command)

    def _command(self, words: tuple[str, ...], data: tuple[str, ...]) -> Command:
        if len(words) > 1 or len(words[0].split()) == 1:
            return (*words, *data)
        self._shell_lines[words[0]] = None
        if not data and not self._appends_worker_id:
            return Shell(shell=words[0])
        return ("/bin/sh", "-c", f'{words[0]} "$@"', "sh", *data)

    def _look_over(self, raw: dict[str, Any], known: set[str]) -> None:
        self._has_params = self._has_params or bool(raw.get("params"))
        self._ignored.update(dict.fromkeys(map(shown, raw.keys() - known)))


def _words(value: Any, path: Path) -> tuple[str, ...]:
    """The words of a command or of its data: each item is one, and so is a bare text or an object, as JSON."""
    if value is None or value == {}:
        return ()
    items = value if isinstance(value, list) else [value]
    words = [json.dumps(item, ensure_ascii=False) if isinstance(item, dict | list) else word(item) for item in items]
    for item in words:
        if not isinstance(item, str):
            raise _WrongError(path, f"expected a list of words, got {shown(item)} in it")
    return tuple(words)
