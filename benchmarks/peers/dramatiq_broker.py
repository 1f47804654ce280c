"""dramatiq with one thread per process. Arguments: JOBS WORKERS."""

import sys

import dramatiq
from common import SOCKET, measure, work
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=f"unix://{SOCKET}?db=1"))


@dramatiq.actor
def job():
    work()


if __name__ == "__main__":
    measure(job.send, ["dramatiq", "dramatiq_broker", "--processes", sys.argv[2], "--threads", "1", "--skip-logging"])
