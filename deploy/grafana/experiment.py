"""One experiment: is it going to make it, with which containers, and how do its jobs fare: the paper's Fig. 4."""

from __future__ import annotations

from deploy.grafana.parts import CONTAINER_COLOURS, JOB_COLOURS, RATE, Json, dashboard, graph, heat_map, stat, variable

_X = 'experiment="$experiment"'
_DEADLINE = f"jqueuer_experiment_deadline_timestamp_seconds{{{_X}}}"
_ENDED = f'jqueuer_agent_job_duration_seconds_bucket{{{_X}, outcome="accomplished"}}'


def _finish(percentile: str) -> str:
    return f'jqueuer_forecast_finish_timestamp_seconds{{{_X}, percentile="{percentile}"}}'


def _mean(metric: str, by: str = "") -> str:
    group = f"sum by ({by}) " if by else "sum "
    return " / ".join(f"{group}(rate({metric}_{part}{{{_X}}}[{RATE}]))" for part in ("sum", "count"))


def make() -> Json:
    """The dashboard."""
    return dashboard(
        "experiment",
        "JQueuer: one experiment",
        "From its jobs to its containers",
        [
            stat(
                "Probability of the deadline",
                "Forecast: that the last job ends before it, if the number of containers stays",
                f"jqueuer_forecast_deadline_probability{{{_X}}}",
                unit="percentunit",
                alarm=("below", 0.8),
            ),
            stat(
                "Until the deadline",
                "Negative once it has passed",
                f"{_DEADLINE} - time()",
                unit="s",
                lowest=None,
                alarm=("below", 0),
            ),
            stat(
                "Until it ends",
                "Forecast: within this time with 95 percent",
                f"{_finish('p95')} - time()",
                unit="s",
                lowest=None,
            ),
            stat(
                "Jobs ended",
                "Share of the jobs that have their outcome",
                f'sum(jqueuer_jobs{{{_X}, state=~"accomplished|failed|cancelled"}}) / sum(jqueuer_jobs{{{_X}}})',
                unit="percentunit",
            ),
            stat("Jobs left", "Queued or running", f'sum(jqueuer_jobs{{{_X}, state=~"queued|running"}})'),
            stat(
                "Jobs failed",
                "No attempt was accomplished, and none is left",
                f'jqueuer_jobs{{{_X}, state="failed"}}',
                alarm=("above", 1),
            ),
            graph(
                "Containers wanted, requested and observed",
                "Wanted by the last decision, requested of the orchestrator, observed by it; and those without room",
                (f"jqueuer_containers_wanted{{{_X}}}", "wanted"),
                (f"jqueuer_containers_requested{{{_X}}}", "requested"),
                (f"sum(jqueuer_containers{{{_X}}})", "observed"),
                (f"jqueuer_containers_unplaced{{{_X}}}", "no room for"),
                width=24,
                height=9,
                steps=True,
            ),
            graph(
                "Time left: forecast and deadline",
                "The band is from P50 to P95 of the end; while it stays below the deadline's line, all is well",
                (f"{_finish('p50')} - time()", "P50"),
                (f"{_finish('p95')} - time()", "P95"),
                (f"{_DEADLINE} - time()", "deadline"),
                unit="s",
                lowest=None,
                band=("P50", "P95"),
                colours={"P50": "blue", "P95": "super-light-blue", "deadline": "red"},
            ),
            graph(
                "Jobs by state",
                "From queued to their outcome",
                (f"sum by (state) (jqueuer_jobs{{{_X}}})", "{{state}}"),
                stacked=True,
                colours=JOB_COLOURS,
            ),
            graph(
                "Containers by state",
                "Draining ones finish their job and take no other",
                (f"sum by (state) (jqueuer_containers{{{_X}}})", "{{state}}"),
                stacked=True,
                colours=CONTAINER_COLOURS,
            ),
            graph(
                "Attempts per minute",
                "Started, and ended by outcome, as agents reported them",
                (f"60 * sum(rate(jqueuer_agent_jobs_started_total{{{_X}}}[{RATE}]))", "started"),
                (f"60 * sum by (outcome) (rate(jqueuer_agent_jobs_finished_total{{{_X}}}[{RATE}]))", "{{outcome}}"),
                colours=JOB_COLOURS,
            ),
            graph(
                "Job durations",
                "Of accomplished attempts, as agents reported them",
                (f"histogram_quantile(0.5, sum by (le) (rate({_ENDED}[{RATE}])))", "half of them below"),
                (f"histogram_quantile(0.95, sum by (le) (rate({_ENDED}[{RATE}])))", "95 in 100 below"),
                unit="s",
            ),
            heat_map(
                "Job durations, how many of which",
                "Accomplished attempts by duration, as agents reported them",
                f"sum by (le) (increase({_ENDED}[{RATE}]))",
            ),
            graph(
                "Mean duration of commands, by phase",
                "Pre-job, tasks and post-job, as agents reported them",
                (_mean("jqueuer_agent_command_duration_seconds", "phase"), "{{phase}}"),
                unit="s",
            ),
            graph(
                "Mean duration of all tasks so far",
                "Of those that succeeded; what deadline-paper decides by",
                (
                    f"jqueuer_task_duration_seconds_sum{{{_X}}} / jqueuer_task_duration_seconds_count{{{_X}}}",
                    "mean",
                ),
                unit="s",
            ),
            graph(
                "Time since something happened",
                "Since a container last took a job, and since an attempt last ended by itself",
                (f"time() - jqueuer_last_claim_timestamp_seconds{{{_X}}}", "job taken"),
                (f"time() - jqueuer_last_outcome_timestamp_seconds{{{_X}}}", "attempt ended"),
                unit="s",
            ),
            graph(
                "Jobs that wait",
                "Queued by the store, which is the truth, and messages in the queue, which are hints",
                (f'jqueuer_jobs{{{_X}, state="queued"}}', "queued"),
                (f"jqueuer_queue_messages{{{_X}}}", "messages"),
            ),
            graph(
                "Attempts lost, and scale actions",
                "So far: attempts that lost their container; how often the number of containers was raised and lowered",
                (f"jqueuer_attempts_lost_total{{{_X}}}", "lost"),
                (f"jqueuer_scalings_total{{{_X}}}", "scaled {{direction}}"),
                steps=True,
            ),
            graph(
                "Time spent so far",
                "In accomplished jobs, and by the containers that have ended",
                (f"jqueuer_job_seconds_total{{{_X}}}", "jobs"),
                (f"jqueuer_container_seconds_total{{{_X}}}", "containers"),
                unit="s",
            ),
        ],
        variable("experiment", "Experiment", "jqueuer_experiment_created_timestamp_seconds"),
    )
