"""The life of a job in its container: inputs, pre-job, tasks in order, outputs, post-job (paper §III-B).

A failed task fails the job. Post-job is clean-up: it runs after failed tasks too, and its own result never changes the
job's. Outputs are collected before it, so that it cannot remove them.
"""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jqueuer.errors import NotFoundError, StoreUnavailableError
from jqueuer.model import POST_JOB_ID, Command, Experiment, Job, argv_of, effective_job
from jqueuer.ports import Artifacts, Executor, Renewal, Workspace
from jqueuer.records import Attempt, Claim, CommandResult, OutputFile
from jqueuer.states import AttemptOutcome
from jqueuer_agent.capture import LogCapture

_SECONDS_BETWEEN_FILES: Final = 2.0


@dataclass(frozen=True)
class OutputLimits:
    """What may be kept of one job."""

    log_bytes: int
    output_bytes: int
    output_files: int


@dataclass(frozen=True)
class Ending:
    """A finished attempt, and whether the job may be tried again if it failed."""

    attempt: Attempt
    retry: bool


class _Failed(Exception):  # noqa: N818 - a way out of the steps, not an error of ours
    """The job has failed, for this reason."""


@dataclass
class JobRun:
    """One attempt, from claim to ending."""

    claim: Claim
    experiment: Experiment
    executor: Executor
    workspace: Workspace
    artifacts: Artifacts
    limits: OutputLimits
    base_environment: Mapping[str, str]
    renew: Callable[[], Renewal]
    earlier_outputs: Callable[[], Iterator[tuple[str, int, OutputFile]]]
    """For the post command: (job id, attempt, output) of every accomplished job."""

    _begun: float = field(default_factory=time.monotonic)
    _results: list[CommandResult] = field(default_factory=list)
    _captures: dict[str, LogCapture] = field(default_factory=dict)
    _last_renewal: Renewal = Renewal.KEPT
    _last_heartbeat: float = field(default_factory=time.monotonic)

    def run(self) -> Ending:
        """Run it; never raises for what the job does."""
        job = effective_job(self.experiment, self.claim.spec) if not self._is_post else self.claim.spec
        self._captures = {name: self._capture(name) for name in ("stdout", "stderr")}
        outputs: tuple[OutputFile, ...] = ()
        reason = ""
        try:
            self._prepare(job)
            self._work(job)
            outputs = self._collect(job)
        except _Failed as failed:
            reason = str(failed)
        if job.post_job is not None and self._last_renewal is Renewal.KEPT:
            self._execute("post-job", job.post_job, job, self.experiment.timeout)
        attempt = self._attempt(
            outcome=self._outcome(reason),
            exit_code=self._exit_code(),
            reason=reason,
            commands=tuple(self._results),
            outputs=outputs,
            stdout=self._captures["stdout"].close(),
            stderr=self._captures["stderr"].close(),
        )
        return Ending(attempt, self._may_retry())

    def broken_off(self, reason: str) -> Ending:
        """The ending where something of ours, not the job, went wrong on the way."""
        return Ending(self._attempt(outcome=AttemptOutcome.FAILED, reason=reason), retry=True)

    def _attempt(self, **ending: Any) -> Attempt:
        claim = self.claim
        return Attempt(
            number=claim.token,
            container=claim.container,
            node=claim.node,
            started_at=claim.started_at,
            # Begun by the store's clock, lasted by this machine's steady one: no two clocks are ever subtracted.
            finished_at=round(claim.started_at + time.monotonic() - self._begun, 6),
            **ending,
        )

    @property
    def _is_post(self) -> bool:
        return self.claim.job_id == POST_JOB_ID

    def _prepare(self, job: Job) -> None:
        self.workspace.clear()
        for file in job.inputs:
            self._keep_the_lease()
            if file.sha256 is None:
                raise _Failed(f"the input {file.path!r} was never sent")
            try:
                self.workspace.put(file.path, functools.partial(self.artifacts.fetch_input, file.sha256))
            except (OSError, NotFoundError) as error:
                raise _Failed(f"the input {file.path!r} could not be laid out: {error}") from None
        if self._is_post:
            for job_id, attempt, output in self.earlier_outputs():
                self._keep_the_lease()
                self.workspace.put(f"outputs/{job_id}/{output.path}", self._copy_output(job_id, attempt, output.path))

    def _copy_output(self, job_id: str, attempt: int, path: str) -> Callable[[Path], None]:
        def fetch(destination: Path) -> None:
            with (
                self.artifacts.open_output(self.claim.experiment_id, job_id, attempt, path) as source,
                destination.open("wb") as target,
            ):
                shutil.copyfileobj(source, target)

        return fetch

    def _work(self, job: Job) -> None:
        if job.pre_job is not None:
            self._must_succeed(self._execute("pre-job", job.pre_job, job, self.experiment.timeout))
        for number, task in enumerate(job.tasks, 1):
            self._must_succeed(self._execute(f"task {number}", task.command, job, task.timeout))

    @staticmethod
    def _must_succeed(result: CommandResult) -> None:
        if result.problem:
            raise _Failed(f"{result.role}: {result.problem}")
        if result.signal is not None:
            raise _Failed(f"{result.role} was ended by signal {result.signal}")
        if result.exit_code != 0:
            raise _Failed(f"{result.role} ended with status {result.exit_code}")

    def _execute(self, role: str, command: Command, job: Job, timeout: float | None) -> CommandResult:
        argv = argv_of(command)
        if self.experiment.append_worker_id and role.startswith("task"):
            argv = (*argv, self.claim.container)
        result = self.executor.run(
            argv,
            environment=self._environment(job),
            working_directory=self.workspace.directory,
            timeout_seconds=timeout,
            write=lambda stream, data: self._captures[stream].write(data),
            keep_going=self._heartbeat,
            role=role,
        )
        self._results.append(result)
        return result

    def _environment(self, job: Job) -> dict[str, str]:
        return {
            **self.base_environment,
            **job.environment,
            "JQUEUER_EXPERIMENT_ID": self.claim.experiment_id,
            "JQUEUER_JOB_ID": self.claim.job_id,
            "JQUEUER_ATTEMPT": str(self.claim.token),
            "JQUEUER_CONTAINER": self.claim.container,
        }

    def _heartbeat(self) -> bool:
        self._last_heartbeat = time.monotonic()
        for capture in self._captures.values():
            capture.flush()
        try:
            self._last_renewal = self.renew()
        except StoreUnavailableError:
            return True  # should somebody else get the job meanwhile, this outcome will be refused
        return self._last_renewal is Renewal.KEPT

    def _keep_the_lease(self) -> None:
        """Called between files, which may be large and many."""
        if time.monotonic() - self._last_heartbeat >= _SECONDS_BETWEEN_FILES and not self._heartbeat():
            raise _Failed("stopped")

    def _collect(self, job: Job) -> tuple[OutputFile, ...]:
        found: dict[str, Path] = {}
        for pattern, matches in zip(job.outputs, self.workspace.find(job.outputs), strict=True):
            if not matches:
                raise _Failed(f"no file matched the output {pattern!r}")
            found.update(matches)
        size_bytes = sum(path.stat().st_size for path in found.values())
        if len(found) > self.limits.output_files:
            raise _Failed(f"{len(found)} output files are more than the {self.limits.output_files} allowed")
        if size_bytes > self.limits.output_bytes:
            raise _Failed(f"{size_bytes} bytes of outputs are more than the {self.limits.output_bytes} allowed")
        # Links first: what they lead to is moved away when its own turn comes.
        ordered = sorted(found.items(), key=lambda output: output[1].resolve() == output[1])
        try:
            return tuple(sorted((self._put_output(*output) for output in ordered), key=lambda kept: kept.path))
        except OSError as error:
            raise _Failed(f"an output could not be kept: {error}") from None

    def _put_output(self, name: str, path: Path) -> OutputFile:
        self._keep_the_lease()
        if not name.isprintable():
            raise _Failed(f"the name of the output {name!r} is not text")
        return self.artifacts.put_output(self.claim.experiment_id, self.claim.job_id, self.claim.token, name, path)

    def _capture(self, stream: str) -> LogCapture:
        claim = self.claim
        return LogCapture(
            lambda start, data: self.artifacts.write_log(
                claim.experiment_id, claim.job_id, claim.token, stream, start, data
            ),
            self.limits.log_bytes,
        )

    def _outcome(self, reason: str) -> AttemptOutcome:
        if self._last_renewal is not Renewal.KEPT:
            return AttemptOutcome.CANCELLED
        if not reason:
            return AttemptOutcome.ACCOMPLISHED
        timed_out = any(result.problem.startswith("timed out") for result in self._results if _counts(result))
        return AttemptOutcome.TIMED_OUT if timed_out else AttemptOutcome.FAILED

    def _exit_code(self) -> int | None:
        counted = [result for result in self._results if _counts(result)]
        return counted[-1].exit_code if counted else None

    def _may_retry(self) -> bool:
        codes = self.experiment.on_failure.exit_codes
        return codes is None or self._exit_code() in codes


def _counts(result: CommandResult) -> bool:
    """Whether a command's result decides about the job; post-job's never does."""
    return result.role != "post-job"
