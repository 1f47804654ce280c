"""Jobs per second on one node of a Swarm, what a container costs the agent, and how soon it has its first job.

Starts a Swarm of one node from nothing (root on Debian), deploys the project's own stack into it, and measures

* no-op jobs (``/bin/true``) in four containers, from the submission to the last outcome recorded, beside a bare loop of
  execs by the Docker API over four containers like them, in alternating rounds;
* the agent's memory (PSS) with fifty containers, beside none;
* the time from a container's start, by the engine's clock, to the start of its first job.

Progress goes to stderr; the last line on stdout is one JSON object.
"""

import argparse
import json
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from statistics import median

from jqueuer import labels
from tests.lab.cluster import cluster_of

EXEC_SECONDS = 8.0


def say(text):
    print(text, file=sys.stderr, flush=True)


def description(name, jobs, containers, command):
    return {
        "name": name,
        "image": "busybox",
        "containers": {"min": containers, "max": containers},
        "policy": {"name": "fixed", "containers": containers},
        "sweep": {
            "parameters": {"number": {"from": 1, "to": jobs, "step": 1}},
            "job": {"id": "job-{{number}}", "command": command},
        },
    }


def jobs_per_second(cluster, jobs, containers):
    body = json.dumps(description("bench", jobs, containers, ["/bin/true"])).encode()
    submitted = time.time()
    experiment_id = cluster.api.submit_bytes(body, "application/json")["id"]
    ended = cluster.api.wait(experiment_id)
    if ended["jobs"]["accomplished"] != jobs or ended["statistics"]["attempts"] != jobs:
        sys.exit(f"{ended['jobs']['accomplished']} of {jobs} jobs accomplished: {ended['reason'] or ended['jobs']}")
    return jobs / (max(job["finished_at"] for job in cluster.api.jobs(experiment_id)) - submitted)


def bare_exec_per_second(engine, containers):
    """One thread per container: create an exec, start it, read what it prints, ask for its status; again."""
    running = [engine.containers.run("busybox", ["sleep", "3600"], detach=True) for _ in range(containers)]
    done = [0] * containers
    ends_at = time.monotonic() + EXEC_SECONDS

    def loop(number):
        client, container = engine.api, running[number].id
        while time.monotonic() < ends_at:
            execution = client.exec_create(container, ["/bin/true"])["Id"]
            client.exec_start(execution)
            assert client.exec_inspect(execution)["ExitCode"] == 0
            done[number] += 1

    try:
        threads = [threading.Thread(target=loop, args=(number,)) for number in range(containers)]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(done) / (time.monotonic() - started)
    finally:
        for container in running:
            container.remove(force=True)


@contextmanager
def sleeping_experiment(cluster, containers):
    """An experiment whose every container holds a job that does nothing for a long time."""
    body = json.dumps(description("sleepers", containers, containers, ["sleep", "3600"])).encode()
    experiment_id = cluster.api.submit_bytes(body, "application/json")["id"]
    deadline = time.monotonic() + 180
    while cluster.api.experiment(experiment_id)["containers"]["busy"] < containers:
        if time.monotonic() > deadline:
            sys.exit(f"{containers} containers did not get their jobs: {cluster.api.experiment(experiment_id)}")
        time.sleep(0.5)
    yield experiment_id
    cluster.api.cancel(experiment_id)
    while cluster.api.experiment(experiment_id)["containers"]["draining"]:
        time.sleep(0.5)


def first_job_seconds(cluster, experiment_id):
    """From a container's start to its first job's, for every container."""
    begun = {}
    for job in cluster.api.jobs(experiment_id):
        attempt = cluster.api.job(experiment_id, job["id"])["attempts"][0]
        begun[attempt["container"]] = attempt["started_at"]
    engine = cluster.nodes[0].docker
    waits = []
    for container in engine.containers.list(filters={"label": f"{labels.EXPERIMENT}={experiment_id}"}):
        started = datetime.fromisoformat(container.attrs["State"]["StartedAt"][:26] + "+00:00").timestamp()
        waits.append(begun[container.id[: labels.CONTAINER_ID_LENGTH]] - started)
    return waits


def agent_pss_bytes(cluster):
    """Memory of all processes of the agent, pages that they share counted once."""
    engine = cluster.nodes[0].docker
    (agent,) = engine.containers.list(filters={"label": "com.docker.swarm.service.name=jqueuer_agent"})
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if agent.id in (process / "cgroup").read_text():
                lines = (process / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except OSError:
            continue
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--containers", type=int, default=4)
    parser.add_argument("--crowd", type=int, default=50, help="containers whose memory is measured")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rates, bare = [], []
    with tempfile.TemporaryDirectory(prefix="bench-swarm-") as folder, cluster_of(Path(folder), nodes=1) as cluster:
        for number in range(1, options.rounds + 1):
            bare.append(bare_exec_per_second(cluster.nodes[0].docker, options.containers))
            rates.append(jobs_per_second(cluster, options.jobs, options.containers))
            say(f"round {number}: {rates[-1]:.0f} jobs/s end to end, {bare[-1]:.1f} bare execs/s")
        with sleeping_experiment(cluster, 4) as experiment_id:
            waits = first_job_seconds(cluster, experiment_id)
            say(f"first job after {', '.join(f'{wait:.2f}' for wait in waits)} s")
        before = agent_pss_bytes(cluster)
        with sleeping_experiment(cluster, options.crowd):
            each = (agent_pss_bytes(cluster) - before) / options.crowd / 1e6
        say(f"agent: {before / 1e6:.0f} MB without containers, {each:.1f} MB more for each of {options.crowd}")
    ratio = median(rate / exec_rate for rate, exec_rate in zip(rates, bare, strict=True))
    result = {
        "bench": "swarm",
        "jobs_per_second": round(median(rates), 1),
        "bare_exec_per_second": round(median(bare), 1),
        "ratio": round(ratio, 1),
        "agent_mb_per_container": round(each, 1),
        "first_job_seconds": round(median(waits), 2),
        "jobs": options.jobs,
        "containers": options.containers,
        "rounds": options.rounds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
