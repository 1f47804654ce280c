"""The production controller in virtual time.

At every look :func:`jqueuer.controller.step` gets an observation of the world as the manager's shell would make it, and
its commands are carried out as the shell would. The manager looks once per ``look`` seconds. Here a look that could not
change anything is skipped, and the next one is at the first of these moments at which something may follow:

- the policy's period is over;
- commands were carried out, or the controller waits for something that it measures in looks;
- a container came up or ended, a node came back, a lease ran out, a user changed something;
- no job is left; or since the last look an eighth more jobs were accomplished, which may have shortened the period.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import cautoscaler
from cautoscaler import Situation
from jqueuer.controller import (
    CancelQueued,
    Commands,
    ControllerState,
    CreateService,
    DeleteQueue,
    DestroyService,
    Finish,
    Journal,
    MoveTo,
    Observation,
    PublishNext,
    RepublishQueued,
    ScaleService,
    Settle,
    policy_name,
    step,
)
from jqueuer.controller.commands import Command
from jqueuer.controller.limits import TRY_AGAIN_SECONDS
from jqueuer.controller.situation import situation_of
from jqueuer.errors import JQueuerError
from jqueuer.model import Experiment, Policy, Reservation, Resources
from jqueuer.records import ExperimentRecord, JournalEntry
from jqueuer.simulation.outcome import Outcome
from jqueuer.simulation.scenario import Change, ScaleDown, Scenario
from jqueuer.simulation.view import View
from jqueuer.simulation.world import CHANGE, World
from jqueuer.states import ExperimentState

PATIENCE_SECONDS = 2 * 86_400.0
"""A simulation in which for so long nothing happens, and nothing is going to, is given up."""

Watcher = Callable[[Observation, Commands], None]


class StuckError(JQueuerError):
    """The simulated experiment will never end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What is remembered beside the numbers; all of it costs time or memory."""

    trace: bool = False
    """Requested and running containers over time."""
    decisions: bool = False
    """The journal."""
    watcher: Watcher | None = None
    """Called at every look with what was seen and what was commanded."""


class Simulation:
    """One experiment under one seed, to be run in one go or in parts."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        policy: str | Policy | None = None,
        seed: int = 0,
        scale_down: ScaleDown | None = None,
        watching: Watching = Watching(),
    ) -> None:
        description = _description(scenario.experiment, policy)
        deadline = description.deadline
        self._scenario, self._seed, self._watching = scenario, seed, watching
        self._world = World(scenario, seed, scale_down or scenario.cluster.scale_down, traced=watching.trace)
        self._state = ControllerState()
        self._record = ExperimentRecord(
            id="simulated",
            description=description,
            state=ExperimentState.RUNNING,
            created_at=0.0,
            deadline_at=deadline if isinstance(deadline, float) else None,
        )
        self._view = View(self._world)
        self._journal = list[JournalEntry]()
        self._look_at = 0.0
        self._moved = (0.0, (0, 0))
        self._held = self._settled = False
        cautoscaler.get(description.policy.name)
        for change in scenario.changes:
            self._world.plan(change.at, CHANGE, lambda change=change: self._change(change))  # type: ignore[misc]

    @property
    def now(self) -> float:
        """The present moment, seconds from the receipt."""
        return self._world.now

    @property
    def accomplished(self) -> int:
        """Jobs accomplished so far."""
        return self._world.jobs.accomplished

    @property
    def ended(self) -> bool:
        """Whether nothing is left to simulate."""
        return self._settled

    @property
    def record(self) -> ExperimentRecord:
        """The experiment as the store would have it."""
        return self._record

    def situation(self) -> Situation:
        """What a policy would be told now."""
        return situation_of(self._state, self.observe(), self._record)

    def observe(self) -> Observation:
        """The experiment as the manager's shell would see it now."""
        return self._view.observe(self._state, self._record)

    def run(self, accomplished: int | None = None) -> bool:
        """Go on until so many jobs are accomplished, or to the end; False where the end came first."""
        world = self._world
        world.stop_at = math.inf if accomplished is None else accomplished
        while not self._settled:
            if world.jobs.accomplished >= world.stop_at:
                return True
            world.run(self._look_at)
            if world.jobs.accomplished >= world.stop_at:
                continue
            if world.attention:
                self._look_at = min(self._look_at, world.next_look(world.now))
                world.notice()
            else:
                self._look()
        return accomplished is None

    def hold(self) -> None:
        """From now on the requested number stays as it is; the orchestrator still replaces what is lost."""
        self._held = True

    def outcome(self) -> Outcome:
        """What it came to, once it has ended."""
        world, jobs, record = self._world, self._world.jobs, self._record
        if record.finished_at is None:
            raise ValueError("the simulation has not been run to its end")
        return Outcome(
            policy=record.description.policy.name,
            seed=self._seed,
            finished_seconds=record.finished_at,
            deadline_seconds=record.deadline_at,
            container_seconds=world.paid_seconds(),
            job_seconds=world.worked_seconds(),
            killed=world.killed,
            lost=world.lost,
            attempts=jobs.attempts,
            accomplished=jobs.accomplished,
            failed=jobs.failed,
            cancelled=jobs.cancelled,
            peak_containers=world.peak,
            scale_ups=self._view.scale_ups,
            scale_downs=self._view.scale_downs,
            trace=tuple(world.trace or ()),
            decisions=tuple(self._journal),
        )

    def _look(self) -> None:
        if self._held and self._world.jobs.left:
            self._look_at = math.inf
            self._world.looked()
            self._give_up_where_nothing_moves()
            return
        while True:
            observation = self.observe()
            state, commands = step(self._state, observation)
            if self._watching.watcher is not None:
                self._watching.watcher(observation, commands)
            for command in commands:
                self._perform(command)
            self._state = state
            self._view.looked(observation)
            if not any(isinstance(command, PublishNext) for command in commands):
                break
        acted = any(not isinstance(command, Journal) for command in commands)
        self._world.looked()
        self._look_at = self._next_look_at(observation, acted)
        self._give_up_where_nothing_moves()

    def _next_look_at(self, observation: Observation, acted: bool) -> float:
        """When the next look could lead to something; what happens until then may call for an earlier one."""
        now, state, world = self._world.now, self._state, self._world
        following = world.next_look(now + self._scenario.look)
        waits = state.undone or state.starved_since is not None or world.service.short
        limited = state.wanted is not None and self._view.asks_anew(state, self._record)
        if (
            acted
            or waits
            or limited
            or state.calculated_at is None
            or self._record.state is not ExperimentState.RUNNING
        ):
            return following
        description = self._record.description
        # no period depends on the single containers, which may be thousands
        service = observation.service and observation.service.model_copy(update={"containers": ()})
        situation = situation_of(state, replace(observation, service=service), self._record)
        period = cautoscaler.period_seconds(policy_name(description), situation, description.policy.period)
        due = state.calculated_at + period
        if state.placeable is not None:
            due = min(due, state.refused_at + TRY_AGAIN_SECONDS)
        return max(following, world.next_look(due))

    def _give_up_where_nothing_moves(self) -> None:
        world = self._world
        done = (world.jobs.attempts, len(world.service.containers))
        if done != self._moved[1] or not world.barren:
            self._moved = (world.now, done)
        elif world.now - self._moved[0] > PATIENCE_SECONDS or self._look_at == math.inf:
            raise StuckError(
                f"scenario {self._scenario.name!r} does not end under {self._record.description.policy.name}: since "
                f"{self._moved[0]:g} s nothing has moved, with {world.jobs.left} jobs left, "
                f"{world.service.requested or 0} containers requested and {len(world.service.containers)} there"
            )

    def _perform(self, command: Command) -> None:
        world = self._world
        match command:
            case CreateService(containers=containers):
                world.request(containers)
            case ScaleService(containers=containers, from_=before, by_autoscaler=counted):
                world.request(containers)
                if counted:
                    self._view.count_scale_action(up=containers > before)
            case DestroyService():
                world.destroy()
            case PublishNext(start=start, count=count):
                world.publish(start + count)
                self._update(published=start + count)
            case CancelQueued():
                world.jobs.cancel_queued()
            case MoveTo(state=state):
                self._update(state=state)
            case Finish(state=state, reason=reason):
                self._update(state=state, reason=reason, finished_at=world.now)
            case Settle():
                self._settled = True
            case Journal(entry=entry):
                if self._watching.decisions:
                    self._journal.append(entry)
            case RepublishQueued() | DeleteQueue():
                pass  # messages are never lost here, and the queue goes with the simulation
            case _:
                raise NotImplementedError(f"the simulator does not know how to carry out {command!r}")

    def _update(self, **changes: object) -> None:
        self._record = self._record.model_copy(update=changes)

    def _change(self, change: Change) -> None:
        """A user changes the deadline or the limits, as the API lets them."""
        if self._record.state.terminal:
            return
        description = self._record.description
        limits = {"min": change.minimum, "max": change.maximum}
        new = {name: number for name, number in limits.items() if number is not None}
        containers = type(description.containers).model_validate({**description.containers.model_dump(), **new})
        update: dict[str, object] = {"containers": containers}
        if change.deadline is not None:
            update["deadline"] = change.deadline
            self._update(deadline_at=change.deadline)
        self._update(description=description.model_copy(update=update))
        self._world.call()


def simulate(
    scenario: Scenario,
    *,
    policy: str | Policy | None = None,
    seed: int = 0,
    scale_down: ScaleDown | None = None,
    trace: bool = False,
    decisions: bool = False,
) -> Outcome:
    """Run a scenario under one seed.

    ``policy`` (a name takes the place of the scenario's, whose other parameters stay) and ``scale_down`` take the place
    of what the scenario says; :class:`StuckError` where the experiment would never end.
    """
    watching = Watching(trace=trace, decisions=decisions)
    simulation = Simulation(scenario, policy=policy, seed=seed, scale_down=scale_down, watching=watching)
    simulation.run()
    return simulation.outcome()


def _description(experiment: Experiment, policy: str | Policy | None) -> Experiment:
    """The description as it is simulated: a container takes one slot of a node, and there is no post command."""
    chosen = experiment.policy
    if isinstance(policy, str):
        chosen = chosen.model_copy(update={"name": policy})
    elif policy is not None:
        chosen = policy
    one_slot = Resources(cpu=Reservation(reserve=1.0))
    return experiment.model_copy(update={"policy": chosen, "resources": one_slot, "placement": (), "post": None})
