"""For each alert a scenario in which it fires, a sample a minute from 0 on: well until minute 9, then not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

LAST = 420


@dataclass(frozen=True)
class Scenario:
    """Series in promtool's notation; at the minute ``quiet`` nothing fires, at ``fires`` exactly this does."""

    series: dict[str, str]
    quiet: int
    fires: int
    whom: str
    """The labels of what fires."""
    besides: dict[str, str] = field(default_factory=dict)
    """Series of somebody for whom it does not fire, all the time."""


def then(before: float, after: float) -> str:
    """One value until minute 9, another from minute 10 on."""
    return f"{before:g}+0x9 {after:g}+0x{LAST - 10}"


def always(value: float) -> str:
    return f"{value:g}+0x{LAST}"


def stops(step: float) -> str:
    """What grows by so much a minute, until minute 9."""
    return f"0+{step:g}x9 {9 * step:g}+0x{LAST - 10}"


def begins(step: float) -> str:
    """What grows by so much a minute, from minute 10 on."""
    return f"0+0x9 {step:g}+{step:g}x{LAST - 10}"


X: Final = '{experiment="x"}'

SCENARIOS: Final = {
    "JQueuerDeadlineAtRisk": Scenario(
        {
            'jqueuer_forecast_deadline_probability{experiment="x"}': then(0.95, 0.5),
            'jqueuer_forecast_finish_timestamp_seconds{experiment="x", percentile="p80"}': then(3000, 5000),
            'jqueuer_experiment_deadline_timestamp_seconds{experiment="x"}': always(4000),
        },
        quiet=11,  # it may pass
        fires=13,
        whom=X,
        besides={
            'jqueuer_forecast_deadline_probability{experiment="fine"}': always(0.9),
            'jqueuer_forecast_finish_timestamp_seconds{experiment="fine", percentile="p80"}': always(3000),
            'jqueuer_experiment_deadline_timestamp_seconds{experiment="fine"}': always(4000),
        },
    ),
    "JQueuerDeadlineMissed": Scenario(
        {
            'jqueuer_experiment_deadline_timestamp_seconds{experiment="x"}': always(600),
            'jqueuer_jobs{experiment="x", state="queued"}': always(3),
        },
        quiet=9,
        fires=11,
        whom=X,
        besides={
            'jqueuer_experiment_deadline_timestamp_seconds{experiment="done"}': always(600),
            'jqueuer_jobs{experiment="done", state="queued"}': always(0),
            'jqueuer_jobs{experiment="done", state="accomplished"}': always(3),
        },
    ),
    "JQueuerNoProgress": Scenario(
        {
            'jqueuer_containers{experiment="x", state="busy"}': always(2),
            'jqueuer_jobs{experiment="x", state="running"}': always(2),
            'jqueuer_jobs{experiment="x", state="accomplished"}': always(10),
            'jqueuer_job_seconds_total{experiment="x"}': always(600),
            'jqueuer_last_claim_timestamp_seconds{experiment="x"}': stops(60),
            'jqueuer_last_outcome_timestamp_seconds{experiment="x"}': stops(60),
        },
        quiet=38,
        fires=46,
        whom=X,
        besides={
            # Its first jobs take hours.
            'jqueuer_containers{experiment="long", state="busy"}': always(2),
            'jqueuer_jobs{experiment="long", state="running"}': always(2),
            'jqueuer_jobs{experiment="long", state="accomplished"}': always(0),
            'jqueuer_job_seconds_total{experiment="long"}': always(0),
            'jqueuer_last_claim_timestamp_seconds{experiment="long"}': always(0),
            # It was paused for long, and goes on.
            'jqueuer_containers{experiment="resumed", state="busy"}': always(2),
            'jqueuer_jobs{experiment="resumed", state="running"}': always(2),
            'jqueuer_jobs{experiment="resumed", state="accomplished"}': always(10),
            'jqueuer_job_seconds_total{experiment="resumed"}': always(600),
            'jqueuer_last_claim_timestamp_seconds{experiment="resumed"}': f"0+0x29 1800+0x{LAST - 30}",
            'jqueuer_last_outcome_timestamp_seconds{experiment="resumed"}': always(0),
        },
    ),
    "JQueuerNoContainers": Scenario(
        {
            'jqueuer_containers_requested{experiment="x"}': always(2),
            'jqueuer_containers{experiment="x", state="idle"}': then(2, 0),
        },
        quiet=19,
        fires=21,
        whom=X,
        besides={
            'jqueuer_containers_requested{experiment="ended"}': always(0),
            'jqueuer_containers{experiment="ended", state="idle"}': always(0),
        },
    ),
    "JQueuerJobsFail": Scenario(
        {
            'jqueuer_agent_jobs_finished_total{experiment="x", outcome="accomplished", node="n"}': stops(10),
            'jqueuer_agent_jobs_finished_total{experiment="x", outcome="failed", node="n"}': begins(2),
        },
        quiet=9,
        fires=25,
        whom=X,
        besides={
            'jqueuer_agent_jobs_finished_total{experiment="one", outcome="accomplished", node="n"}': always(1),
            'jqueuer_agent_jobs_finished_total{experiment="one", outcome="failed", node="n"}': then(0, 1),
        },
    ),
    "JQueuerAttemptsLost": Scenario(
        {'jqueuer_attempts_lost_total{experiment="x"}': begins(1)},
        quiet=12,
        fires=20,
        whom=X,
        besides={'jqueuer_attempts_lost_total{experiment="once"}': then(0, 1)},
    ),
    "JQueuerQueueGrows": Scenario(
        {
            'jqueuer_queue_messages{experiment="x"}': begins(60),
            'jqueuer_jobs{experiment="x", state="queued"}': always(100),
        },
        quiet=20,
        fires=45,
        whom=X,
        besides={
            # Jobs are being published.
            'jqueuer_queue_messages{experiment="new"}': f"0+100x{LAST}",
            'jqueuer_jobs{experiment="new", state="queued"}': always(100_000),
        },
    ),
    "JQueuerManagerDown": Scenario({'up{job="manager"}': then(1, 0)}, quiet=10, fires=12, whom='{job="manager"}'),
    "JQueuerNotControlled": Scenario(
        {'jqueuer_control_process_start_time_seconds{job="manager"}': f"0+0x9 60+60x{LAST - 10}"},
        quiet=13,
        fires=16,
        whom='{job="manager"}',
        besides={
            'up{job="manager"}': always(1),
            'jqueuer_control_process_start_time_seconds{job="restarted"}': then(0, 600),
        },
    ),
    "JQueuerStoreDown": Scenario({'jqueuer_store_up{job="manager"}': then(1, 0)}, 10, 12, '{job="manager"}'),
    "JQueuerBrokerDown": Scenario({'jqueuer_broker_up{job="manager"}': then(1, 0)}, 10, 12, '{job="manager"}'),
    "JQueuerPartDown": Scenario(
        {'up{job="statsd"}': then(1, 0)},
        quiet=14,
        fires=16,
        whom='{job="statsd"}',
        besides={'up{job="rabbitmq"}': always(1)},
    ),
    "JQueuerAgentLost": Scenario(
        {'jqueuer_agent_last_seen_timestamp_seconds{node="n1"}': stops(60)},
        quiet=10,
        fires=13,
        whom='{node="n1"}',
        besides={
            'jqueuer_agent_last_seen_timestamp_seconds{node="n2"}': f"0+60x{LAST}",
            'jqueuer_agent_last_seen_timestamp_seconds{node="stopped"}': f"0+60x9 0+0x{LAST - 10}",
        },
    ),
    "JQueuerBrokerMemory": Scenario(
        {
            'rabbitmq_process_resident_memory_bytes{job="rabbitmq"}': then(1e8, 9e8),
            'rabbitmq_resident_memory_limit_bytes{job="rabbitmq"}': always(1e9),
        },
        quiet=14,
        fires=16,
        whom='{job="rabbitmq"}',
    ),
    "JQueuerBrokerDisk": Scenario(
        {
            'rabbitmq_disk_space_available_bytes{job="rabbitmq"}': then(1e10, 9e8),
            'rabbitmq_disk_space_available_limit_bytes{job="rabbitmq"}': always(5e8),
        },
        quiet=14,
        fires=16,
        whom='{job="rabbitmq"}',
    ),
    "JQueuerBrokerConnections": Scenario(
        {
            'rabbitmq_process_open_fds{job="rabbitmq"}': then(100, 900),
            'rabbitmq_process_max_fds{job="rabbitmq"}': always(1000),
        },
        quiet=14,
        fires=16,
        whom='{job="rabbitmq"}',
    ),
    "JQueuerWrongTokens": Scenario(
        {'jqueuer_refused_logins_total{job="manager"}': begins(60)},
        quiet=11,
        fires=25,
        whom='{job="manager"}',
        besides={'jqueuer_refused_logins_total{job="other"}': then(0, 1)},
    ),
    "JQueuerWebhooksGivenUp": Scenario(
        {'jqueuer_webhooks_total{job="manager",outcome="given-up"}': then(0, 1)},
        quiet=9,
        fires=11,
        whom='{job="manager"}',
        besides={'jqueuer_webhooks_total{job="tried",outcome="failed"}': begins(1)},
    ),
}

OTHER_SCENARIOS: Final = [
    ("JQueuerManagerDown", Scenario({'up{job="statsd"}': always(1)}, quiet=0, fires=2, whom='{job="manager"}')),
    (
        "JQueuerNotControlled",
        Scenario(
            {'jqueuer_control_process_start_time_seconds{job="manager"}': "0+0x9 stale"},
            quiet=10,
            fires=12,
            whom='{job="manager"}',
            besides={'up{job="manager"}': always(1)},
        ),
    ),
]
"""For alerts that have a second cause: of a manager nothing is known at all; a control process that cannot start."""
