"""What a description says to its policy: read, refused with its line, noted where nothing reads it, printed back."""

from typing import Any

import pytest

from jqueuer.descriptor import Description, dump_description, read_description, read_jobs_header
from jqueuer.errors import DescriptionError
from jqueuer.policy import Budget, Policy

JOBS = "jobs: [{command: [x]}]\n"


def read(policy: str) -> Description:
    return read_description(f"policy: {policy}\n{JOBS}".encode())


def policy_of(text: str) -> Policy:
    return read(text).experiment.policy


def refusal(text: str) -> tuple[str, int | None, str]:
    """Path, line and message of the one fault of a description that begins with a line of another key."""
    with pytest.raises(DescriptionError) as caught:
        read_description(f"name: x\npolicy:\n{text}{JOBS}".encode())
    (fault,) = caught.value.faults
    return fault.path, fault.line, fault.message


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("{confidence: 0.99}", "confidence", 0.99),
        ("{on_conflict: partial}", "on_conflict", "partial"),
        ("{name: budget, budget: {container_hours: 12}}", "budget", Budget(container_hours=12)),
        ("{name: budget, budget: {money: 30.50}, price: 1}", "budget", Budget(money=30.5)),
        ("{name: queue-length, jobs_per_container: 0.5}", "jobs_per_container", 0.5),
        ("{name: target-duration, target: 1h30m}", "target", 5400.0),
        ("{timezone: America/Argentina/Buenos_Aires}", "timezone", "America/Argentina/Buenos_Aires"),
        ("{timezone: +05:30}", "timezone", "+05:30"),
        ("{up_cooldown: 0s}", "up_cooldown", 0.0),
        ("{down_cooldown: 5m}", "down_cooldown", 300.0),
    ],
)
def test_every_key_is_read_and_printed_back(text: str, key: str, value: Any) -> None:
    description = read(text)
    assert getattr(description.experiment.policy, key) == value
    again = read_description(dump_description(description.experiment, description.jobs).encode())
    assert again.experiment.policy == description.experiment.policy


def test_what_is_printed_is_what_was_written() -> None:
    written = (
        "name: x\n"
        "policy:\n"
        "  name: schedule\n"
        "  budget:\n"
        "    money: 30\n"
        "  price: 0.12\n"
        "  schedule:\n"
        "  - from: 08:00\n"
        "    to: 18:30:15\n"
        "    containers: 2\n"
        "  - from: '22:00'\n"
        "    to: '24:00'\n"
        "    containers: 0\n"
        "  timezone: Europe/Vienna\n"
        "  down_cooldown: 1m30s\n"
        "jobs:\n"
        "- id: a\n"
        "  command:\n"
        "  - x\n"
        "  idempotent: true\n"
    )
    description = read_description(written.encode())
    printed = dump_description(description.experiment, description.jobs)
    assert printed.replace("'", "") == written.replace("'", "")
    assert read_description(printed.encode()).experiment == description.experiment


def test_budgets_in_hours_and_in_money_are_container_seconds() -> None:
    assert Budget(container_hours=1.5).container_seconds(None) == 5400.0
    assert Budget(container_hours=1.5).container_seconds(99.0) == 5400.0
    assert Budget(money=3).container_seconds(0.5) == 6 * 3600.0


@pytest.mark.parametrize(
    ("text", "path", "line", "said"),
    [
        ("  confidence: 1\n", "policy.confidence", 3, "expected at most 0.999"),
        ("  confidence: 0.4\n", "policy.confidence", 3, "expected at least 0.5"),
        ("  confidence: high\n", "policy.confidence", 3, "expected a number"),
        ("  on_conflict: lat\n", "policy.on_conflict", 3, "did you mean 'late'"),
        ("  budget: 12h\n", "policy.budget", 3, "expected {container_hours: 12}, or {money: 30} and a price"),
        ("  budget: {}\n", "policy.budget", 3, "give either container_hours, or money"),
        ("  budget: {container_hours: 1, money: 1}\n  price: 1\n", "policy.budget", 3, "give either container_hours"),
        ("  budget: {container_hours: 0}\n", "policy.budget.container_hours", 3, "expected a number above 0"),
        ("  budget: {container_hours: yes}\n", "policy.budget.container_hours", 3, "expected a number above 0"),
        ("  budget: {hours: 3}\n", "policy.budget.hours", 3, "unknown key 'hours'"),
        ("  budget: {money: 30}\n", "policy", 2, "the budget is 30 of money, but what a container costs is not known"),
        ("  price: -1\n", "policy.price", 3, "expected a number above 0"),
        ("  jobs_per_container: true\n", "policy.jobs_per_container", 3, "expected a number above 0"),
        ("  target: 0s\n", "policy.target", 3, "more than 0"),
        ("  up_cooldown: soon\n", "policy.up_cooldown", 3, "expected a duration"),
        ("  timezone: Europe/Viena\n", "policy.timezone", 3, "did you mean 'Europe/Vienna'"),
        ("  timezone: Europe\n", "policy.timezone", 3, "there is no time zone 'Europe'"),
        ("  timezone: ../etc/passwd\n", "policy.timezone", 3, "expected a time zone such as Europe/Vienna"),
        ("  timezone: +1\n", "policy.timezone", 3, "expected text"),
        ("  name: target-duration\n", "policy.target", 2, "the policy 'target-duration' needs target, such as target:"),
        ("  name: target-duration\n  target:\n", "policy.target", 4, "needs target"),
        ("  name: budget\n  price: 3\n", "policy.budget", 2, "needs budget, such as budget: {container_hours: 12}"),
        ("  name: schedule\n", "policy.schedule", 2, "needs schedule, such as schedule: [{from:"),
        ("  url: http://x/\n  fallback: budget\n", "policy.budget", 2, "the policy 'budget' needs budget"),
    ],
)
def test_a_wrong_key_is_refused_with_its_line(text: str, path: str, line: int, said: str) -> None:
    at, on, message = refusal(text)
    assert (at, on) == (path, line)
    assert said in message


