"""Experiments: list, look at, change, delete."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from pydantic import ValidationError

from jqueuer.access import Role
from jqueuer.errors import ConflictError, DescriptionError, EngineUnavailableError
from jqueuer.records import JournalEntry, ServiceStatus
from jqueuer.states import ExperimentState
from jqueuer.summary import summarize
from jqueuer_manager.api import quotes, submit
from jqueuer_manager.api.access import by_whom, needs, refuse_others
from jqueuer_manager.api.answers import answer
from jqueuer_manager.api.bodies import read_json
from jqueuer_manager.api.changes import Change, amendment, change_schema
from jqueuer_manager.api.forecasts import Forecasts
from jqueuer_manager.api.lifecycle import refuse_unsettled
from jqueuer_manager.api.parameters import PREFIX, ExperimentPath, ExperimentsQuery, JournalQuery, next_link
from jqueuer_manager.api.problems import documented, faults_of
from jqueuer_manager.api.schemas import ExperimentDetail, ExperimentList, Journal, Summary
from jqueuer_manager.api.views import brief_forecast, experiment_detail, experiment_item
from jqueuer_manager.receiver import Receiver
from jqueuer_manager.services import Services

_DECISIONS_LOOKED_AT: Final = 50
_CHANGE_BODY: Final = {"content": {"application/json": {"schema": change_schema()}}}


def blueprint(services: Services, receiver: Receiver, forecasts: Forecasts) -> APIBlueprint:
    """The routes over these services."""
    routes = APIBlueprint(
        "experiments",
        __name__,
        url_prefix=PREFIX,
        abp_tags=[{"name": "experiments"}],
        abp_responses=documented(422, 503),
    )
    submit.add_routes(routes, services, receiver)
    quotes.add_routes(routes, services)
    store, ledger = services.experiments, services.ledger

    @routes.get("/experiments", operation_id="listExperiments", responses={200: ExperimentList})
    @needs(Role.VIEWER)
    def listing(query: ExperimentsQuery) -> Response:
        """List experiments, newest first."""
        return answer(page_of(services, query))

    @routes.get(
        "/experiments/<experiment_id>",
        operation_id="getExperiment",
        responses={200: ExperimentDetail, **documented(404)},
    )
    @needs(Role.VIEWER)
    def detail(path: ExperimentPath) -> Response:
        """Show one experiment: state, jobs, containers, forecast."""
        return answer(detail_of(services, forecasts, path.experiment_id))

    @routes.get(
        "/experiments/<experiment_id>/summary", operation_id="getSummary", responses={200: Summary, **documented(404)}
    )
    @needs(Role.VIEWER)
    def summary(path: ExperimentPath) -> Response:
        """Sum up what the experiment did."""
        record = store.get(path.experiment_id)
        counts, statistics = ledger.counts(record.id), ledger.statistics(record.id)
        return answer(Summary.model_validate(summarize(record, counts, statistics, now=store.now())))

    @routes.get(
        "/experiments/<experiment_id>/journal", operation_id="getJournal", responses={200: Journal, **documented(404)}
    )
    @needs(Role.VIEWER)
    def journal(path: ExperimentPath, query: JournalQuery) -> Response:
        """Show the latest decisions with their reasons, oldest first."""
        record = store.get(path.experiment_id)
        return answer(Journal(entries=store.decisions(record.id, limit=query.limit)))

    @routes.patch(
        "/experiments/<experiment_id>",
        operation_id="changeExperiment",
        request_body=_CHANGE_BODY,
        responses={200: ExperimentDetail, **documented(400, 404, 409, 413, 415)},
    )
    @needs(Role.SUBMITTER)
    def change(path: ExperimentPath) -> Response:
        """Change the deadline or the container limits of an experiment that has not ended."""
        try:
            wish = Change.model_validate_json(read_json(services.settings.max_body_bytes))
        except ValidationError as error:
            raise DescriptionError(faults_of(error)) from None
        record = store.get(path.experiment_id)
        refuse_others(record, "change")
        if record.state.terminal:
            raise ConflictError(f"the experiment is {record.state.value}: only one that has not ended can be changed")
        amended = amendment(wish, record, store.now(), by=by_whom(record))
        store.amend(record.id, deadline_at=amended.deadline_at, minimum=amended.minimum, maximum=amended.maximum)
        store.journal(record.id, JournalEntry(at=store.now(), action="amend", reason=amended.reason))
        return answer(detail_of(services, forecasts, record.id))

    @routes.delete(
        "/experiments/<experiment_id>", operation_id="deleteExperiment", responses={204: None, **documented(404, 409)}
    )
    @needs(Role.SUBMITTER)
    def delete(path: ExperimentPath) -> Response:
        """Delete an experiment that has ended: its record, jobs, logs and outputs."""
        record = store.get(path.experiment_id)
        refuse_others(record, "delete")
        if not record.state.terminal:
            raise ConflictError(f"the experiment is {record.state.value}: cancel it before you delete it")
        refuse_unsettled(services, record)
        services.queue.delete(record.id)
        services.artifacts.delete(record.id)
        store.delete(record.id)
        return Response(status=HTTPStatus.NO_CONTENT)

    return routes


def page_of(services: Services, query: ExperimentsQuery) -> ExperimentList:
    """A page of the list."""
    records, total = services.experiments.page(
        states=query.state, owner=query.owner, offset=query.offset, limit=query.limit
    )
    counts = services.ledger.counts_of([record.id for record in records])
    running = [record.id for record in records if record.state is ExperimentState.RUNNING]
    points = dict(zip(running, services.experiments.latest_points(running), strict=True)) if running else {}
    items = [
        experiment_item(record, jobs, brief_forecast(points.get(record.id)))
        for record, jobs in zip(records, counts, strict=True)
    ]
    return ExperimentList(experiments=items, total=total, next=next_link(f"{PREFIX}/experiments", query, total))


def detail_of(services: Services, forecasts: Forecasts, experiment_id: str) -> ExperimentDetail:
    """Everything about one experiment; :class:`~jqueuer.errors.NotFoundError` where there is none."""
    store = services.experiments
    record = store.get(experiment_id)
    standing = services.ledger.standing(experiment_id)
    decisions = store.decisions(experiment_id, limit=_DECISIONS_LOOKED_AT)
    now = store.now()
    try:
        status = services.orchestrator.status(experiment_id)
        forecast = forecasts.of(record, standing, status, decisions, now)
    except EngineUnavailableError as error:
        status, forecast = ServiceStatus(requested=0, problem=f"the containers cannot be seen: {error}"), None
    return experiment_detail(
        record,
        standing.counts,
        standing.statistics,
        status=status,
        settled=experiment_id not in store.active(),
        delayed=standing.delayed,
        decisions=decisions,
        forecast=forecast,
        now=now,
    )
