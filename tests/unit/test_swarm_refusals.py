"""What cannot run on this Swarm is said before anything is started."""

from __future__ import annotations

from typing import Any

import pytest

from jqueuer.model import Experiment
from jqueuer.settings import Settings
from jqueuer_manager.adapters.swarm.facts import Machine
from jqueuer_manager.adapters.swarm.refusals import (
    ignored_when_adopted,
    misplaced,
    not_adoptable,
    not_allowed,
    too_small,
)

GIB = 1024**3


def machine(name: str, *, cores: float = 2, memory: int = 4 * GIB, usable: bool = True, gpu: str = "") -> Machine:
    attributes = {"node.hostname": name, "node.role": "worker", **({"node.labels.gpu": gpu} if gpu else {})}
    return Machine(
        id=name, name=name, lost=False, usable=usable, cpu_cores=cores, memory_bytes=memory, attributes=attributes
    )


def experiment(**values: Any) -> Experiment:
    return Experiment.model_validate({"image": "i", **values})


@pytest.mark.parametrize("source", ["/data", "/data/", "scratch"])
def test_mounts_on_the_list_are_allowed(source: str) -> None:
    settings = Settings(allowed_mounts=("/data", "scratch"))
    assert not_allowed(experiment(mounts=[{"source": source, "target": "/x"}]), settings) == []


@pytest.mark.parametrize("source", ["/database", "/", "/data/../etc", "/data/..", "/data/link", "other", "data"])
def test_other_mounts_are_refused_with_what_is_allowed(source: str) -> None:
    settings = Settings(allowed_mounts=("/data", "scratch"))
    [refusal] = not_allowed(experiment(mounts=[{"source": source, "target": "/x"}]), settings)
    assert repr(source) in refusal
    assert "allowed are /data, scratch" in refusal


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        (["/"], "nothing can be mounted at '/'"),
        (["/x", "/x/"], "two are at '/x'"),
        (["/tmp"], "jobs have their own directories"),
        (["/tmp/jqueuer"], "jobs have their own directories"),
    ],
)
def test_mounts_where_they_would_be_in_the_way_are_refused(targets: list[str], words: str) -> None:
    mounts = [{"source": "scratch", "target": target} for target in targets]
    [refusal] = not_allowed(experiment(mounts=mounts), Settings(allowed_mounts=("scratch",)))
    assert words in refusal


def test_a_mounted_tmp_is_allowed_where_jobs_work_elsewhere() -> None:
    description = experiment(mounts=["scratch:/tmp"], working_directory="/data")
    assert not_allowed(description, Settings(allowed_mounts=("scratch",))) == []


@pytest.mark.parametrize("image", ["a/../../info?x=", "a#b", "Busy/UPPER/x", "a//b", "a:", "-a", "a@sha256:12"])
def test_only_what_docker_takes_for_an_image_is_one(image: str) -> None:
    with pytest.raises(ValueError, match="image"):
        experiment(image=image)


@pytest.mark.parametrize("image", ["busybox", "Registry.example:5000/group/tool:1.2", f"a/b@sha256:{'0' * 64}", "a__b"])
def test_references_of_every_form_are_images(image: str) -> None:
    assert experiment(image=image).image == image


def test_nothing_is_allowed_unless_somebody_says_so() -> None:
    description = experiment(mounts=["/data:/x"], networks=["lan"])
    mount, network = not_allowed(description, Settings())
    assert "none is" in mount
    assert "JQUEUER_ALLOWED_NETWORKS" in network
    assert not_allowed(description, Settings(allowed_mounts=("/data",), allowed_networks=("lan",))) == []


def test_a_reservation_that_no_node_has_is_refused_with_the_largest() -> None:
    machines = [machine("small", memory=GIB), machine("large")]
    assert misplaced(experiment(resources={"cpu": {"reserve": 2}, "memory": {"reserve": "4GiB"}}), machines) == ([], [])
    [refusal], notices = misplaced(experiment(resources={"memory": {"reserve": "5GiB"}}), machines)
    assert "5GiB" in refusal
    assert "large, has 2 cores and 4GiB" in refusal
    assert notices == []


def test_less_than_swarm_takes_is_refused() -> None:
    small = {"cpu": {"reserve": 0.0001, "limit": 1}, "memory": {"limit": "1MiB"}}
    cores, memory = too_small(experiment(resources=small))
    assert "0.0001 cores" in cores
    assert "1MiB of memory" in memory
    assert too_small(experiment(resources={"cpu": {"reserve": 0.001}, "memory": {"limit": "4MiB"}})) == []


def test_only_nodes_that_the_placement_allows_count() -> None:
    machines = [machine("plain", cores=16), machine("graphics", gpu="true")]
    gpu = {"placement": ["node.labels.gpu==true"]}
    assert misplaced(experiment(**gpu), machines) == ([], [])
    [refusal], _ = misplaced(experiment(**gpu, resources={"cpu": {"reserve": 8}}), machines)
    assert "graphics, has 2 cores" in refusal
    [refusal], _ = misplaced(experiment(placement=["node.labels.gpu==no"]), machines)
    assert "this Swarm has graphics, plain" in refusal


def test_malformed_constraints_are_all_named() -> None:
    refusals, _ = misplaced(experiment(placement=["node.labels.gpu=true", "gpu==true"]), [machine("plain")])
    assert ["'node.labels.gpu=true'" in refusals[0], "'gpu==true'" in refusals[1]] == [True, True]


def test_nodes_that_are_away_only_make_it_wait() -> None:
    machines = [machine("graphics", gpu="true", usable=False), machine("plain")]
    refusals, [notice] = misplaced(experiment(placement=["node.labels.gpu==true"]), machines)
    assert refusals == []
    assert "graphics" in notice


def test_only_a_service_that_its_owner_has_opened_is_adopted() -> None:
    def service(**labels: str) -> dict[str, Any]:
        return {"Spec": {"Name": "mine", "Labels": labels}}

    assert not_adoptable("mine", service(**{"jqueuer.adopt": "true"})) == ""
    assert "start it first" in not_adoptable("mine", None)
    assert "docker service update --label-add jqueuer.adopt=true mine" in not_adoptable("mine", service())
    ours = service(**{"jqueuer.adopt": "true", "jqueuer.experiment": "e1"})
    assert "another experiment" in not_adoptable("mine", ours)


def test_what_has_no_effect_on_an_adopted_service_is_named() -> None:
    assert ignored_when_adopted(Experiment(container_name="mine")) == []
    [notice] = ignored_when_adopted(Experiment(container_name="mine", user="me", networks=("lan",)))
    assert notice.startswith("user, networks: without effect")
