"""Descriptions that must be refused: a name, the bytes, and a fragment of what is said about them.

The reader's tests parse them and the API's tests send them; nothing may come of either but a clear refusal.
Fragments hold neither quotes nor backslashes, so they are found in JSON too.
"""

from __future__ import annotations

import json
from typing import Any

JOBS = [{"id": "a", "command": ["true"]}]


def native(**keys: Any) -> bytes:
    """A description that is well but for these keys."""
    return json.dumps({"jobs": JOBS, **keys}).encode()


def job(**keys: Any) -> bytes:
    """A description whose job is well but for these keys."""
    return native(jobs=[{"id": "a", "command": ["true"], **keys}])


def sweep(**keys: Any) -> bytes:
    """A description whose sweep is well but for these keys."""
    well = {"parameters": {"x": [1, 2]}, "job": {"command": ["run", "{{x}}"]}}
    return json.dumps({"sweep": {**well, **keys}}).encode()


def of_2018(text: str) -> bytes:
    """A description of 2018 that ends like this."""
    return b'{"image_url": "app", "replica_max": "4", ' + text.encode()


def alias_bomb() -> bytes:
    """YAML that would grow tenfold with each line."""
    lines = [f"k{level}: &k{level} [{', '.join([f'*k{level - 1}'] * 10)}]" for level in range(1, 12)]
    return "\n".join(["k0: &k0 [x, x]", *lines]).encode()


