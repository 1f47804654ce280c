"""A share of the cluster, refusals of the orchestrator, and an engine that does not answer."""

from controller_looks import entry, look, record, service, told, watch

from jqueuer.controller import ControllerState, CreateService, Observation, PublishNext, ScaleService, demand_of, step
from jqueuer.records import ContainerStatus, Counts, ServiceStatus
from jqueuer.scheduling import UNKNOWN, Demand, Share
from jqueuer.states import ContainerState, ExperimentState

FIXED = record(policy={"name": "fixed", "containers": 6})
SIX = "6 containers as the description says"


def share(containers: int, wanted: int = 6, later: int = 0) -> Share:
    return Share(
        containers, wanted, later, "survey (received earlier) goes first" if containers + later < wanted else ""
    )


def fixed(after: float, containers: int | None, requested: int | None, **changes: object) -> Observation:
    seen = None if requested is None else service(requested, busy=requested)
    given = None if containers is None else share(containers)
    return look(after, **{"record": FIXED, "service": seen, "share": given, **changes})


def fit(containers: int, wanted: int = 6) -> str:
    return f"{containers} of {wanted} wanted fit: survey (received earlier) goes first"


def demand(state: ControllerState, seen: Observation, requested: int) -> Demand:
    assert seen.record is not None
    found = demand_of(state, seen, seen.record, requested)
    assert found is not None
    return found


def test_the_service_is_created_with_what_there_is_room_for_and_nothing_before_that_is_known() -> None:
    state, (first, second) = watch(
        fixed(0, None, None, share=UNKNOWN, record=FIXED.model_copy(update={"published": 0})), fixed(0.5, 2, None)
    )
    assert first == [PublishNext(0, 20, "0 of 20 jobs published so far")]
    reason = f"{SIX}; 6 containers are started; {fit(2)}"
    assert second == [CreateService(2, reason), entry(0.5, "create", reason, 2)]
    assert state.wanted == 6


def test_without_any_room_the_service_waits_and_is_told_once() -> None:
    _, all_told = watch(fixed(0, 0, None), *(fixed(after, 0, 0) for after in (1, 20, 40, 60)))
    reason = f"{SIX}; 6 containers are started; {fit(0)}"
    assert all_told == [[CreateService(0, reason), entry(0, "create", reason, 0)], [], [], [], []]


def test_where_room_grows_it_is_taken_at_once_up_to_what_is_wanted() -> None:
    """The coherence index is not asked again: so many were wanted all the time."""
    _, all_told = watch(fixed(0, 2, None), fixed(1, 2, 2), fixed(1.5, 4, 2), fixed(2, 6, 4), fixed(2.5, 6, 6))
    assert all_told[1:] == [
        [],
        [ScaleService(4, 2, fit(4), by_autoscaler=False), entry(1.5, "scale-up", fit(4), 4)],
        [
            ScaleService(6, 4, "there is room for all 6 wanted", by_autoscaler=False),
            entry(2, "scale-up", "there is room for all 6 wanted", 6),
        ],
        [],
    ]


def test_where_room_shrinks_it_gives_way_at_once_and_goes_on_wanting_as_many() -> None:
    state, all_told = watch(fixed(0, 6, None), fixed(1, 6, 6), fixed(1.5, 3, 6), fixed(2, 3, 3))
    assert all_told[2:] == [[ScaleService(3, 6, fit(3), by_autoscaler=False), entry(1.5, "give-way", fit(3), 3)], []]
    assert demand(state, fixed(2, 3, 3), 3).wanted == 6


def test_a_share_worked_out_for_a_smaller_wish_does_not_hold_back_the_next_one() -> None:
    """Scaled from 2 to 6: the share of the look before speaks of 2, so the decision waits for the next."""
    grown = record(policy={"name": "fixed", "containers": 6, "period": 1})
    few = record(policy={"name": "fixed", "containers": 2, "period": 1})
    state, all_told = watch(
        fixed(0, None, None, share=share(2, 2), record=few),
        fixed(1, None, 2, share=share(2, 2), record=grown),
        fixed(1.5, None, 2, share=share(6, 6), record=grown),
    )
    reason = f"{SIX}; from 2 to 6"
    assert all_told[1:] == [[], [ScaleService(6, 2, reason), entry(1.5, "scale-up", reason, 6)]]
    assert state.wanted is None


def test_nothing_goes_down_before_the_cluster_was_shared() -> None:
    """After a restart of the manager: what runs is what is wanted until more is known."""
    _, (first, second) = watch(fixed(0, None, 6, share=UNKNOWN), fixed(0.5, 6, 6))
    assert (first, second) == ([], [])


def test_a_decision_beyond_the_room_is_told_as_limited_with_both_numbers() -> None:
    state, commands = step(ControllerState(), fixed(0, 2, 2, share=share(2)))
    assert told(commands) == [entry(0, "limited", f"{SIX}; from 2 to 6; {fit(2)}", 2)]
    (journalled,) = commands
    inputs = journalled.entry.inputs  # type: ignore[union-attr]
    assert (inputs["requested"], inputs["wanted"], inputs["clamped"], inputs["room_for"]) == (2, 6, 6, 2)
    assert inputs["limit"] == fit(2)
    assert told(step(state, fixed(1, 2, 2, share=share(2)))[1]) == []


