"""What every container manager needs, loaded once in the process that they are forked from.

So another one is ready in a tenth of a second and shares its memory with the others: only what it changes is its own.
What was loaded is taken out of the sight of the garbage collector, whose looks would change all of it.
"""

from __future__ import annotations

import gc
import importlib
import os
from typing import Final

_ALWAYS: Final = (
    "jqueuer_agent.container_manager",
    "billiard.pool",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.app.trace",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.thread",
    "celery.events.receiver",
    "celery.fixups.django",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.strategy",
    "kombu.matcher",
    "kombu.pidbox",
    "kombu.transport.redis",
    "multiprocessing.popen_fork",
    "multiprocessing.synchronize",
)
_FOR_ENGINE: Final = {
    "local": ("jqueuer_agent.adapters.local_workplace",),
    "docker": ("jqueuer_agent.adapters.docker", "kombu.transport.pyamqp", "netrc", "requests"),
}

gc.disable()  # what it frees would leave gaps, and what is put into a gap changes a shared page
for _name in (*_ALWAYS, *_FOR_ENGINE.get(os.environ.get("JQUEUER_ENGINE", "local"), ())):
    importlib.import_module(_name)
gc.freeze()
gc.enable()
