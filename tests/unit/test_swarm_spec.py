"""From a description to a Swarm service, number for number."""

from __future__ import annotations

from jqueuer.model import Experiment, Mount, Resources
from jqueuer.settings import Settings
from jqueuer_manager.adapters.swarm.spec import SLEEP, service_spec

SETTINGS = Settings(drain_seconds="2h")


def of(description: Experiment) -> dict[str, object]:
    return service_spec("e1", description, 3, SETTINGS, image="tools:2@sha256:00")


def test_a_plain_experiment_is_a_sleeping_shell_that_minds_no_stop_signal_for_as_long_as_its_job_may_take() -> None:
    assert of(Experiment(image="tools:2")) == {
        "Name": "jqueuer-e1",
        "Labels": {"jqueuer.experiment": "e1"},
        "TaskTemplate": {
            "ContainerSpec": {
                "Image": "tools:2@sha256:00",
                "Labels": {"jqueuer.experiment": "e1"},
                "Init": True,
                "StopSignal": "SIGURG",
                "StopGracePeriod": 7_200_000_000_000,
                "Command": list(SLEEP),
                "Healthcheck": {"Test": ["NONE"]},
            },
            "RestartPolicy": {"Condition": "any", "Delay": 1_000_000_000, "MaxAttempts": 0},
        },
        "Mode": {"Replicated": {"Replicas": 3}},
        "EndpointSpec": {"Mode": "dnsrr"},
    }


def test_the_image_may_keep_its_own_command_and_a_description_may_give_one() -> None:
    own = of(Experiment(image="i", container_command="@image"))
    assert "Command" not in own["TaskTemplate"]["ContainerSpec"]  # type: ignore[index]
    given = of(Experiment(image="i", container_command=("serve", "--quiet")))
    assert given["TaskTemplate"]["ContainerSpec"]["Command"] == ["serve", "--quiet"]  # type: ignore[index]


def test_resources_user_mounts_networks_and_placement_are_passed_on() -> None:
    description = Experiment(
        image="i",
        user="1000:1000",
        resources=Resources.model_validate({"cpu": {"reserve": 0.1, "limit": 1.5}, "memory": {"limit": "200MiB"}}),
        mounts=(Mount(source="/data", target="/in", read_only=True), Mount(source="scratch", target="/tmp/scratch")),
        networks=("lan",),
        placement=("node.role==worker",),
    )
    task = of(description)["TaskTemplate"]
    assert isinstance(task, dict)
    assert task["ContainerSpec"]["User"] == "1000:1000"
    assert task["ContainerSpec"]["Mounts"] == [
        {"Type": "bind", "Source": "/data", "Target": "/in", "ReadOnly": True},
        {"Type": "volume", "Source": "scratch", "Target": "/tmp/scratch", "ReadOnly": False},
    ]
    assert task["Resources"] == {
        "Reservations": {"NanoCPUs": 100_000_000},
        "Limits": {"NanoCPUs": 1_500_000_000, "MemoryBytes": 209_715_200},
    }
    assert task["Placement"] == {"Constraints": ["node.role==worker"]}
    assert task["Networks"] == [{"Target": "lan"}]
