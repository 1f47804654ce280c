"""An experiment that has not ended either runs a job or says what it waits for."""

import pytest
from controller_looks import record, service
from hypothesis import given
from hypothesis import strategies as st

from jqueuer.controller import waits_for
from jqueuer.records import Counts, ServiceStatus
from jqueuer.states import ContainerState, ExperimentState

QUEUED = Counts(queued=20)

numbers = st.integers(0, 3)
services = st.none() | st.builds(
    lambda requested, problem, states: service(requested, problem, **states),
    numbers,
    st.sampled_from(("", "no suitable node")),
    st.dictionaries(st.sampled_from([state.value for state in ContainerState]), numbers),
)
counted = st.builds(Counts, queued=numbers, running=numbers, accomplished=numbers, failed=numbers, cancelled=numbers)


@given(st.sampled_from(ExperimentState), counted, numbers, services, st.sampled_from(("", "the budget is spent")))
def test_in_every_state_there_is_a_job_an_end_or_a_word(
    state: ExperimentState, counts: Counts, delayed: int, status: ServiceStatus | None, decided: str
) -> None:
    words = waits_for(record(state), counts, delayed, status, decided)
    assert (words == "") == (state.terminal or counts.running > 0)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, "containers; none is requested yet: the budget is spent"),
        (service(0), "containers; none is requested: the budget is spent"),
        (service(2, "no suitable node (1 node not available)"), "containers; no suitable node (1 node not available)"),
        (service(2, starting=1), "2 containers to start"),
        (service(2, draining=2), "2 containers to start"),
        (service(2, idle=2), "2 idle containers to take a job"),
    ],
)
def test_it_names_what_is_missing(status: ServiceStatus | None, words: str) -> None:
    assert waits_for(record(), QUEUED, 0, status, "the budget is spent") == words


def test_it_names_pauses() -> None:
    assert waits_for(record(ExperimentState.PAUSED), QUEUED, 0, None) == "somebody to resume it: it is paused"
    assert waits_for(record(), QUEUED, 20, service(1, idle=1)) == "the pause before 20 jobs may run again"
    finishing = record(ExperimentState.FINISHING)
    assert waits_for(finishing, Counts(accomplished=20), 0, service(1)) == "its post command; 1 container to start"
    image = service(1).model_copy(update={"note": "pulling the image"})
    assert waits_for(record(), QUEUED, 0, image) == "1 container to start (pulling the image)"
