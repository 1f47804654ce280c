"""The nodes: whose agent is there, what runs on them, and whether one of them spoils jobs."""

from __future__ import annotations

from deploy.grafana.parts import RATE, Json, dashboard, graph, stat

_SEEN = "jqueuer_agent_last_seen_timestamp_seconds"
_ENDED = "jqueuer_agent_jobs_finished_total"
_SPOILT = f'{_ENDED}{{outcome=~"failed|timed-out|killed|lost"}}'
_DURATION = "jqueuer_agent_job_duration_seconds"


def make() -> Json:
    """The dashboard."""
    return dashboard(
        "nodes",
        "JQueuer: nodes",
        "Agents, and what runs on their nodes",
        [
            stat(
                "Agents",
                "Nodes whose agent was heard of within half a minute",
                f"count(time() - {_SEEN} < 30) or vector(0)",
                width=6,
                alarm=("below", 1),
            ),
            stat(
                "Agents lost",
                "Nodes whose agent was not told to go, and was not heard of for a minute",
                f"count(time() - ({_SEEN} > 0) > 60) or vector(0)",
                width=6,
                alarm=("above", 1),
            ),
            stat("Containers", "Of all experiments, observed on all nodes", "sum(jqueuer_node_containers)", width=6),
            stat(
                "Containers at work",
                "Share of the containers that have a job",
                'sum(jqueuer_node_containers{state="busy"}) / sum(jqueuer_node_containers)',
                width=6,
                unit="percentunit",
            ),
            graph(
                "Time since an agent was heard of",
                "Each says every 5 seconds that it is there",
                (f"time() - ({_SEEN} > 0)", "{{node}}"),
                unit="s",
            ),
            graph(
                "Containers by node",
                "Of all experiments, in all states",
                ("sum by (node) (jqueuer_node_containers)", "{{node}}"),
                stacked=True,
            ),
            graph(
                "Containers with a job, by node",
                "Those that are busy",
                ('jqueuer_node_containers{state="busy"}', "{{node}}"),
                stacked=True,
            ),
            graph(
                "Attempts ended per minute, by node",
                "As agents reported them",
                (f"60 * sum by (node) (rate({_ENDED}[{RATE}]))", "{{node}}"),
                stacked=True,
            ),
            graph(
                "Attempts not accomplished, by node",
                "Share of those that ended: a node far above the others may be the reason",
                (f"sum by (node) (rate({_SPOILT}[{RATE}])) / sum by (node) (rate({_ENDED}[{RATE}]))", "{{node}}"),
                unit="percentunit",
            ),
            graph(
                "Mean duration of attempts, by node",
                "Of all outcomes: a node far above the others is slow, or has too many containers",
                (
                    f"sum by (node) (rate({_DURATION}_sum[{RATE}])) / sum by (node) (rate({_DURATION}_count[{RATE}]))",
                    "{{node}}",
                ),
                unit="s",
            ),
        ],
    )
