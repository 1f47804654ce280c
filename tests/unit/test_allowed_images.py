"""Which images experiments may run: no spelling of a reference gets around the list."""

from __future__ import annotations

import pytest

from jqueuer.model import Experiment
from jqueuer.settings import Settings
from jqueuer_manager.adapters.swarm.images import image_allowed
from jqueuer_manager.adapters.swarm.refusals import not_allowed

DIGEST = f"sha256:{'0' * 64}"
OTHER = f"sha256:{'1' * 64}"


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("*", "busybox"),
        ("*", f"registry.example:5000/a/b@{DIGEST}"),
        ("busybox", "busybox"),
        ("busybox", "busybox:1.36"),
        ("busybox", "docker.io/library/busybox"),
        ("busybox", "index.docker.io/library/busybox"),
        ("busybox", f"busybox@{DIGEST}"),
        ("busybox", f"busybox:1.36@{DIGEST}"),
        ("docker.io/library/*", "busybox"),
        ("docker.io/library/busybox", "busybox:1"),
        ("busybox:latest", "busybox"),
        ("busybox:1.*", "busybox:1.36"),
        (f"busybox@{DIGEST}", f"busybox@{DIGEST}"),
        (f"busybox@{DIGEST}", f"busybox:1.36@{DIGEST}"),
        ("group/*", "group/tool:2"),
        ("registry.example/group/*", "registry.example/group/sub/tool"),
        ("registry.example:5000/*", "Registry.example:5000/tool"),
        ("localhost/tool", "localhost/tool:1"),
        ("*/tool", "registry.example/group/tool"),
        ("*:stable", "registry.example/group/tool:stable"),
        ("tool-[ab]", "tool-a"),
    ],
)
def test_a_pattern_matches_what_docker_takes_for_the_same(pattern: str, image: str) -> None:
    assert image_allowed(image, (pattern,))


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("busybox", "alpine"),
        ("busybox", "busybox.example/busybox"),
        ("busybox*", "busybox.example/tool"),
        ("busybox", "evil/busybox"),
        ("busybox", "evil.example/library/busybox"),
        ("docker.io/library/*", "group/tool"),
        ("docker.io/library/*", "docker.io.example/library/busybox"),
        ("group/*", "evil.example/group/tool"),
        ("registry.example/*", "registry.example.org/tool"),
        ("registry.example/*", "registry.example:5000/tool"),
        ("registry.example/*", "other/registry.example/tool"),
        ("busybox:1.36", "busybox"),
        ("busybox:1.36", "busybox:1.37"),
        ("busybox:1.36", f"busybox:1.36@{OTHER}"),
        (f"busybox@{DIGEST}", f"busybox@{OTHER}"),
        (f"busybox@{DIGEST}", "busybox"),
        ("Busybox", "busybox"),
    ],
)
def test_nothing_else_does(pattern: str, image: str) -> None:
    assert not image_allowed(image, (pattern,))


def test_an_image_that_is_not_allowed_is_refused_with_what_is_and_which_setting_says_so() -> None:
    settings = Settings(allowed_images=("busybox", "registry.example/*"))
    assert not_allowed(Experiment(image="registry.example/tool"), settings) == []
    assert not_allowed(Experiment(image="alpine:3"), settings) == [
        "image 'alpine:3' is not allowed here: allowed are busybox, registry.example/* (JQUEUER_ALLOWED_IMAGES)"
    ]


def test_an_empty_list_allows_no_image() -> None:
    [refusal] = not_allowed(Experiment(image="busybox"), Settings(allowed_images=()))
    assert refusal.endswith("none is; who runs the manager allows some by JQUEUER_ALLOWED_IMAGES")


def test_all_images_are_allowed_unless_somebody_says_otherwise() -> None:
    assert not_allowed(Experiment(image="any.example/thing"), Settings()) == []


@pytest.mark.parametrize("image", ["0" * 64, DIGEST])
def test_an_id_is_no_name_and_names_any_image_that_a_node_has(image: str) -> None:
    """Docker takes both for the id of a local image, be it the private one of somebody else."""
    assert Experiment(image=image).image == image
    assert image_allowed(image, ("busybox", "*"))
    assert not image_allowed(image, ("docker.io/library/*", "sha256", "*/*", "0*"))
