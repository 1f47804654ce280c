"""The life of a job in its container: inputs, pre-job, tasks in order, outputs, post-job (paper §III-B).

A failed task fails the job. Post-job is clean-up: it runs after failed tasks too, and its own result never changes the
job's, nor does it matter to it whether the container is still there. Outputs are collected before it, so that it cannot
remove them.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from jqueuer.errors import (
    ContainerGoneError,
    EngineUnavailableError,
    NotFoundError,
    RefusedError,
    StoreUnavailableError,
)
from jqueuer.model import POST_JOB_ID, Command, Experiment, Job, argv_of, effective_job
from jqueuer.ports import AgentArtifacts, Executor, Workspace
from jqueuer.records import Attempt, Claim, CommandResult, LogRecord, OutputFile
from jqueuer.states import AttemptOutcome
from jqueuer_agent.capture import LogCapture
from jqueuer_agent.lease import Lease, LeaseKeeper, Stopped

GONE: Final = (ContainerGoneError, EngineUnavailableError)
"""Commands cannot be run in the container any more; nobody knows what became of the one that was."""


@dataclass(frozen=True)
class OutputLimits:
    """What may be kept of one job."""

    log_bytes: int
    output_bytes: int
    output_files: int


@dataclass(frozen=True)
class Ending:
    """A finished attempt, whether the job may be tried again if it failed, and what became of the container."""

    attempt: Attempt
    retry: bool
    container_gone: bool = False


class _Failed(Exception):  # noqa: N818 - a way out of the steps, not an error of ours
    """The job has failed, for this reason."""


@dataclass
class JobRun:
    """One attempt, from claim to ending."""

    claim: Claim
    experiment: Experiment
    executor: Executor
    workspace: Workspace
    artifacts: AgentArtifacts
    limits: OutputLimits
    base_environment: Mapping[str, str]
    lease: Lease
    keeper: LeaseKeeper
    earlier_outputs: Callable[[], Iterator[tuple[str, int, OutputFile]]]
    """For the post command: (job id, attempt, output) of every accomplished job."""

    _begun: float = field(default_factory=time.monotonic)
    _results: list[CommandResult] = field(default_factory=list)
    _captures: dict[str, LogCapture] = field(default_factory=dict)
    _gone: bool = False

    def run(self) -> Ending:
        """Run it; never raises for what the job does, but for a container that is gone before its result is known."""
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
        except Stopped:
            reason = "stopped"
        if job.post_job is not None and self.lease.kept:
            self._clean_up(job.post_job, job)
        logs = {name: self._close(capture) for name, capture in self._captures.items()}
        attempt = self._attempt(
            outcome=self._outcome(reason),
            exit_code=self._exit_code(),
            reason="; ".join(words for words in (reason, self._refusals()) if words),
            commands=tuple(self._results),
            outputs=outputs,
            **logs,
        )
        return Ending(attempt, self._may_retry(), self._container_gone)

    def broken_off(self, reason: str) -> Ending:
        """The ending where something of ours, not the job, went wrong on the way."""
        return Ending(self._attempt(outcome=AttemptOutcome.FAILED, reason=reason), True, self._container_gone)

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
    def _container_gone(self) -> bool:
        return self._gone or self.executor.ended

    @property
    def _is_post(self) -> bool:
        return self.claim.job_id == POST_JOB_ID

    def _prepare(self, job: Job) -> None:
        with self.keeper.keeping(self.lease):
            self.workspace.clear()
            for file in job.inputs:
                if file.sha256 is None:
                    raise _Failed(f"the input {file.path!r} was never sent")
                self._lay_out(file.path, functools.partial(self.artifacts.fetch_input, file.sha256))
            if self._is_post:
                for job_id, attempt, output in self.earlier_outputs():
                    fetch = functools.partial(
                        self.artifacts.fetch_output, self.claim.experiment_id, job_id, attempt, output.path
                    )
                    self._lay_out(f"outputs/{job_id}/{output.path}", fetch)
            try:
                self.workspace.placed()
            except OSError as error:
                raise _Failed(f"the inputs could not be laid out: {error}") from None

    def _lay_out(self, path: str, fetch: Callable[[Path], None]) -> None:
        try:
            self.lease.until_taken(lambda: self.workspace.put(path, fetch))
        except (OSError, NotFoundError, RefusedError) as error:
            raise _Failed(f"the input {path!r} could not be laid out: {error}") from None

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

    def _clean_up(self, command: Command, job: Job) -> None:
        """The job's result is known by now: it is kept, even if the container is not there any more."""
        try:
            self._execute("post-job", command, job, self.experiment.timeout)
        except GONE as error:
            self._gone = True
            self._results.append(CommandResult(role="post-job", exit_code=None, problem=str(error)))

    def _execute(self, role: str, command: Command, job: Job, timeout: float | None) -> CommandResult:
        argv = argv_of(command)
        if self.experiment.append_worker_id and role.startswith("task"):
            argv = (*argv, self.claim.container)
        result = self.executor.run(
            argv,
            environment=self._environment(job),
            working_directory=self.workspace.directory,
            timeout_seconds=timeout,
            write=self._write,
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

    def _write(self, stream: str, data: bytes) -> None:
        with self.keeper.keeping(self.lease):  # a manager that hangs may take longer than a lease lasts
            self._captures[stream].write(data)

    def _heartbeat(self) -> bool:
        go_on = self.lease.beat()
        with self.keeper.keeping(self.lease):
            for capture in self._captures.values():
                capture.flush()
        return go_on

    def _collect(self, job: Job) -> tuple[OutputFile, ...]:
        if not job.outputs:
            return ()
        with self.keeper.keeping(self.lease):
            found = self._find(job.outputs)
            # Links first: what they lead to is moved away when its own turn comes.
            ordered = sorted(found.items(), key=lambda output: output[1].resolve() == output[1])
            try:
                return tuple(sorted((self._put_output(*output) for output in ordered), key=lambda kept: kept.path))
            except (OSError, NotFoundError, RefusedError) as error:
                raise _Failed(f"an output could not be kept: {error}") from None

    def _find(self, patterns: Sequence[str]) -> dict[str, Path]:
        found: dict[str, Path] = {}
        try:
            matched = self.workspace.find(patterns)
        except OSError as error:
            raise _Failed(f"the outputs could not be looked for: {error}") from None
        for pattern, matches in zip(patterns, matched, strict=True):
            if not matches:
                raise _Failed(f"no file matched the output {pattern!r}")
            found.update(matches)
        size_bytes = sum(path.stat().st_size for path in found.values())
        if len(found) > self.limits.output_files:
            raise _Failed(f"{len(found)} output files are more than the {self.limits.output_files} allowed")
        if size_bytes > self.limits.output_bytes:
            raise _Failed(f"{size_bytes} bytes of outputs are more than the {self.limits.output_bytes} allowed")
        return found

    def _put_output(self, name: str, path: Path) -> OutputFile:
        if not name.isprintable():
            raise _Failed(f"the name of the output {name!r} is not text")
        claim = self.claim
        return self.lease.until_taken(
            lambda: self.artifacts.put_output(claim.experiment_id, claim.job_id, claim.token, name, path)
        )

    def _capture(self, stream: str) -> LogCapture:
        claim = self.claim
        return LogCapture(
            lambda start, data: self.artifacts.write_log(
                claim.experiment_id, claim.job_id, claim.token, stream, start, data
            ),
            self.limits.log_bytes,
        )

    def _close(self, capture: LogCapture) -> LogRecord:
        try:
            with self.keeper.keeping(self.lease):
                return self.lease.until_taken(capture.close)
        except Stopped:  # what a cancelled job wrote is kept if that can be done at once
            with contextlib.suppress(StoreUnavailableError):
                return capture.close()
            return capture.record()

    def _refusals(self) -> str:
        """A note, and no failure: what the job did stands, whatever became of what it said about it."""
        refused = [
            f"its {name} could not be kept: {capture.refusal}"
            for name, capture in self._captures.items()
            if capture.refusal
        ]
        return "; ".join(refused)

    def _outcome(self, reason: str) -> AttemptOutcome:
        if not self.lease.kept:
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