def refused(requested: int, unplaced: int) -> ServiceStatus:
    return service(requested, "no suitable node", busy=requested - unplaced).model_copy(update={"unplaced": unplaced})


def test_it_gives_way_while_the_policy_service_thinks() -> None:
    asking = record(policy={"url": "http://policy.example/"})
    state, _ = watch(fixed(0, None, 6, record=asking))
    assert state.asked_at is not None
    _, commands = step(state, fixed(0.5, 3, 6, record=asking))
    assert told(commands)[0] == ScaleService(3, 6, fit(3), by_autoscaler=False)


def test_what_the_orchestrator_cannot_place_is_given_up_told_in_its_words_and_tried_again() -> None:
    looks = [(0, refused(6, 2)), (4, refused(6, 2)), (5, refused(6, 2)), (6, service(4, busy=4))]
    looks += [(34, service(4, busy=4)), (35, service(4, busy=4)), (36, refused(5, 1)), (41, refused(5, 1))]
    looks += [(71, service(4, busy=4)), (72, service(5, busy=5)), (101, service(5, busy=5)), (131, service(6, busy=6))]
    state, all_told = watch(*(look(after, record=FIXED, service=seen) for after, seen in looks))
    acts = [
        (after, command)
        for (after, _), commands in zip(looks, all_told, strict=True)
        for command in commands
        if isinstance(command, ScaleService)
    ]
    why = "4 of 6 containers can be placed: no suitable node"
    assert [(after, act.containers) for after, act in acts] == [(5, 4), (35, 5), (41, 4), (71, 5), (101, 6)]
    assert acts[0][1] == ScaleService(4, 6, why, by_autoscaler=False)
    assert entry(5, "give-way", why, 4) in all_told[2]
    assert acts[-1][1].reason == "trying again whether there is a node for 6"
    assert state.wanted is None


def test_room_that_the_orchestrator_refuses_is_left_to_others() -> None:
    state, _ = watch(look(0, record=FIXED, service=refused(6, 2)), look(5, record=FIXED, service=refused(6, 2)))
    assert demand(state, look(6, record=FIXED, service=service(4, busy=4)), 4).wanted == 4


def test_without_the_engine_jobs_are_published_and_nothing_else_is_decided() -> None:
    fresh = FIXED.model_copy(update={"published": 0})
    away = look(0, record=fresh, engine_problem="the engine does not answer")
    _, (first, second) = watch(away, look(1, record=FIXED, engine_problem="the engine does not answer", queue_length=0))
    assert first == [
        entry(0, "problem", "the engine does not answer"),
        PublishNext(0, 20, "0 of 20 jobs published so far"),
    ]
    assert second == []


def test_without_the_engine_an_ended_experiment_waits_for_it() -> None:
    ended = record(ExperimentState.CANCELLED)
    _, (first, second) = watch(look(record=ended, engine_problem="away"), look(1, record=None, engine_problem="away"))
    assert (first, second) == ([], [])


def test_the_demand_tells_where_containers_stand_and_drain() -> None:
    states = (ContainerState.BUSY, ContainerState.STARTING, ContainerState.DRAINING)
    standing = [ContainerStatus(id=str(state), node="n1", state=state, started_at=0) for state in states]
    unplaced = ContainerStatus(id="x", node="", state=ContainerState.STARTING, started_at=0)
    seen = look(
        record=record(
            priority=3,
            containers={"min": 2, "max": 4},
            resources={"cpu": {"reserve": 0.5}, "memory": {"reserve": "1GiB"}},
            placement=["node.role == worker", "nonsense"],
        ),
        service=ServiceStatus(requested=3, containers=(*standing, unplaced)),
    )
    found = demand(ControllerState(), seen, 3)
    assert (found.in_place, found.draining) == ({"n1": 2}, {"n1": 1})
    assert (found.priority, found.minimum, found.wanted, found.requested) == (3, 2, 3, 3)
    assert (found.cpu_cores, found.memory_bytes) == (0.5, 2**30)
    assert [str(constraint) for constraint in found.constraints] == ["node.role == worker"]


def test_an_experiment_wants_nothing_while_it_rests_and_one_container_for_its_post_command() -> None:
    seen = look(service=service(4, busy=4))
    for state, wanted in (
        (ExperimentState.PAUSED, 0),
        (ExperimentState.CANCELLED, 0),
        (ExperimentState.FINISHING, 1),
    ):
        found = demand_of(ControllerState(), seen, record(state), 4)
        assert found is not None
        assert (found.wanted, found.minimum) == (wanted, min(1, wanted))
    over = look(counts=Counts(accomplished=20))
    assert demand(ControllerState(), over, 0).wanted == 0


def test_a_service_of_the_users_own_has_no_share() -> None:
    assert demand_of(ControllerState(), look(), record(container_name="theirs"), 1) is None
