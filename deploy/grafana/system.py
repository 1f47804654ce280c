"""The parts of JQueuer itself: do they answer, and how far are they from their limits."""

from __future__ import annotations

from deploy.grafana.parts import RATE, Json, dashboard, graph, stat

_MANAGER = 'job="manager"'


def make() -> Json:
    """The dashboard."""
    return dashboard(
        "system",
        "JQueuer: system health",
        "Manager, store, broker and what watches them",
        [
            stat("Manager", "1: Prometheus reads its metrics", f"min(up{{{_MANAGER}}})", alarm=("below", 1)),
            stat("Store", "1: it answers the manager", "min(jqueuer_store_up)", alarm=("below", 1)),
            stat("Broker", "1: it answers the manager within a second", "min(jqueuer_broker_up)", alarm=("below", 1)),
            stat(
                "Alerts",
                "Firing now; Prometheus' own page says which, and what to do",
                'count(ALERTS{alertstate="firing"}) or vector(0)',
                alarm=("above", 1),
            ),
            stat(
                "Manager up for",
                "Since its process was started",
                f"time() - min(process_start_time_seconds{{{_MANAGER}}})",
                unit="s",
            ),
            stat("Version", "Of the manager", "max by (version) (jqueuer_build_info)", name="{{version}}", text="name"),
            graph(
                "Who answers",
                "1: Prometheus reads its metrics; 0: it does not answer",
                ("min by (job) (up)", "{{job}}"),
                steps=True,
            ),
            graph(
                "How long answers take",
                "Of each part, when Prometheus asks for its metrics; it waits 4 seconds at most",
                ("max by (job) (scrape_duration_seconds)", "{{job}}"),
                unit="s",
            ),
            graph(
                "Manager: processor",
                "Cores in use by each of its two processes",
                (f"rate(process_cpu_seconds_total{{{_MANAGER}}}[{RATE}])", "API"),
                (f"rate(jqueuer_control_process_cpu_seconds_total{{{_MANAGER}}}[{RATE}])", "control"),
            ),
            graph(
                "Manager: memory",
                "Resident, by each of its two processes",
                (f"process_resident_memory_bytes{{{_MANAGER}}}", "API"),
                (f"jqueuer_control_process_resident_memory_bytes{{{_MANAGER}}}", "control"),
                unit="bytes",
            ),
            graph(
                "Manager: open requests",
                "Not answered yet, by kind",
                ("jqueuer_open_requests", "{{kind}}"),
                stacked=True,
            ),
            graph(
                "Manager: open files",
                "Connections are files as well",
                (f"process_open_fds{{{_MANAGER}}}", "open"),
                (f"process_max_fds{{{_MANAGER}}}", "at most"),
            ),
            graph(
                "Wrong tokens per minute",
                "Many of them: somebody guesses, or a program has an old one",
                (f"60 * rate(jqueuer_refused_logins_total[{RATE}])", "refused"),
            ),
            graph(
                "Webhooks per hour",
                "Tries that delivered or failed, and messages given up",
                (f"sum by (outcome) (3600 * rate(jqueuer_webhooks_total[{RATE}]))", "{{outcome}}"),
            ),
            graph("Store: memory", "What it holds", ("jqueuer_store_memory_bytes", "used"), unit="bytes"),
            graph(
                "Broker: memory",
                "At the limit it takes no more messages",
                ("rabbitmq_process_resident_memory_bytes", "used"),
                ("rabbitmq_resident_memory_limit_bytes", "limit"),
                unit="bytes",
            ),
            graph(
                "Broker: free disk",
                "Below the limit it takes no more messages",
                ("rabbitmq_disk_space_available_bytes", "free"),
                ("rabbitmq_disk_space_available_limit_bytes", "limit"),
                unit="bytes",
            ),
            graph(
                "Broker: connections",
                "Of manager and agents",
                ("rabbitmq_connections", "connections"),
                ("rabbitmq_channels", "channels"),
                steps=True,
            ),
            graph(
                "Messages that wait",
                "In the queues of all experiments, as the manager sees them",
                ("sum(jqueuer_queue_messages) or vector(0)", "messages"),
            ),
        ],
    )
