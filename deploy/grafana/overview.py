"""All experiments in one look: is any of them at risk, and what do they do to the cluster."""

from __future__ import annotations

from deploy.grafana.parts import JOB_COLOURS, RATE, Json, dashboard, graph, stat

_ENDED = f'rate(jqueuer_agent_job_duration_seconds_bucket{{outcome="accomplished"}}[{RATE}])'


def make() -> Json:
    """The dashboard."""
    return dashboard(
        "overview",
        "JQueuer",
        "All experiments",
        [
            stat(
                "Experiments running", "Accepted, and not ended", 'sum(jqueuer_experiments{state=~"running|finishing"})'
            ),
            stat(
                "Deadlines at risk",
                "Experiments that end before their deadline with less than 80 percent",
                "count(jqueuer_forecast_deadline_probability < 0.8) or vector(0)",
                alarm=("above", 1),
            ),
            stat("Jobs left", "Queued or running", 'sum(jqueuer_jobs{state=~"queued|running"})'),
            stat("Containers", "Observed, in all states", "sum(jqueuer_containers)"),
            stat(
                "Agents",
                "Nodes whose agent was heard of within half a minute",
                "count(time() - jqueuer_agent_last_seen_timestamp_seconds < 30) or vector(0)",
                alarm=("below", 1),
            ),
            stat(
                "Alerts",
                "Firing now; Prometheus' own page says which, and what to do",
                'count(ALERTS{alertstate="firing"}) or vector(0)',
                alarm=("above", 1),
            ),
            graph(
                "Containers wanted, requested and observed",
                "Wanted by the last decisions, requested of the orchestrator, observed by it; and those without room",
                ("sum(jqueuer_containers_wanted)", "wanted"),
                ("sum(jqueuer_containers_requested)", "requested"),
                ("sum(jqueuer_containers)", "observed"),
                ("sum(jqueuer_containers_unplaced)", "no room for"),
                width=24,
                height=9,
                steps=True,
            ),
            graph(
                "Probability of the deadline",
                "Forecast for the containers that each experiment has; below 80 percent it is at risk",
                ("jqueuer_forecast_deadline_probability", "{{experiment}}"),
                unit="percentunit",
            ),
            graph(
                "Time to spare",
                "From the moment before which an experiment ends with 95 percent to its deadline; negative: too late",
                (
                    "jqueuer_experiment_deadline_timestamp_seconds"
                    ' - ignoring (percentile) jqueuer_forecast_finish_timestamp_seconds{percentile="p95"}',
                    "{{experiment}}",
                ),
                unit="s",
                lowest=None,
            ),
            graph(
                "Jobs by state",
                "Of the experiments that run or ended within the last hour",
                ("sum by (state) (jqueuer_jobs)", "{{state}}"),
                stacked=True,
                colours=JOB_COLOURS,
            ),
            graph(
                "Experiments by state",
                "All that are kept",
                ("jqueuer_experiments", "{{state}}"),
                steps=True,
                colours=JOB_COLOURS,
            ),
            graph(
                "Jobs accomplished, by experiment",
                "The experiments' progress",
                ('jqueuer_jobs{state="accomplished"}', "{{experiment}}"),
            ),
            graph(
                "Containers observed, by experiment",
                "How experiments share the nodes",
                ("sum by (experiment) (jqueuer_containers)", "{{experiment}}"),
                stacked=True,
            ),
            graph(
                "Job durations",
                "Of accomplished attempts, as agents reported them",
                (f"histogram_quantile(0.5, sum by (le) ({_ENDED}))", "half of them below"),
                (f"histogram_quantile(0.95, sum by (le) ({_ENDED}))", "95 in 100 below"),
                unit="s",
            ),
            graph(
                "Attempts ended per minute, by outcome",
                "As agents reported them",
                (f"60 * sum by (outcome) (rate(jqueuer_agent_jobs_finished_total[{RATE}]))", "{{outcome}}"),
                stacked=True,
                colours=JOB_COLOURS,
            ),
        ],
    )
