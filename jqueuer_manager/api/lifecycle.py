"""Pause, resume, cancel, retry: commands that are safe to send twice.

::

    pause   running ► paused          cancel  running, paused, finishing ► cancelled
    resume  paused ► running          retry   failed, cancelled ► running, once it has ended
"""

from __future__ import annotations

from flask import Response
from flask_openapi.blueprint import APIBlueprint

from jqueuer.access import Role
from jqueuer.errors import ConflictError, NotFoundError
from jqueuer.model import POST_JOB_ID
from jqueuer.records import ExperimentRecord, JournalEntry
from jqueuer.states import ExperimentState as State
from jqueuer.states import JobState
from jqueuer_manager.api.access import by_whom, needs, refuse_others
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.parameters import PREFIX, ExperimentPath
from jqueuer_manager.api.problems import documented
from jqueuer_manager.api.schemas import RetryModel, StateModel
from jqueuer_manager.quota import refuse_too_many
from jqueuer_manager.services import Services


def blueprint(services: Services) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "lifecycle",
        __name__,
        url_prefix=f"{PREFIX}/experiments/<experiment_id>",
        abp_tags=[{"name": "commands"}],
        abp_responses=documented(404, 409, 422, 503),
    )

    @routes.post("/pause", operation_id="pauseExperiment", responses={200: StateModel})
    @needs(Role.SUBMITTER)
    def pause(path: ExperimentPath) -> Response:
        """Let running jobs finish, start no more, release the containers."""
        _move(services, path.experiment_id, "pause", (State.RUNNING,), State.PAUSED)
        return answer(StateModel(id=path.experiment_id, state=State.PAUSED))

    @routes.post("/resume", operation_id="resumeExperiment", responses={200: StateModel})
    @needs(Role.SUBMITTER)
    def resume(path: ExperimentPath) -> Response:
        """Go on with a paused experiment."""
        _move(services, path.experiment_id, "resume", (State.PAUSED,), State.RUNNING)
        return answer(StateModel(id=path.experiment_id, state=State.RUNNING))

    @routes.post("/cancel", operation_id="cancelExperiment", responses={200: StateModel})
    @needs(Role.SUBMITTER)
    def cancel(path: ExperimentPath) -> Response:
        """End the experiment: queued jobs are cancelled, running ones are stopped."""
        cancel_experiment(services, path.experiment_id)
        return answer(StateModel(id=path.experiment_id, state=State.CANCELLED))

    @routes.post("/retry", operation_id="retryExperiment", responses={200: RetryModel})
    @needs(Role.SUBMITTER)
    def retry(path: ExperimentPath) -> Response:
        """Queue the failed and cancelled jobs of an experiment that has ended once more."""
        jobs = _retry(services, path.experiment_id)
        return answer(RetryModel(id=path.experiment_id, state=State.RUNNING, jobs=jobs))

    return routes


def cancel_experiment(services: Services, experiment_id: str) -> None:
    """Cancel an experiment; its controller then ends the containers and settles it."""
    active = (State.RUNNING, State.PAUSED, State.FINISHING)
    _move(services, experiment_id, "cancel", active, State.CANCELLED)
    # Repeated where the state was cancelled already: a manager may have died between the two.
    services.ledger.cancel(experiment_id)


def refuse_unsettled(services: Services, record: ExperimentRecord) -> None:
    """An ended experiment is left to its controller until nothing of it runs any more."""
    if record.id in services.experiments.active():
        raise ConflictError(
            f"the experiment is {record.state.value}, but its last containers are still ending: try again"
        )


def _retry(services: Services, experiment_id: str) -> int:
    store, ledger = services.experiments, services.ledger
    record = store.get(experiment_id)
    refuse_others(record, "retry")
    if record.state not in (State.FAILED, State.CANCELLED):
        raise _conflict("retry", record.state, (State.FAILED, State.CANCELLED))
    refuse_unsettled(services, record)
    _refuse_in_vain(services, record)
    refuse_too_many(services, record.owner, counted=False)
    counts = ledger.counts(experiment_id)
    if counts.accomplished == counts.total and not _post_may_be_retried(services, experiment_id):
        raise ConflictError("the experiment has no failed or cancelled job to retry")
    jobs = ledger.retry_failed(experiment_id)
    counts = ledger.counts(experiment_id)
    # Every queued job is handed out as due now: none must be published a second time by position.
    store.set_published(experiment_id, counts.total)
    _move(services, experiment_id, "retry", (State.FAILED, State.CANCELLED), State.RUNNING)
    return jobs


def _refuse_in_vain(services: Services, record: ExperimentRecord) -> None:
    """Jobs that gave way at the deadline would give way again."""
    late = record.deadline_at is not None and services.experiments.now() >= record.deadline_at
    if late and record.description.policy.on_conflict == "partial":
        raise ConflictError(
            "its deadline has passed, and on_conflict is partial: the jobs would be cancelled again; "
            "submit those that are missing as a new experiment"
        )


def _post_may_be_retried(services: Services, experiment_id: str) -> bool:
    try:
        return services.ledger.job(experiment_id, POST_JOB_ID).state is not JobState.ACCOMPLISHED
    except NotFoundError:
        return services.experiments.get(experiment_id).description.post is not None


def _move(services: Services, experiment_id: str, action: str, expected: tuple[State, ...], target: State) -> None:
    store = services.experiments
    record = store.get(experiment_id)
    refuse_others(record, action)
    by = f"by {by_whom(record)}"
    if store.move(experiment_id, expected, target, reason=f"{target.value} {by}" if target.terminal else ""):
        store.journal(experiment_id, JournalEntry(at=store.now(), action=action, reason=by))
        return
    state = store.get(experiment_id).state
    if state is not target:
        raise _conflict(action, state, expected)


def _conflict(action: str, state: State, expected: tuple[State, ...]) -> ConflictError:
    allowed = " or ".join(one.value for one in expected)
    return ConflictError(f"cannot {action} an experiment that is {state.value}: it must be {allowed}")
