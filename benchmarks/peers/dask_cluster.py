"""dask.distributed: a LocalCluster of single-threaded processes; nothing is kept on disk. Arguments: JOBS WORKERS."""

import json
import subprocess
import sys
import time

from distributed import Client, LocalCluster, wait


def work(_):
    subprocess.run(["/bin/true"], check=True)


if __name__ == "__main__":
    count, workers = int(sys.argv[1]), int(sys.argv[2])
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.gather(client.map(work, range(-workers, 0), pure=False))
        started = time.perf_counter()
        futures = client.map(work, range(count), pure=False)
        wait(futures)
        seconds = time.perf_counter() - started
        client.gather(futures)
    print(json.dumps({"jobs": count, "seconds": round(seconds, 3)}))
