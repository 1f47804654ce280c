"""What happens to one job in its container, end to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jqueuer.adapters.celery_queue import CeleryJobQueue, celery_app
from jqueuer.signing import MessageSigner
from tests.embedded.running import System

Wait = Callable[..., None]


def test_pre_job_tasks_and_post_job_run_in_order_in_one_place(system: System) -> None:
    summary = system.run(
        """
        pre_job: {shell: "echo pre > trace"}
        post_job: {shell: "cat trace; echo post"}
        jobs:
          - id: a
            tasks:
              - {shell: "echo one >> trace"}
              - {shell: "echo two >> trace"}
        """
    )
    assert summary["state"] == "accomplished"
    assert system.log(summary["experiment_id"], "a") == "pre\none\ntwo\npost\n"
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert [result["role"] for result in attempt["commands"]] == ["pre-job", "task 1", "task 2", "post-job"]


def test_a_failed_task_fails_the_job_skips_the_rest_and_still_cleans_up(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        post_job: {shell: "echo cleaned up; exit 9"}
        jobs:
          - id: a
            tasks: [[sh, -c, exit 3], [echo, never]]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert (summary["state"], summary["jobs"]["failed"]) == ("failed", 1)
    assert (attempt["outcome"], attempt["exit_code"]) == ("failed", 3)
    assert attempt["reason"] == "task 1 ended with status 3"
    assert [(result["role"], result["exit_code"]) for result in attempt["commands"]] == [("task 1", 3), ("post-job", 9)]
    assert system.log(summary["experiment_id"], "a") == "cleaned up\n"


def test_a_requeued_job_runs_before_those_that_wait_for_their_first_attempt(
    system: System, tmp_path: Path, eventually: Wait
) -> None:
    begun = f"echo $JQUEUER_JOB_ID $JQUEUER_ATTEMPT >> {tmp_path}/begun"
    experiment_id = system.submit(
        f"""
        containers: {{max: 1}}
        on_failure: {{action: requeue, backoff: 1s}}
        jobs:
          - {{id: fails, command: {{shell: "{begun}; test $JQUEUER_ATTEMPT -gt 1"}}}}
          - {{id: lasts, command: {{shell: "{begun}; until test -e {tmp_path}/end; do sleep 0.05; done"}}}}
          - {{id: waits, command: {{shell: "{begun}"}}}}
          - {{id: waits-too, command: {{shell: "{begun}"}}}}
        """
    )
    broker_url = f"redis+socket://{system.embedded.state_dir}/store/valkey.sock?virtual_host=1"
    queue = CeleryJobQueue(celery_app(broker_url), MessageSigner("looks only"))
    eventually(lambda: (tmp_path / "begun").exists() and "lasts" in (tmp_path / "begun").read_text())
    eventually(lambda: queue.length(experiment_id) == 3)
    (tmp_path / "end").touch()
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "accomplished"
    assert (tmp_path / "begun").read_text().splitlines() == ["fails 1", "lasts 1", "fails 2", "waits 1", "waits-too 1"]


def test_a_failing_post_job_leaves_the_job_accomplished(system: System) -> None:
    summary = system.run(
        """
        post_job: ["false"]
        jobs: [{id: a, command: ["true"]}]
        """
    )
    assert summary["state"] == "accomplished"


def test_a_failing_pre_job_keeps_the_tasks_from_running(system: System) -> None:
    summary = system.run(
        """
        pre_job: ["false"]
        on_failure: {action: cancel}
        jobs: [{id: a, command: [echo, never]}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert attempt["reason"] == "pre-job ended with status 1"
    assert system.log(summary["experiment_id"], "a") == ""


def test_a_failed_job_is_tried_again_until_it_succeeds(system: System, tmp_path: Path) -> None:
    summary = system.run(
        f"""
        on_failure: {{action: requeue, max_attempts: 5}}
        jobs:
          - id: a
            command: {{shell: 'echo x >> {tmp_path}/tries; test "$(wc -l < {tmp_path}/tries)" -ge 3'}}
        """
    )
    outcomes = [attempt["outcome"] for attempt in system.attempts(summary["experiment_id"], "a")]
    assert (summary["state"], outcomes) == ("accomplished", ["failed", "failed", "accomplished"])


def test_only_the_exit_codes_named_are_worth_another_attempt(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: requeue, max_attempts: 3, exit_codes: [75]}
        jobs:
          - {id: temporary, command: [sh, -c, exit 75]}
          - {id: permanent, command: [sh, -c, exit 1]}
        """
    )
    experiment_id = summary["experiment_id"]
    assert len(system.attempts(experiment_id, "temporary")) == 3
    assert len(system.attempts(experiment_id, "permanent")) == 1


def test_a_time_out_ends_the_command_and_is_told_apart(system: System) -> None:
    summary = system.run(
        """
        timeout: 300ms
        on_failure: {action: cancel}
        jobs: [{id: a, command: [sleep, "1000"]}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert (attempt["outcome"], attempt["reason"]) == ("timed-out", "task 1: timed out after 0.3 s")


def test_a_command_that_is_not_there_says_so(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: [no-such-program]}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert attempt["reason"] == "task 1: command not found: 'no-such-program'"


def test_a_job_sees_its_own_environment_and_none_of_our_settings(system: System) -> None:
    summary = system.run(
        """
        environment: {COLOUR: red, SIZE: big}
        jobs: [{id: a, environment: {COLOUR: blue}, command: [env]}]
        """
    )
    seen = dict(line.split("=", 1) for line in system.log(summary["experiment_id"], "a").splitlines() if "=" in line)
    assert (seen["COLOUR"], seen["SIZE"]) == ("blue", "big")
    assert (seen["JQUEUER_JOB_ID"], seen["JQUEUER_ATTEMPT"]) == ("a", "1")
    assert not {"JQUEUER_STORE_URL", "JQUEUER_BROKER_URL"} & seen.keys()


def test_no_job_sees_the_files_of_the_one_before(system: System) -> None:
    summary = system.run(
        """
        jobs:
          - {id: a, command: {shell: "mkdir -p deep && touch mine deep/mine .hidden"}}
          - {id: b, command: {shell: "ls -A"}}
        """
    )
    assert system.log(summary["experiment_id"], "b") == ""


def test_outputs_are_collected_with_their_checksums_before_post_job_cleans_up(system: System, tmp_path: Path) -> None:
    summary = system.run(
        """
        post_job: {shell: "rm -rf *"}
        outputs: ["*.txt", "deep/**/*.dat"]
        jobs:
          - id: a
            command: {shell: "mkdir -p deep/er; echo one > r.txt; echo two > deep/er/x.dat; echo no > other"}
        """
    )
    fetched = list(system.api.download(summary["experiment_id"], tmp_path))
    assert {path.relative_to(tmp_path).as_posix(): path.read_text() for path in fetched} == {
        "a/r.txt": "one\n",
        "a/deep/er/x.dat": "two\n",
    }


def test_an_output_that_was_not_made_fails_the_job(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: ["true"], outputs: [result.json]}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert attempt["reason"] == "no file matched the output 'result.json'"


def test_a_link_out_of_the_working_directory_is_no_output(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: [ln, -s, /etc/passwd, result], outputs: [result]}]
        """
    )
    assert summary["state"] == "failed"


def test_a_large_log_is_bounded_and_keeps_its_beginning_and_end(system: System) -> None:
    summary = system.run(
        """
        jobs: [{id: a, command: {shell: "echo first; head -c 20000000 /dev/zero; echo; echo last"}}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    log = system.log(summary["experiment_id"], "a")
    assert (attempt["stdout"]["total_bytes"], attempt["stdout"]["truncated"]) == (20_000_012, True)
    assert len(log) < 1_100_000
    assert log.startswith("first\n")
    assert "bytes left out" in log
    assert log.endswith("\nlast\n")


def test_a_running_job_can_be_watched(system: System, eventually: Wait) -> None:
    experiment_id = system.submit(
        """
        jobs: [{id: a, command: {shell: "echo begun; sleep 1000"}}]
        """
    )
    eventually(lambda: system.counts(experiment_id)["running"] == 1)
    eventually(lambda: system.log(experiment_id, "a") == "begun\n")
    system.api.cancel(experiment_id)
    assert system.api.wait(experiment_id, poll_seconds=0.05)["state"] == "cancelled"


def test_the_post_command_sees_every_jobs_outputs_and_has_its_own(system: System, tmp_path: Path) -> None:
    summary = system.run(
        """
        containers: {max: 2}
        sweep:
          parameters: {n: [1, 2, 3]}
          job: {id: "n{{n}}", command: {shell: "echo {{n}} > r"}, outputs: [r]}
        post:
          command: {shell: "cat outputs/*/r | sort > all; echo collected"}
          outputs: [all]
        """
    )
    assert summary["state"] == "accomplished"
    list(system.api.download(summary["experiment_id"], tmp_path))
    assert (tmp_path / "@post" / "all").read_text() == "1\n2\n3\n"
    assert system.log(summary["experiment_id"], "@post") == "collected\n"


def test_a_failing_post_command_fails_the_experiment_and_says_so(system: System) -> None:
    experiment_id = system.submit(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: ["true"]}]
        post: {command: [sh, -c, exit 4]}
        """
    )
    ended = system.api.wait(experiment_id, poll_seconds=0.05)
    assert (ended["state"], ended["jobs"]["accomplished"]) == ("failed", 1)
    assert "post command failed: task 1 ended with status 4" in ended["reason"]


def test_a_link_beside_its_target_is_an_output_too(system: System, tmp_path: Path) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: {shell: "echo one > result; ln -s result latest"}, outputs: ["*"]}]
        """
    )
    assert summary["state"] == "accomplished"
    fetched = sorted(system.api.download(summary["experiment_id"], tmp_path))
    assert [(path.name, path.read_text()) for path in fetched] == [("latest", "one\n"), ("result", "one\n")]


def test_an_output_whose_name_is_no_text_fails_the_job_and_keeps_its_log(system: System) -> None:
    summary = system.run(
        """
        on_failure: {action: cancel}
        jobs: [{id: a, command: {shell: 'echo said; touch "$(printf "\\377")"'}, outputs: ["*"]}]
        """
    )
    (attempt,) = system.attempts(summary["experiment_id"], "a")
    assert "is not text" in attempt["reason"]
    assert system.log(summary["experiment_id"], "a") == "said\n"


def test_a_failed_post_command_can_be_retried_alone(system: System, tmp_path: Path) -> None:
    summary = system.run(
        f"""
        on_failure: {{action: cancel}}
        jobs: [{{id: a, command: ["true"]}}]
        post: {{command: [test, -e, {tmp_path}/mended]}}
        """
    )
    assert summary["state"] == "failed"
    (tmp_path / "mended").touch()
    system.api.retry(summary["experiment_id"])
    assert system.api.wait(summary["experiment_id"], poll_seconds=0.05)["state"] == "accomplished"
    assert len(system.attempts(summary["experiment_id"], "a")) == 1
    assert len(system.attempts(summary["experiment_id"], "@post")) == 2
