"""Celery as it comes: two prefork processes, early acknowledgement, no results. Arguments: JOBS WORKERS."""

import sys

from celery import Celery
from common import SOCKET, measure, work

app = Celery("peer", broker=f"redis+socket://{SOCKET}?virtual_host=1")
app.conf.broker_connection_retry_on_startup = True


@app.task(ignore_result=True)
def job():
    work()


if __name__ == "__main__":
    from celery_bare import job as imported  # the worker knows the task by this module's name

    options = ["--pool", "prefork", "--concurrency", sys.argv[2], "--without-mingle", "--without-gossip"]
    measure(imported.delay, ["celery", "--app", "celery_bare", "worker", *options, "--loglevel", "ERROR"])
