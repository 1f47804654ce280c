"""huey with process workers; messages are taken off the queue before they are worked on. Arguments: JOBS WORKERS."""

import sys

from common import SOCKET, measure, work
from huey import RedisHuey

huey = RedisHuey("peer", url=f"unix://{SOCKET}?db=1", results=False)


@huey.task()
def job():
    work()


if __name__ == "__main__":
    from huey_queue import job as imported  # the consumer knows the task by this module's name

    options = ["--workers", sys.argv[2], "--worker-type", "process", "--quiet"]
    measure(imported, ["huey.bin.huey_consumer", "huey_queue.huey", *options])
