"""Hypothesis strategies for experiments, jobs and what they are made of; every value they give is a valid one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import strategies as st

from cautoscaler import get
from jqueuer.descriptor import known_policies
from jqueuer.kinds import RESERVED_PREFIX, format_time_of_day
from jqueuer.model import (
    MAX_CONTAINERS,
    MAX_DURATION_SECONDS,
    Command,
    ContainerLimits,
    Experiment,
    FailurePolicy,
    InputFile,
    Job,
    MemoryReservation,
    Notify,
    Policy,
    Post,
    Reservation,
    Resources,
    Shell,
    Task,
)
from jqueuer.notify import OCCASIONS
from jqueuer.policy import Budget, Window

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
filled_texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
job_ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
durations = st.floats(1e-6, MAX_DURATION_SECONDS) | st.integers(1, int(MAX_DURATION_SECONDS)).map(float)
sizes = st.integers(1, 2**60) | st.integers(1, 1000).map(lambda count: count * 1024**2)
paths = filled_texts.filter(lambda text: not text.startswith("/") and set(text.split("/")) - {"", "."}).filter(
    lambda text: ".." not in text.split("/")
)
environments = st.dictionaries(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True).filter(lambda n: not n.startswith(RESERVED_PREFIX)),
    texts,
    max_size=3,
)
scalars = texts | st.integers(-(10**50), 10**50) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
argument_vectors = st.tuples(filled_texts, st.lists(texts, max_size=3)).map(lambda parts: (parts[0], *parts[1]))
commands: st.SearchStrategy[Command] = argument_vectors | st.builds(Shell, shell=filled_texts)
maybe_commands = st.none() | commands
maybe_durations = st.none() | durations
deadlines = durations | st.datetimes(
    datetime(2001, 1, 1),
    datetime(2900, 1, 1),
    timezones=st.integers(-1400, 1400).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
input_lists = st.lists(
    st.builds(
        InputFile,
        path=paths,
        sha256=st.none() | st.text("0123456789abcdef", min_size=64, max_size=64),
        source=st.none() | filled_texts,
    ),
    max_size=2,
    unique_by=lambda file: file.path,
).map(tuple)
output_lists = st.lists(paths, max_size=2).map(tuple)
tasks = st.builds(Task, command=commands, timeout=maybe_durations)


def jobs(ids: st.SearchStrategy[str] = job_ids, inputs: st.SearchStrategy[tuple[InputFile, ...]] = input_lists):
    """Jobs; ``ids`` and ``inputs`` where they must fit to something else."""
    return st.builds(
        Job,
        id=ids,
        tasks=st.lists(tasks, min_size=1, max_size=3).map(tuple),
        pre_job=maybe_commands,
        post_job=maybe_commands,
        environment=environments,
        inputs=inputs,
        outputs=output_lists,
        parameters=st.dictionaries(filled_texts, scalars, max_size=3),
        idempotent=st.none() | st.just(True),
    )


job_lists = st.lists(jobs(inputs=st.just(())), min_size=1, max_size=4, unique_by=lambda job: job.id)
container_limits = st.tuples(st.integers(0, MAX_CONTAINERS), st.integers(1, MAX_CONTAINERS)).map(
    lambda bounds: ContainerLimits(min=min(bounds), max=max(bounds))
)


def _ordered(reservation, values):
    """A reservation whose reserve is within its limit."""
    return st.tuples(st.none() | values, st.none() | values).map(
        lambda pair: (
            reservation(reserve=pair[0], limit=pair[1])
            if None in pair
            else reservation(reserve=min(pair), limit=max(pair))
        )
    )


amounts = st.integers(1, 10**9) | st.floats(1e-9, 1e9)
times_of_day = st.integers(0, 86_399) | st.integers(0, 1439).map(lambda minute: minute * 60)
windows = (
    st.tuples(times_of_day, times_of_day | st.just(86_400), st.integers(0, MAX_CONTAINERS))
    .filter(lambda parts: parts[0] != parts[1])
    .map(
        lambda parts: {
            "from": format_time_of_day(parts[0]),
            "to": format_time_of_day(parts[1]),
            "containers": parts[2],
        }
    )
    .map(Window.model_validate)
)
time_zones = st.sampled_from(
    ["UTC", "Europe/Vienna", "America/Argentina/Buenos_Aires", "Etc/GMT+12", "+05:30", "-11:00"]
)


@st.composite
def policies(draw: st.DrawFn, names: tuple[str, ...] = known_policies()) -> Policy:
    """Any policy with what it needs, and with keys that it does not read."""
    by_url = draw(st.booleans())
    budget = draw(st.none() | st.builds(Budget, container_hours=amounts) | st.builds(Budget, money=amounts))
    keys = {
        "margin": draw(st.just(0.0) | durations),
        "containers": draw(st.none() | st.integers(0, MAX_CONTAINERS)),
        "period": draw(maybe_durations),
        "confidence": draw(st.just(0.95) | st.floats(0.5, 0.999)),
        "on_conflict": draw(st.sampled_from(["late", "budget", "partial"])),
        "budget": budget,
        "price": draw(amounts if budget is not None and budget.money is not None else st.none() | amounts),
        "jobs_per_container": draw(st.just(1) | amounts),
        "target": draw(maybe_durations),
        "schedule": draw(st.none() | st.lists(windows, min_size=1, max_size=3).map(tuple)),
        "timezone": draw(time_zones),
        "up_cooldown": draw(maybe_durations),
        "down_cooldown": draw(maybe_durations),
    }
    fitting = [name for name in names if (key := get(name).needs) == "" or keys[key] is not None]
    name = draw(st.sampled_from(fitting))
    if by_url:
        url, timeout = "http://policy.example:8000/containers?of=jobs", draw(st.floats(0.001, 60))
        return Policy(**keys, url=url, timeout=timeout, fallback=name)
    return Policy(**keys, name=name)


plain_experiments = st.builds(
    Experiment,
    name=st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,20}", fullmatch=True),
    image=st.none() | st.just("registry.example:5000/group/tool:1.2"),
    container_name=st.none() | job_ids,
    deadline=st.none() | deadlines,
    containers=container_limits,
    resources=st.builds(
        Resources,
        cpu=_ordered(Reservation, st.floats(0.001, 1000)),
        memory=_ordered(MemoryReservation, sizes),
    ),
    estimate=durations,
    timeout=maybe_durations,
    environment=environments,
    working_directory=st.none() | filled_texts,
    priority=st.integers(-1000, 1000),
    policy=policies(),
    on_failure=st.builds(
        FailurePolicy,
        action=st.sampled_from(["requeue", "cancel"]),
        max_attempts=st.integers(1, 1000),
        backoff=st.just(0.0) | durations,
        exit_codes=st.none() | st.lists(st.integers(1, 255), min_size=1, max_size=3).map(tuple),
    ),
    pre_job=maybe_commands,
    post_job=maybe_commands,
    inputs=input_lists,
    outputs=output_lists,
    post=st.none()
    | st.builds(
        Post,
        command=commands,
        timeout=maybe_durations,
        environment=environments,
        inputs=input_lists,
        outputs=output_lists,
    ),
    append_worker_id=st.booleans(),
    idempotent=st.booleans(),
    notify=st.none()
    | st.builds(
        Notify,
        url=st.sampled_from(["https://hooks.example/jqueuer", "http://[::1]:9000/?to=ops&key=k%20"]),
        on=st.just(OCCASIONS) | st.lists(st.sampled_from(OCCASIONS), min_size=1, max_size=3).map(tuple),
    ),
)
experiments = plain_experiments | plain_experiments.filter(lambda one: one.idempotent).map(
    lambda one: one.model_copy(update={"hedge": True})
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)
