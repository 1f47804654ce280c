"""Why containers cannot be started, and what holds them up, in Swarm's words and ours; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from cautoscaler.wording import plural
from jqueuer_manager.adapters.swarm.credentials import is_pinned
from jqueuer_manager.adapters.swarm.facts import Task

_SETTLED_SECONDS: Final = 10.0
"""A container that has lived so long did not end because it could not begin."""
_NO_NODE: Final = "no suitable node"
_COULD_NOT_START: Final = "starting container failed"


def unplaced(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Those that no node has room for, or may take."""
    return tuple(task for task in tasks if task.starting and task.state == "pending" and _NO_NODE in task.error)


def problems(tasks: Iterable[Task], waiting: Collection[Task], *, requested: int, now: float) -> str:
    """Why containers that are wanted do not run; empty where nothing is wrong."""
    complaints = [_of_place(own, now) for own in _by_place(tasks).values()]
    found = Counter(f"cannot be started: {why}" for why in complaints if why)
    found.update(f"wait for a node: {task.error}" for task in waiting)
    return "; ".join(f"{count} of {plural(requested, 'container')} {words}" for words, count in found.most_common())


def notes(tasks: Iterable[Task], names: Mapping[str, str], image: str) -> str:
    """What a user should know while nothing is wrong."""
    said = []
    if nodes := sorted({names.get(task.node_id, task.node_id) for task in tasks if task.state == "preparing"}):
        said.append(f"pulling the image, where it is not there yet, on {', '.join(nodes)}")
    if image and not is_pinned(image):
        said.append(f"no registry could say what {image!r} means: each node runs what it has under this name")
    return "; ".join(said)


def _by_place(tasks: Iterable[Task]) -> dict[str, list[Task]]:
    places: dict[str, list[Task]] = {}
    for task in sorted(tasks, key=lambda task: task.created_at, reverse=True):
        places.setdefault(task.place, []).append(task)
    return places


def _of_place(tasks: list[Task], now: float) -> str:
    """What is wrong with one place, from its tasks, the newest first."""
    current = next((task for task in tasks if task.starting or (task.wanted and task.running)), None)
    if current is None or (current.running and now - current.changed_at >= _SETTLED_SECONDS):
        return ""
    past = [task for task in tasks if task.state in ("rejected", "failed", "complete")]
    if not past:
        return ""
    last = past[0]
    if last.state == "rejected" or _COULD_NOT_START in last.error:
        return "" if current.running else _rejection(last.error)
    short = [task for task in past[:2] if task.changed_at - task.created_at < _SETTLED_SECONDS]
    if len(short) < 2:
        return ""
    return f"what they run ends at once ({last.error or 'its command has ended'}), and jobs need a container that stays"


def _rejection(error: str) -> str:
    if "no such image" in error.lower() or "pull access denied" in error.lower():
        return (
            f"{error.strip()} (the node has no such image and cannot pull it: is the name right, its registry within \
reach, and are its credentials in JQUEUER_REGISTRY_AUTH_FILE?)"
        )
    return error.strip()
