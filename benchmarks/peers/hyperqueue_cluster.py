"""HyperQueue's LocalCluster: one worker with as many cores as workers asked for. Arguments: JOBS WORKERS.

Its client looks for the end about once a second, so the time is up to a second too long.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig


def sweep(folder, count):
    job = Job(default_workdir=folder)
    for _ in range(count):
        job.program(["/bin/true"], stdout=None, stderr=None)
    return job


if __name__ == "__main__":
    count, workers = int(sys.argv[1]), int(sys.argv[2])
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(str(Path(folder) / "server"), WorkerConfig(cores=workers)) as cluster,
    ):
        client = cluster.client()
        client.wait_for_jobs([client.submit(sweep(folder, workers))])
        started = time.perf_counter()
        client.wait_for_jobs([client.submit(sweep(folder, count))])
        seconds = time.perf_counter() - started
    print(json.dumps({"jobs": count, "seconds": round(seconds, 3)}))
