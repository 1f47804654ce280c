"""Whole experiments in a toy world: whatever goes wrong on the way, they end, and nothing is left behind."""

from controller_looks import POST
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_world import World

from jqueuer.states import ExperimentState, JobState

events = st.sampled_from(
    (
        *("nothing", "nothing", "restart", "lose messages", "lose a message", "pause", "resume"),
        *("fail 0", "fail 1", "fail 2", "hang", "hang all", "broker away", "broker back", "clock"),
    )
)
policies = st.sampled_from(("deadline-paper", "deadline-2018", "fixed"))
RUNNING, PAUSED = ExperimentState.RUNNING, ExperimentState.PAUSED


def happen(world: World, event: str) -> None:
    match event:
        case "restart":
            world.forget()
        case "lose messages":
            world.queue.clear()
        case "lose a message":
            del world.queue[:1]
        case "hang" | "hang all":
            idle = [container for container in world.containers if container.job is None]
            for container in idle if event == "hang all" else idle[:1]:
                container.hangs = True
        case "broker away" | "broker back":
            world.broker_away = event == "broker away"
        case "clock":
            world.set_clock(3600.0 if len(world.journal) % 2 else -3600.0)
        case "pause":
            world.switch(RUNNING, PAUSED)
        case "resume":
            world.switch(PAUSED, RUNNING)
    world.tick(fail_after=int(event[-1]) if event.startswith("fail") else None)


def run_on(world: World, ticks: int = 900) -> None:
    world.switch(PAUSED, RUNNING)
    world.broker_away = False
    for _ in range(ticks):
        if world.settled:
            return
        world.tick()


def nothing_is_left(world: World) -> bool:
    return world.settled and world.requested is None and not world.containers and not world.queue


@settings(deadline=None, max_examples=60)
@given(st.lists(events, max_size=30), policies, st.integers(1, 40), st.booleans())
def test_every_experiment_ends_accomplished_whatever_happens(
    trouble: list[str], policy: str, jobs: int, post: bool
) -> None:
    world = World.of(jobs, policy={"name": policy}, estimate=4, **({"post": POST} if post else {}))
    for event in trouble:
        happen(world, event)
    run_on(world)
    assert nothing_is_left(world)
    assert world.record.state is ExperimentState.ACCOMPLISHED
    assert world.counts().accomplished == jobs
    assert set(world.runs.values()) == {1}
    assert (world.post is JobState.ACCOMPLISHED) == post
    assert max(world.requests) <= 10


@settings(deadline=None, max_examples=40)
@given(st.lists(events, max_size=20), st.lists(events, max_size=10), st.booleans())
def test_a_cancelled_experiment_leaves_nothing_behind(before: list[str], after: list[str], post: bool) -> None:
    world = World.of(40, estimate=4, **({"post": POST} if post else {}))
    for event in before:
        happen(world, event)
    world.cancel()
    for event in after:
        happen(world, event)
    run_on(world)
    assert nothing_is_left(world)
    assert world.record.state is ExperimentState.CANCELLED
    assert world.counts().left == 0


def test_an_undisturbed_run_follows_its_golden_trace() -> None:
    """300 s of work by an estimate twice too high, within 60 s: it starts with ten containers and scales down."""
    world = World.of(100, estimate=6, deadline=60, deadline_at=1060.0)
    run_on(world)
    assert world.requests == [10, 6, 5, 4, 3, 2]
    assert [entry.action for entry in world.journal if entry.action not in ("confirm", "hold")] == [
        "create",
        *["scale-down"] * 5,
        "finish",
    ]
    assert world.journal[-1].reason == "100 jobs accomplished, 1 s before the deadline"
    assert world.now == 1060.0