@pytest.mark.parametrize(
    ("window", "path", "said"),
    [
        ('{from: 8, to: "9:00", containers: 1}', "[1].from", 'expected a time of day such as "08:30", got 8'),
        ('{from: "8:00", to: "24:01", containers: 1}', "[1].to", "expected a time of day"),
        ('{from: "8:00", to: "8:60", containers: 1}', "[1].to", "expected a time of day"),
        ('{from: "8:00", to: "08:00", containers: 1}', "[1]", "from and to are both 08:00; a window of the whole day"),
        ('{from: "24:00", to: "08:00", containers: 1}', "[1]", "24:00 is where a window ends"),
        ('{from: "8:00", to: "09:00"}', "[1].containers", "required, but missing"),
        ('{to: "09:00", containers: 1}', "[1].from", "required, but missing"),
        ('{from: "8:00", to: "09:00", containers: 10001}', "[1].containers", "at most 10000"),
        ('{from: "8:00", until: "09:00", to: "10:00", containers: 1}', "[1].until", "unknown key 'until'"),
    ],
)
def test_a_wrong_window_is_refused_with_its_place(window: str, path: str, said: str) -> None:
    good = '{from: "8:00", to: "09:00", containers: 1}'
    at, line, message = refusal(f"  name: schedule\n  schedule:\n  - {good}\n  - {window}\n")
    assert (at, line) == (f"policy.schedule{path}", 6)
    assert said in message


def test_a_schedule_needs_a_window() -> None:
    assert refusal("  name: schedule\n  schedule: []\n")[0] == "policy.schedule"


def test_a_bare_name_that_is_not_enough_is_refused_too() -> None:
    with pytest.raises(DescriptionError, match=r"line 1.*the policy 'budget' needs budget"):
        read("budget")
    with pytest.raises(DescriptionError, match="the policy 'schedule' needs schedule"):
        read_jobs_header(b'{"policy": "schedule"}')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{name: fixed, margin: 5m, target: 1h}", "the policy 'fixed' does not read policy.margin, policy.target"),
        ("{name: deadline-paper, confidence: 0.9}", "the policy 'deadline-paper' does not read policy.confidence"),
        (
            "{name: schedule, schedule: [{from: '8:00', to: '9:00', containers: 1}], up_cooldown: 5m}",
            "policy.up_cooldown",
        ),
        ("{name: fixed, fallback: fixed}", "policy.fallback"),
        ("{url: 'http://x/', containers: 3}", "the policy service and its fallback do not read policy.containers"),
    ],
)
def test_keys_that_nothing_reads_are_noted(text: str, said: str) -> None:
    (notice,) = read(text).notices
    assert said in notice
    assert notice.endswith(": without effect here")


@pytest.mark.parametrize(
    "text",
    [
        "fixed",
        "{name: fixed, containers: 3, period: 5s}",
        "{margin: 5m}",
        "{name: queue-length, jobs_per_container: 5, up_cooldown: 5m, down_cooldown: 0}",
        "{name: target-duration, target: 1h, down_cooldown: 5m}",
        "{name: budget, budget: {money: 3}, price: 1, on_conflict: budget, margin: 1m}",
        "{name: schedule, schedule: [{from: '8:00', to: '9:00', containers: 1}], timezone: UTC, containers: 4}",
        "{name: deadline-forecast, confidence: 0.9, on_conflict: partial, budget: {container_hours: 3}, price: 1}",
        "{url: 'http://x/', timeout: 3s, fallback: fixed, containers: 3, margin: 3m}",
    ],
)
def test_keys_that_are_read_are_not_noted(text: str) -> None:
    assert read(text).notices == ()