CASES: list[tuple[str, bytes, str]] = [
    # no text, no document
    ("empty", b"", "empty"),
    ("blank", b" \n\t\n", "empty"),
    ("invalid-utf-8", b'{"name": "caf\xe9", "jobs": []}', "not valid UTF-8"),
    ("utf-16", '{"jobs": []}'.encode("utf-16"), "not valid UTF-8"),
    ("nul-byte", b"name: a\x00b\njobs: []", "NUL"),
    ("json-syntax", b'{"name": "x",\n "jobs": [}', "not valid JSON"),
    ("json-trailing-comma", b'{"name": "x",\n "jobs": [],\n}', "not valid JSON"),
    ("yaml-syntax", b"name: x\njobs: [\n", "not valid YAML"),
    ("yaml-tab", b"name: x\n\tjobs: []\n", "not valid YAML"),
    ("top-level-list", b"[1, 2]", "expected a mapping"),
    ("top-level-text", b"just some words", "expected a mapping"),
    ("two-documents", b"name: x\n---\nname: y\n", "second document"),
    ("duplicate-key-json", b'{"name": "x", "name": "y", "jobs": []}', "occurs twice"),
    ("duplicate-key-yaml", b"name: x\njobs: []\nname: y\n", "occurs twice"),
    ("nan", b'{"estimate": NaN, "jobs": []}', "NaN"),
    ("infinity-json", b'{"estimate": 1e999, "jobs": []}', "too large"),
    ("infinity-yaml", b"estimate: .inf\njobs: [{command: [x]}]", "between 0 and 366 days"),
    ("lone-surrogate", b'{"name": "\\ud800", "jobs": []}', "surrogate"),
    # hostile documents
    ("alias-bomb", alias_bomb(), "once aliases are expanded"),
    ("alias-to-itself", b"jobs: &a [*a]", "refers to itself"),
    ("alias-to-nothing", b"jobs: *a", "never defined"),
    ("deep-json", b'{"jobs": ' + b"[" * 100_000, "nested more than 50 levels"),
    ("deep-yaml", b"jobs: " + b"[" * 100_000, "nested more than 50 levels"),
    ("deep-yaml-blocks", b"- " * 20_000 + b"x", "nested more than 50 levels"),
    ("deep-2018", of_2018('"data": ' + "[" * 100_000), "nested more than 50 levels"),
    ("python-tag", b"jobs: !!python/object/apply:os.system [echo]", "not allowed"),
    ("huge-integer", b'{"priority": ' + b"9" * 10_000 + b', "jobs": []}', "very many digits"),
    ("large-integer", b'{"priority": ' + b"9" * 99 + b', "jobs": [{"command": ["x"]}]}', "expected at most 1000"),
    # unknown keys and wrong kinds
    ("unknown-key", native(deadlin="90m"), "did you mean"),
    ("unknown-key-of-job", job(comand=["x"]), "did you mean"),
    ("unknown-key-of-limits", native(containers={"minimum": 1}), "unknown key"),
    ("name-is-a-number", native(name=7), "put it in quotes"),
    ("containers-is-a-number", native(containers=4), "expected a mapping"),
    ("containers-is-text", native(containers={"max": "four"}), "expected a whole number"),
    ("containers-is-true", native(containers={"max": True}), "expected a whole number"),
    ("jobs-is-a-mapping", native(jobs={"id": "a"}), "expected a list of jobs"),
    ("job-is-a-number", native(jobs=[5]), "expected a mapping"),
    ("no-jobs", b"name: x\n", "expected jobs, or a sweep"),
    ("empty-jobs", native(jobs=[]), "at least one job"),
    ("jobs-and-sweep", native(sweep={"repeat": 2, "job": {"command": ["x"]}}), "not both"),
    # notify
    ("notify-is-a-number", native(notify=7), "expected a URL, or"),
    ("notify-is-a-list", native(notify=["https://hooks.example"]), "expected a URL, or"),
    ("notify-is-no-url", native(notify="me@example.org"), "expected a URL such as"),
    ("notify-is-a-mail-url", native(notify="mailto:me@example.org"), "expected a URL such as"),
    ("notify-is-a-file", native(notify="file:///etc/passwd"), "expected a URL such as"),
    ("notify-without-url", native(notify={"on": ["failed"]}), "required, but missing"),
    ("notify-with-password", native(notify="https://u:p@hooks.example/"), "cannot hold a user or a password"),
    ("notify-with-odd-password", native(notify="https://hooks.example\\@evil.example/"), "cannot hold a user"),
    ("notify-of-something-else", native(notify={"url": "https://hooks.example", "on": ["at_risk"]}), "did you mean"),
    ("notify-of-a-word", native(notify={"url": "https://hooks.example", "on": "failed"}), "expected a list"),
    ("notify-of-nothing", native(notify={"url": "https://hooks.example", "on": []}), "at least 1 in this list"),
    ("notify-unknown-key", native(notify={"url": "https://hooks.example", "when": []}), "unknown key"),
    ("notify-very-long", native(notify="https://hooks.example/" + "x" * 2000), "at most 2,000 characters"),
    # commands
    ("command-is-text", job(command="python3 run.py"), "write [python3, run.py]"),
    ("command-is-empty", job(command=[]), "at least 1 in this list"),
    ("command-has-null", job(command=["x", None]), "expected text, got nothing"),
    ("command-has-nul", job(command=["x\x00y"]), "NUL"),
    ("command-without-program", job(command=[""]), "names the program"),
    ("command-and-tasks", job(tasks=[["x"]]), "not both"),
    ("no-command", native(jobs=[{"id": "a"}]), "needs a command or tasks"),
    ("empty-tasks", native(jobs=[{"id": "a", "tasks": []}]), "at least 1 in this list"),
    ("empty-shell", job(command={"shell": ""}), "expected some text"),
    # absurd values
    ("negative-deadline", native(deadline="-5m"), "expected a duration"),
    ("zero-deadline", native(deadline=0), "after the start"),
    ("deadline-of-a-thousand-years", native(deadline="365000d"), "366 days"),
    ("deadline-without-zone", native(deadline="2030-12-31T18:00:00"), "time zone"),
    ("deadline-no-date", native(deadline="2030-13-31T18:00:00Z"), "expected a date and time"),
    ("zero-estimate", native(estimate="0s"), "more than 0"),
    ("negative-timeout", native(timeout=-1), "between 0 and 366 days"),
    ("zero-task-timeout", job(timeout=0), "more than 0"),
    ("min-above-max", native(containers={"min": 5, "max": 4}), "min 5 is more than max 4"),
    ("too-many-containers", native(containers={"max": 10_001}), "at most 10000"),
    ("reserve-above-limit", native(resources={"cpu": {"reserve": 2, "limit": 1}}), "more than limit"),
    ("memory-above-limit", native(resources={"memory": {"reserve": "2GiB", "limit": "1GiB"}}), "more than limit"),
    ("memory-of-no-size", native(resources={"memory": {"limit": "lots"}}), "expected a size"),
    ("zero-attempts", native(on_failure={"max_attempts": 0}), "at least 1"),
    ("unknown-action", native(on_failure="cancle"), "did you mean"),
    # ids, paths, names
    ("duplicate-ids", native(jobs=[*JOBS, {"command": ["x"]}, *JOBS]), "jobs[0] has the id"),
    ("id-is-a-path", native(jobs=[{"id": "../../etc/passwd", "command": ["x"]}]), "expected letters"),
    ("id-has-a-slash", native(jobs=[{"id": "a/b", "command": ["x"]}]), "expected letters"),
    ("id-of-the-post-command", native(jobs=[{"id": "@post", "command": ["x"]}]), "expected letters"),
    ("id-too-long", native(jobs=[{"id": "a" * 129, "command": ["x"]}]), "128 at most"),
    ("name-is-a-path", native(name="../x"), "expected letters"),
    ("input-absolute", job(inputs=["/etc/passwd"]), "absolute path"),
    ("input-outside", job(inputs=["data/../../x"]), "inside the working directory"),
    ("input-nul", job(inputs=["a\x00b"]), "NUL"),
    ("input-twice", job(inputs=["a", "a"]), "two inputs have the path"),
    ("output-outside", job(outputs=["../*.csv"]), "inside the working directory"),
    ("environment-name", native(environment={"1A": "x"}), "name of a variable"),
    ("environment-reserved", native(environment={"JQUEUER_JOB_ID": "x"}), "reserved"),
    ("environment-null", job(environment={"A": None}), "expected text, got nothing"),
    ("environment-list", job(environment={"A": ["x"]}), "expected text, got a list"),
    # policies
    ("unknown-policy", native(policy="deadline-papr"), "did you mean"),
    ("policy-name-and-url", native(policy={"name": "fixed", "url": "http://x/"}), "not both"),
    ("policy-url-of-a-file", native(policy={"url": "file:///etc/passwd"}), "expected a URL"),
    ("policy-unknown-fallback", native(policy={"url": "http://x/", "fallback": "none"}), "there is no policy"),
    # sweeps
    ("sweep-without-job", b'{"sweep": {"parameters": {"x": [1]}}}', "required, but missing"),
    ("sweep-of-nothing", sweep(parameters={}, job={"command": ["x"]}), "needs parameters"),
    ("sweep-unknown-placeholder", sweep(job={"command": ["run", "{{y}}"]}), "unknown placeholder"),
    ("sweep-too-large", sweep(parameters={"x": {"from": 1, "to": 10**9, "step": 1}}), "makes 1000000000 jobs"),
    ("sweep-far-too-large", sweep(parameters={"x": {"from": 0, "to": 1, "step": 1e-300}}), "more than the"),
    ("sweep-endless", sweep(parameters={"x": {"from": 1, "to": 2, "step": 0}}), "step cannot be 0"),
    ("sweep-backwards", sweep(parameters={"x": {"from": 1, "to": 2, "step": -1}}), "leads away"),
    ("sweep-log-of-zero", sweep(parameters={"x": {"from": 0, "to": 2, "count": 3, "scale": "log"}}), "above 0"),
    ("sweep-zip-lengths", sweep(parameters={"x": [1], "y": [1, 2]}, combine="zip"), "equally many"),
    ("sweep-same-ids", sweep(job={"id": "run", "command": ["{{x}}"]}), "has this id already"),
    ("sweep-id-is-a-path", sweep(parameters={"x": ["../a"]}, job={"id": "r{{x}}", "command": ["x"]}), "in job 1"),
    (
        "sweep-output-outside",
        sweep(parameters={"x": [".."]}, job={"command": ["x"], "outputs": ["{{x}}/a"]}),
        "in job 1",
    ),
    ("sweep-csv-file", sweep(csv="table.csv"), "a file cannot be read here"),
    ("sweep-csv-ragged", sweep(csv={"text": "a,b\n1\n"}), "expected 2 cells"),
    ("sweep-csv-name-twice", sweep(csv={"text": "x,b\n1,2\n"}), "is a column of the table already"),
    # the dialects of 2018
    ("2018-missing-comma", of_2018('"experiment_deadline": "45#m"\n "jobs": []}'), "expected a comma"),
    ("2018-text-not-ended", of_2018('"command": ["x\n], "jobs": []}'), "not ended on its line"),
    ("2018-code", of_2018('"jobs": __import__("os").system("true")}'), "expected a value"),
    ("2018-duration", of_2018('"experiment_deadline": "soon", "jobs": [{"command": ["x"]}]}'), "such as 90#m"),
    ("2018-replicas", of_2018('"replica_min": "9", "jobs": [{"command": ["x"]}]}'), "replica_min 9 is more"),
    ("2018-no-command", of_2018('"jobs": [{"id": "a", "tasks": [{"id": "t", "data": ["x"]}]}]}'), "no command here"),
    ("2018-no-jobs", of_2018('"jobs": []}'), "at least one job"),
    ("2018-too-many", of_2018('"jobs": {"id": "a", "count": 999999999, "command": ["x"]}}'), "whole number between"),
    ("2018-no-image", b'{"replica_max": "4", "jobs": [{"command": ["x"]}]}', "image_url"),
]
