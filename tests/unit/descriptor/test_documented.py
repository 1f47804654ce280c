"""docs/policies.md and docs/description.md say what the models and the policies say, and their example works."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cautoscaler import AutoscalerState, Situation, get, names, step
from cautoscaler.policies import registry
from jqueuer.descriptor import read_description
from jqueuer.descriptor.policies import needed_key
from jqueuer.model import Experiment, Job
from jqueuer.policy import Policy

DOCS = Path(__file__).parents[3] / "docs"
POLICIES = (DOCS / "policies.md").read_text("utf-8")
COOL_DOWNS = {"up_cooldown", "down_cooldown"}


def rows(text: str, columns: int) -> dict[str, list[str]]:
    """The rows of the tables of so many columns by the words in code that their first cells name."""
    cells = [
        re.split(r" \| ", line.strip("| ").replace("| |", "|  |"))
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    fitting = [row for row in cells if len(row) == columns]
    return {word: row for row in fitting for word in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.parametrize("name", names())
def test_every_policy_has_a_row_with_the_keys_it_reads(name: str) -> None:
    which = POLICIES.partition("## Which policy when")[2].partition("\n## ")[0]
    row, policy = rows(which, 5)[name], get(name)
    keys = set(re.findall(r"`([a-z_]+)`", row[4]))
    assert keys == policy.reads | (COOL_DOWNS if policy.cools_down else set())
    assert re.findall(r"\*\*`([a-z_]+)`\*\*", row[4]) == ([needed_key(name)] if needed_key(name) else [])


@pytest.mark.parametrize("key", Policy.model_fields)
def test_every_key_of_a_policy_has_a_row(key: str) -> None:
    assert rows(POLICIES, 3)[key][2]


@pytest.mark.parametrize("key", sorted({*Experiment.model_fields, *Job.model_fields}))
def test_every_key_of_a_description_has_a_row(key: str) -> None:
    assert rows((DOCS / "description.md").read_text("utf-8"), 3)[key][-1]


def test_the_examples_of_policies_are_read_without_a_notice() -> None:
    block = re.findall(r"```yaml\n(.*?)```", POLICIES, re.DOTALL)[0]
    examples = re.split(r"(?m)^(?=policy:)", block)[1:]
    assert len(examples) >= 8
    for example in examples:
        assert read_description(f"{example}\njobs: [{{command: [x]}}]".encode()).notices == ()


@given(st.integers(1, 1000))
def test_a_policy_of_your_own_is_one_file_and_one_registration(maximum: int) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", POLICIES, re.DOTALL)
    before = dict(registry._policies)
    try:
        exec(compile(code, "half.py", "exec"), {"__name__": "half"})
        seen = Situation(
            now=0.0, started_at=0.0, maximum=maximum, jobs_total=9999, jobs_left=9999, estimate_seconds=1.0
        )
        _, decision = step(AutoscalerState("half"), seen)
        assert decision.target == (maximum + 1) // 2
        assert read_description(b"policy: half\njobs: [{command: [x]}]").experiment.policy.name == "half"
    finally:
        registry._policies.clear()
        registry._policies.update(before)
