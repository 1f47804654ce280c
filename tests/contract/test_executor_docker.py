"""What executors in containers of a real engine owe besides: users, memory, and the deaths of all that may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jqueuer.errors import ContainerGoneError
from jqueuer.model import Experiment
from jqueuer.settings import Settings
from jqueuer_agent.adapters.docker import DockerWorkplace
from jqueuer_agent.adapters.docker.per_exec import ExecExecutor
from jqueuer_agent.adapters.docker.resident import ResidentExecutor
from tests.contract.executors import Call, DockerBench, DockerRun, processes
from tests.contract.job_images import BARE, BUSYBOX, DEBIAN, JobImage
from tests.contract.test_executor import KINDS, OK, SECONDS, begin, outcome
from tests.lab.node import Node

Wait = Callable[..., None]


@pytest.fixture(params=list(KINDS))
def bench(request: pytest.FixtureRequest, job_node: Node) -> Iterator[DockerBench]:
    image, resident = KINDS[request.param]
    bench = DockerBench(request.param, job_node, image, image.start(job_node), resident)
    yield bench
    bench.container.remove(force=True)


@pytest.fixture(params=[name for name, (_, resident) in KINDS.items() if resident])
def resident(request: pytest.FixtureRequest, job_node: Node) -> Iterator[DockerBench]:
    image, _ = KINDS[request.param]
    bench = DockerBench(request.param, job_node, image, image.start(job_node), True)
    yield bench
    bench.container.remove(force=True)


def shell_line(bench: DockerBench, script: str) -> list[str]:
    return [*bench.shell, script.replace("@", bench.call)]


def test_a_command_killed_for_lack_of_memory_says_so(bench: DockerBench) -> None:
    result = begin(bench, [*bench.call.split(), "tail", "/dev/zero"]).result()
    assert outcome(result) == (None, signal.SIGKILL, "killed for lack of memory (limit 64MiB)")
    assert outcome(begin(bench, "kill -9 $$").result()) == (None, signal.SIGKILL, "")


def test_a_child_killed_for_lack_of_memory_is_told_where_the_command_fails(bench: DockerBench) -> None:
    result = begin(bench, "@tail /dev/zero; exit 3").result()
    words = "ended with status 3 after a process of it was killed for lack of memory (limit 64MiB)"
    assert outcome(result) == (3, None, words)
    assert outcome(begin(bench, "@tail /dev/zero; exit 0").result()) == OK


def test_commands_run_as_the_user_asked_for(bench: DockerBench) -> None:
    executor = bench.new_executor(user="1000:1001")
    run = DockerRun(executor, Call(shell_line(bench, "@id -u; @id -g"), {}, None, None))
    assert outcome(run.result()) == OK
    assert run.stream("stdout").kept == b"1000\n1001\n"


def test_another_users_processes_are_ended_too(bench: DockerBench, token: str, eventually: Wait) -> None:
    if bench.image is not BUSYBOX:
        pytest.skip("the image cannot become another user")
    run = begin(bench, f"(setsid su jobs -s /bin/sh -c 'sleep {token}' &); sleep {token}", timeout=1.0)
    eventually(lambda: len(processes(token)) == 2, SECONDS)
    assert run.result().problem == "timed out after 1 s"
    eventually(lambda: not processes(token), SECONDS)


def test_a_container_that_dies_takes_its_command_along(bench: DockerBench, token: str, eventually: Wait) -> None:
    run = begin(bench, f"@sleep {token}")
    eventually(lambda: processes(token), SECONDS)
    bench.container.kill()
    with pytest.raises(ContainerGoneError):
        run.result()
    with pytest.raises(ContainerGoneError):
        begin(bench, "exit 0").result()


def test_a_container_that_is_removed_is_gone(bench: DockerBench) -> None:
    bench.container.remove(force=True)
    with pytest.raises(ContainerGoneError):
        begin(bench, "exit 0").result()
    bench.container = bench.image.start(bench.node)


def test_an_engine_that_dies_takes_the_container_along(bench: DockerBench, token: str, eventually: Wait) -> None:
    """It is not given up before the engine is back and says so."""
    run = begin(bench, f"@sleep {token}")
    eventually(lambda: processes(token), SECONDS)
    bench.node.kill_engine()
    with pytest.raises(ContainerGoneError):
        run.result()
    bench.node.wait()
    assert not processes(token)


def test_what_an_earlier_agent_left_running_is_ended_first(bench: DockerBench, token: str, eventually: Wait) -> None:
    """The job may be given to us a second time; where it cannot be ended alone, its container is."""
    begin(bench, f"(@setsid @sleep {token} &); @sleep {token}")
    eventually(lambda: len(processes(token)) == 2, SECONDS)
    if bench.image is BARE:
        with pytest.raises(ContainerGoneError, match="earlier agent"):
            bench.new_executor()
    else:
        assert outcome(DockerRun(bench.new_executor(), Call(["true"], {}, None, None)).result()) == OK
    eventually(lambda: not processes(token), SECONDS)


def test_what_others_run_in_the_container_is_left_alone(resident: DockerBench, token: str, eventually: Wait) -> None:
    """A health check, or a person who looks around."""
    resident.container.exec_run(["sleep", token], detach=True)
    eventually(lambda: processes(token), SECONDS)
    assert outcome(begin(resident, "(setsid sleep 1000 &); exit 0").result()) == OK
    assert outcome(begin(resident, "sleep 1000", timeout=0.2).result())[2] == "timed out after 0.2 s"
    assert len(processes(token)) == 1


def test_a_command_may_kill_its_runner_and_nothing_of_it_stays(
    resident: DockerBench, token: str, eventually: Wait
) -> None:
    result = begin(resident, f"(setsid sleep {token} &); printf begun; kill -9 $PPID; sleep {token}").result()
    assert (result.exit_code, result.signal) == (None, None)
    assert result.problem == "the runner of the container's commands was killed while it ran"
    eventually(lambda: not processes(token), SECONDS)
    assert outcome(begin(resident, "exit 4").result()) == (4, None, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1])
def test_the_runner_survives_the_signals_that_commands_send_about(
    resident: DockerBench, number: signal.Signals
) -> None:
    assert outcome(begin(resident, f"kill -{number.value} $PPID; exit 6").result()) == (6, None, "")


def test_a_runner_that_died_between_two_commands_is_replaced(resident: DockerBench, eventually: Wait) -> None:
    run = begin(resident, "printf $PPID")
    assert outcome(run.result()) == OK
    inside = {int(row[1]) for row in resident.container.top()["Processes"]}
    for process in inside & set(processes("sh")):
        words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        if any(word.startswith(b"JQUEUER_RUNNER=") for word in words):
            os.kill(process, signal.SIGKILL)
    eventually(lambda: outcome(begin(resident, "exit 2").result()) == (2, None, ""), SECONDS)


def test_a_stopped_runner_does_not_save_its_command(resident: DockerBench, token: str, eventually: Wait) -> None:
    result = begin(resident, f"kill -STOP $PPID; sleep {token}", timeout=0.5).result()
    assert outcome(result) == (None, signal.SIGTERM, "timed out after 0.5 s")
    eventually(lambda: not processes(token), SECONDS)
    assert outcome(begin(resident, "exit 0").result()) == OK


@pytest.mark.parametrize(
    ("image", "runner", "kind"),
    [
        (BUSYBOX, "resident", ResidentExecutor),
        (DEBIAN, "resident", ResidentExecutor),
        (BUSYBOX, "exec", ExecExecutor),
        (BARE, "resident", ExecExecutor),
        (BARE, "exec", ExecExecutor),
    ],
)
def test_the_image_and_the_settings_decide_how_commands_are_run(
    job_node: Node, tmp_path: Path, image: JobImage, runner: str, kind: type
) -> None:
    container = image.start(job_node)
    try:
        workplace = DockerWorkplace(str(container.id)[:12], job_node.docker_url)
        executor, workspace, environment = workplace.open(
            Experiment(image=image.name), Settings(state_dir=tmp_path, runner=runner)
        )
        assert isinstance(executor, kind)
        assert environment == {}
        workspace.clear()
        argv = [*image.shell, "pwd"]
        run = DockerRun(executor, Call(argv, {}, workspace.directory, None))
        assert outcome(run.result()) == OK
        assert run.stream("stdout").kept.decode() == f"{workspace.directory}\n"
    finally:
        container.remove(force=True)


def test_a_workplace_in_a_dead_container_does_not_open(job_node: Node, tmp_path: Path) -> None:
    container = BUSYBOX.start(job_node)
    container.kill()
    workplace = DockerWorkplace(str(container.id)[:12], job_node.docker_url)
    with pytest.raises(ContainerGoneError):
        workplace.open(Experiment(image=BUSYBOX.name), Settings(state_dir=tmp_path))
    container.remove(force=True)
