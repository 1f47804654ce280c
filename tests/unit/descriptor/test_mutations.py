"""Whatever is put anywhere into a good description, it is read or refused; nothing else happens."""

import copy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jqueuer.descriptor import dump_description, read_description
from jqueuer.descriptor.document import read_document
from jqueuer.descriptor.printing import to_yaml
from jqueuer.errors import DescriptionError
from jqueuer.model import Experiment, Job
from tests.strategies import json_values

DATA = Path(__file__).parents[2] / "data"
GOOD = [
    read_document(path.read_bytes()).value
    for folder in ("native", "2018")
    for path in sorted((DATA / folder).iterdir())
    if not path.name.startswith("broken")
]
odd_values = json_values | st.sampled_from(
    [
        [],
        {},
        "",
        "a/b",
        "..",
        -1,
        0,
        10**60,
        1e300,
        "90m",
        "{{x}}",
        {"from": 1, "to": 2, "step": 1e-9},
        ["x"],
        {"count": 9},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(*path, key), *places(item, (*path, key))]]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    value = copy.deepcopy(draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(1, 2))):
        *steps, last = draw(st.sampled_from(places(value) or [("jobs",)]))
        holder = value
        for step in steps:
            holder = holder[step]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "remove":
            del holder[last]
        elif action == "replace" or isinstance(holder, list):
            holder[last] = copy.deepcopy(draw(odd_values))
        else:
            holder[draw(st.text(max_size=5))] = copy.deepcopy(draw(odd_values))
    return value


@given(mutated())
@settings(max_examples=150, deadline=None)
def test_a_mutated_description_is_read_or_refused(value: dict[str, Any]) -> None:
    try:
        description = read_description(to_yaml(value).encode(), max_jobs=2000)
    except DescriptionError as error:
        assert error.faults  # noqa: PT017 - that it may be raised is half of the law
        return
    jobs = list(description.jobs)
    assert len(jobs) == description.count
    assert Experiment.model_validate_json(description.experiment.model_dump_json()) == description.experiment
    assert [Job.model_validate_json(job.model_dump_json()) for job in jobs] == jobs
    if len(jobs) < 50:
        again = read_description(dump_description(description.experiment, jobs).encode())
        assert (again.experiment, list(again.jobs)) == (description.experiment, jobs)


def test_there_is_something_to_mutate() -> None:
    assert len(GOOD) >= 8
    assert all(places(value) for value in GOOD)
