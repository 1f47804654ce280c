"""What each key of a description means, with an example: what editors show, and the reference is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Wording = tuple[str, Any]
"""A sentence, and a value that could stand there."""

_COMMAND: Final = ["python3", "run.py", "--seed", 1]

_OF_JOBS: Final[Mapping[str, Wording]] = {
    "tasks": ("Commands, run in order in one container; after one that fails no other is begun", [_COMMAND]),
    "command": ("In place of `tasks`, for a job of one task", _COMMAND),
    "timeout": ("With `command`: the longest time it may take; without it the experiment's", "10m"),
    "pre_job": ("A command before the tasks; in place of the experiment's", ["mkdir", "-p", "out"]),
    "post_job": ("A command after the tasks, whatever became of them; the result stays what it was", ["rm", "x"]),
    "environment": ("Variables, added to the experiment's; the job's value wins", {"MODE": "slow"}),
    "inputs": ("Files laid into the working directory; added to the experiment's", ["town.json"]),
    "outputs": ("Globs of files to be kept, added to the experiment's; one without a match fails the job", ["*.csv"]),
    "parameters": ("Values that describe the job, for people; a sweep fills them in", {"beta": 0.5}),
    "idempotent": ("Whether the job may run twice without harm; without it the experiment's word", True),
}

_OF_INPUTS: Final[Mapping[str, Wording]] = {
    "path": ("Where the job finds the file, relative to the working directory", "settings.json"),
    "source": (
        "Where it lies on the side that submits; without it at `path`, beside the description",
        "conf/fast.json",
    ),
}

WORDING: Final[Mapping[str, Mapping[str, Wording]]] = {
    "DescriptionFile": {
        "name": ("What the experiment is called, and its id begins with; without it the file's name", "night run"),
        "image": ("The image of the containers; ignored where containers are local", "registry.example/tools:2"),
        "container_name": ("A service that runs already, in place of an image; it is never scaled", "tools_worker"),
        "deadline": ("When all should be done: from the receipt, or a moment with its time zone", "1h30m"),
        "containers": ("The fewest and the most containers", {"min": 1, "max": 10}),
        "resources": ("What one container is promised, and what it may not exceed", {"memory": {"limit": "1GiB"}}),
        "estimate": ("How long one task takes, as far as you know; soon replaced by what is measured", "2m"),
        "timeout": ("The longest time for one command; a task's own wins. Without it there is none", "10m"),
        "environment": ("Variables for all commands; names that begin with `JQUEUER_` are ours", {"THREADS": 2}),
        "working_directory": (
            "Where commands run; without it a directory of its own, emptied before each job. An absolute path is never "
            "emptied; `@image` is where the image says",
            "/work",
        ),
        "container_command": (
            "What a container runs while it waits for jobs; without it a sleeping shell. `@image` is the image's own",
            ["sleep", "infinity"],
        ),
        "user": ("Who runs the commands: a name, or `uid:gid`; without it the image's", "1000:1000"),
        "networks": ("Networks that containers join, where the manager's settings allow them", ["web"]),
        "mounts": ("Directories and volumes that containers see, where the settings allow them", ["/data:/data:ro"]),
        "placement": ("Which nodes, as Swarm writes it; all must hold", ["node.labels.gpu==true"]),
        "priority": ("Who goes first where there is not room for all: the higher", 10),
        "policy": ("How the number of containers is decided", "deadline-paper"),
        "on_failure": ("What becomes of a job whose task failed", {"action": "requeue", "max_attempts": 5}),
        "pre_job": ("A command before each job's tasks; a job's own wins", ["mkdir", "-p", "out"]),
        "post_job": ("A command after each job's tasks, whatever became of them; a job's own wins", ["rm", "x"]),
        "inputs": ("Files that every job needs", ["epidemic.py"]),
        "outputs": ("Globs of files that every job leaves", ["out/*.csv"]),
        "post": ("A command run once, after the last job", {"command": ["python3", "report.py"]}),
        "append_worker_id": ("Give each task the container's id as one more argument, as in 2018", True),
        "idempotent": ("Whether jobs may run twice, even at the same time, without harm; a job's own word wins", True),
        "hedge": ("Start a second copy of the slowest job if the deadline is in danger; needs idempotent jobs", True),
        "notify": (
            "Who is told by a signed webhook when it has ended, or its deadline is at risk",
            {"url": "https://hooks.example/jqueuer", "on": ["failed", "at-risk"]},
        ),
        "jobs": ("The jobs, one by one; either this or `sweep`", [{"id": "first", "command": _COMMAND}]),
        "sweep": ("The jobs, generated; either this or `jobs`", {"repeat": 10, "job": {"command": _COMMAND}}),
    },
    "Job": {"id": ("Its name within the experiment; without it its place in the list", "first"), **_OF_JOBS},
    "JobTemplate": {
        "id": ("Its name, unlike for every job; without it a number", "{{town}}-{{beta}}"),
        **_OF_JOBS,
        "inputs": ("Files laid into the working directory; added to the experiment's", ["towns/{{town}}.json"]),
    },
    "Task": {
        "command": ("What is run", _COMMAND),
        "timeout": ("The longest time it may take; without it the experiment's `timeout`", "10m"),
    },
    "Shell": {"shell": ("A line for `/bin/sh -c`", "python3 run.py > log.txt")},
    "InputFile": {
        **_OF_INPUTS,
        "sha256": ("The content's checksum, which whoever submits fills in", "0123456789abcdef" * 4),
    },
    "InputTemplate": {**_OF_INPUTS, "path": (_OF_INPUTS["path"][0], "towns/{{town}}.json")},
    "ContainerLimits": {
        "min": ("Never fewer than these while the experiment runs", 1),
        "max": ("Never more than these", 10),
    },
    "Resources": {
        "cpu": ("Cores", {"reserve": 0.5, "limit": 1}),
        "memory": ("Memory", {"limit": "1GiB"}),
    },
    "Reservation": {
        "reserve": ("Cores promised: nodes without so much room get no container", 0.5),
        "limit": ("Cores that are never exceeded", 2),
    },
    "MemoryReservation": {
        "reserve": ("Memory promised: nodes without so much room get no container", "200MiB"),
        "limit": ("Memory that is never exceeded: a command that needs more is ended", "1GiB"),
    },
    "FailurePolicy": {
        "action": ("`requeue` tries the job again, `cancel` fails it at once; the other jobs go on", "cancel"),
        "max_attempts": ("After so many attempts the job has failed", 5),
        "backoff": ("How long to wait before the next attempt", "10s"),
        "exit_codes": ("Only these are tried again; without it all but 0", [75, 111]),
    },
    "Post": {
        "command": ("What is run; the outputs of all jobs lie in `outputs/<job id>/`", ["python3", "report.py"]),
        "timeout": ("The longest time it may take; without it the experiment's `timeout`", "10m"),
        "environment": ("Variables, added to the experiment's", {"TITLE": "Epidemic"}),
        "inputs": ("Files laid into the working directory", ["report.py"]),
        "outputs": ("Globs of files to be kept", ["final_size.png"]),
    },
    "Mount": {
        "source": ("A directory of every node, or a volume's name", "/data"),
        "target": ("Where containers see it", "/data"),
        "read_only": ("Whether they may only read it", True),
    },
    "Notify": {
        "url": ("Where the requests go, if the manager's settings allow it", "https://hooks.example/jqueuer"),
        "on": ("Of what; without it of all three", ["failed", "at-risk"]),
    },
    "Policy": {
        "name": ("Which one", "deadline-paper"),
        "margin": ("Taken off the time left until the deadline", "2m"),
        "containers": ("The number for `fixed`; for `schedule` the number outside its windows", 4),
        "confidence": ("The probability with which the deadline is to be met", 0.99),
        "on_conflict": ("What gives way where deadline, budget and jobs cannot all be had", "partial"),
        "budget": ("What the containers may cost", {"container_hours": 12}),
        "price": ("Of one container-hour, in the currency of the money", 0.12),
        "jobs_per_container": ("For `queue-length`: jobs waiting or running for which one container is wanted", 20),
        "target": ("For `target-duration`: how long the experiment should take from its receipt", "2h"),
        "schedule": (
            "For `schedule`: windows of the day; the first that holds decides",
            [{"from": "22:00", "to": "06:00", "containers": 20}],
        ),
        "timezone": ("Whose clock the schedule means: a name, or an offset", "Europe/Vienna"),
        "up_cooldown": ("So long after a change nothing is scaled up; without it as the policy likes", "1m"),
        "down_cooldown": ("So long after a change nothing is scaled down; without it as the policy likes", "5m"),
        "period": ("Time between two calculations; without it as the policy likes", "10s"),
        "url": ("A service that is asked, in place of a name", "http://policy.example/containers"),
        "timeout": ("How long that service may take", "2s"),
        "fallback": ("Who decides while the service gives no number", "deadline-paper"),
    },
    "Budget": {
        "container_hours": ("Hours of all containers together; either this or `money`", 12),
        "money": ("An amount, which `policy.price` turns into container-hours", 30),
    },
    "Window": {
        "from": ("When it begins", "22:00"),
        "to": ("Until just before this; over midnight where it comes first. `24:00` is the end of the day", "06:00"),
        "containers": ("How many meanwhile", 20),
    },
    "Sweep": {
        "parameters": ("Names with their values: a list, or a range", {"beta": {"from": 0.1, "to": 0.9, "step": 0.1}}),
        "csv": ("A table whose columns are parameters that change together", "table.csv"),
        "combine": ("`grid` makes every combination, `zip` takes the values side by side", "zip"),
        "repeat": ("Every combination so many times; adds the parameter `repeat`, from 1", 3),
        "job": ("The template of each job", {"command": ["python3", "run.py", "--beta", "{{beta}}"]}),
    },
    "Range": {
        "from": ("The first value", 0.1),
        "to": ("The last one, where a step meets it", 0.9),
        "step": ("The distance of two values; either this or `count`", 0.1),
        "count": ("How many values; either this or `step`", 4),
        "scale": ("With `count`: at equal distances, or each so many times the one before", "log"),
    },
    "CsvTable": {
        "path": ("A file beside the description, on the machine that submits", "table.csv"),
        "text": ("Its content, for who sends the description over the network", "a,b\n1,2\n"),
    },
}
"""By model and key, as the schema calls them."""


def put_words(schema: dict[str, Any], model: str) -> None:
    """Give each property of a model's schema its sentence and its example."""
    for key, (sentence, example) in WORDING[model].items():
        words = {"description": sentence, "examples": [example]}
        schema["properties"][key] = {**schema["properties"][key], **words}
