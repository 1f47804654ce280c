"""Logs and outputs: whole, in ranges, page by page, and never outside the directory for downloads."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import requests

from jqueuer.client import ClientError
from jqueuer.client.downloads import DownloadError, inside, write_verified
from jqueuer.model import POST_JOB_ID
from jqueuer.records import LogRecord, OutputFile
from jqueuer.states import ExperimentState
from tests.embedded.api_manager import AS_ADMIN, Manager

LOG = bytes(range(256)) * 1000


@pytest.fixture(params=["inline", "stored"])
def log_url(manager: Manager, request: pytest.FixtureRequest) -> str:
    """The address of a log, kept in either of the two ways."""
    experiment_id = manager.submit_jobs(1)
    if request.param == "inline":
        record = LogRecord(total_bytes=len(LOG), inline=base64.b64encode(LOG).decode())
    else:
        record = LogRecord(total_bytes=len(LOG))
        manager.services.artifacts.write_log(experiment_id, "j0", 1, "stdout", 0, LOG)
    attempt = manager.run(experiment_id, "j0", stdout=record)
    return f"{manager.url}/api/v1/experiments/{experiment_id}/jobs/j0/attempts/{attempt}/stdout"


def test_a_log_is_read_whole(manager: Manager, log_url: str) -> None:
    response = manager.http.get(log_url, timeout=10)
    assert (response.status_code, response.content) == (200, LOG)
    assert response.headers["Accept-Ranges"] == "bytes"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=255990-", 255_990, 256_000),
        ("bytes=-5", 255_995, 256_000),
        ("bytes=5-999999999", 5, 256_000),
        ("bytes=-999999999", 0, 256_000),
    ],
)
def test_a_range_of_a_log_is_read(manager: Manager, log_url: str, asked: str, start: int, stop: int) -> None:
    response = manager.http.get(log_url, headers={"Range": asked}, timeout=10)
    assert response.status_code == 206
    assert response.content == LOG[start:stop]
    assert response.headers["Content-Range"] == f"bytes {start}-{stop - 1}/256000"


@pytest.mark.parametrize("asked", ["bytes=256000-", "bytes=999999999-999999999"])
def test_a_range_beyond_the_log_is_refused_with_its_size(manager: Manager, log_url: str, asked: str) -> None:
    response = manager.http.get(log_url, headers={"Range": asked}, timeout=10)
    assert (response.status_code, response.headers["Content-Range"]) == (416, "bytes */256000")
    assert response.json()["type"] == "urn:jqueuer:problem:range"


@pytest.mark.parametrize("asked", ["lines=1-2", "bytes=5-1", "bytes=a-b", "bytes=0-1,5-6"])
def test_a_range_that_cannot_be_served_is_answered_with_the_whole(manager: Manager, log_url: str, asked: str) -> None:
    response = manager.http.get(log_url, headers={"Range": asked}, timeout=10)
    assert (response.status_code, response.content) == (200, LOG)


def test_the_log_of_a_running_job_is_followed_from_where_one_left_off(manager: Manager) -> None:
    experiment_id = manager.submit_jobs(1)
    assert manager.services.ledger.claim(experiment_id, "j0", container="c", node="n") is not None

    def read(start: int) -> bytes:
        return b"".join(manager.api.log(experiment_id, "j0", 1, "stdout", start))

    assert read(0) == b""
    manager.services.artifacts.write_log(experiment_id, "j0", 1, "stdout", 0, b"one\n")
    assert read(0) == b"one\n"
    assert read(4) == b""
    manager.services.artifacts.write_log(experiment_id, "j0", 1, "stdout", 4, b"two\n")
    assert read(4) == b"two\n"


@pytest.mark.parametrize(
    "path",
    ["jobs/j9", "jobs/@post", "jobs/j0/attempts/1/stdout", "jobs/j0/attempts/0/stdout", "jobs/j0/attempts/x/stdout"],
)
def test_what_is_not_there_is_not_found(manager: Manager, path: str) -> None:
    experiment_id = manager.submit_jobs(1)
    response = manager.http.get(f"{manager.url}/api/v1/experiments/{experiment_id}/{path}", timeout=10)
    assert response.status_code in {404, 422}
    assert response.headers["Content-Type"] == "application/problem+json"


def with_outputs(manager: Manager, tmp_path: Path, jobs: int) -> str:
    """An experiment whose even jobs have two outputs each, and a post command with one."""
    experiment_id = manager.submit_jobs(jobs)
    for number in range(0, jobs, 2):
        kept = [
            manager.keep_output(tmp_path, experiment_id, f"j{number}", 1, path, f"{number} {path}".encode())
            for path in ("a.txt", "sub dir/ü#?.txt")
        ]
        manager.run(experiment_id, f"j{number}", outputs=tuple(kept))
    manager.post_command(experiment_id)
    table = manager.keep_output(tmp_path, experiment_id, POST_JOB_ID, 1, "all.csv", b"1,2\n")
    manager.run(experiment_id, POST_JOB_ID, outputs=(table,))
    return experiment_id


@pytest.mark.parametrize("limit", [1, 3, 4, 500])
def test_outputs_of_all_jobs_are_listed_page_by_page_and_the_post_commands_last(
    manager: Manager, tmp_path: Path, limit: int
) -> None:
    experiment_id = with_outputs(manager, tmp_path, 7)
    found, following = [], f"/api/v1/experiments/{experiment_id}/outputs?limit={limit}"
    while following:
        page = manager.http.get(manager.url + following, timeout=10).json()
        assert len(page["outputs"]) <= limit
        found += [(output["job"], output["path"]) for output in page["outputs"]]
        following = page["next"]
    jobs = [(f"j{number}", path) for number in (0, 2, 4, 6) for path in ("a.txt", "sub dir/ü#?.txt")]
    assert found == [*jobs, (POST_JOB_ID, "all.csv")]


def test_a_page_of_outputs_ends_after_many_jobs_without_any(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jqueuer_manager.api.outputs._JOBS_PER_PAGE", 3)
    experiment_id = with_outputs(manager, tmp_path, 7)
    page = manager.http.get(f"{manager.url}/api/v1/experiments/{experiment_id}/outputs", timeout=10).json()
    assert len(page["outputs"]) == 4
    assert len(list(manager.api.outputs(experiment_id))) == 9


def test_the_post_command_is_a_job_that_is_counted_nowhere(manager: Manager, tmp_path: Path) -> None:
    experiment_id = with_outputs(manager, tmp_path, 1)
    post = manager.api.job(experiment_id, POST_JOB_ID)
    assert (post["id"], post["state"]) == (POST_JOB_ID, "accomplished")
    assert post["attempts"][0]["outputs"][0]["href"].endswith("/jobs/@post/attempts/1/outputs/all.csv")
    assert manager.api.experiment(experiment_id)["jobs"]["total"] == 1


def test_one_output_is_fetched_as_an_attachment(manager: Manager, tmp_path: Path) -> None:
    experiment_id = with_outputs(manager, tmp_path, 1)
    output = list(manager.api.outputs(experiment_id))[1]
    response = manager.http.get(manager.url + output["href"], timeout=10)
    assert response.content.decode() == "0 sub dir/ü#?.txt"
    assert response.headers["Content-Type"] == "application/octet-stream"
    assert response.headers["Content-Disposition"] == "attachment; filename*=UTF-8''%C3%BC%23%3F.txt"
    assert response.headers["ETag"] == f'"{output["sha256"]}"'


@pytest.mark.parametrize(
    "path", ["b.txt", "../a.txt", "..%2f..%2f..%2fa.txt", "%2fetc%2fpasswd", "a.txt%00", "sub%20dir", "."]
)
def test_only_what_was_collected_can_be_fetched(manager: Manager, tmp_path: Path, path: str) -> None:
    """No path is ever looked up in the file system unless the attempt has an output of that very name."""
    experiment_id = with_outputs(manager, tmp_path, 1)
    url = f"{manager.url}/api/v1/experiments/{experiment_id}/jobs/j0/attempts/1/outputs/{path}"
    request = requests.Request("GET", url, headers=AS_ADMIN).prepare()
    request.url = url
    assert manager.http.send(request, timeout=10).status_code in {404, 422}


def test_downloads_are_laid_out_by_job_and_verified(manager: Manager, tmp_path: Path) -> None:
    experiment_id = with_outputs(manager, tmp_path, 3)
    target = tmp_path / "results"
    paths = list(manager.api.download(experiment_id, target))
    assert [str(path.relative_to(target)) for path in paths] == [
        "j0/a.txt",
        "j0/sub dir/ü#?.txt",
        "j2/a.txt",
        "j2/sub dir/ü#?.txt",
        "@post/all.csv",
    ]
    assert (target / "j2/sub dir/ü#?.txt").read_text() == "2 sub dir/ü#?.txt"

    def only_of_post(output: dict[str, str]) -> tuple[str, ...] | None:
        return ("post", output["path"]) if output["job"] == POST_JOB_ID else None

    few = manager.api.download(experiment_id, tmp_path / "few", place=only_of_post)
    assert [str(path.relative_to(tmp_path)) for path in few] == ["few/post/all.csv"]


def test_a_download_is_not_repeated_for_what_is_there_and_repairs_what_is_not(manager: Manager, tmp_path: Path) -> None:
    experiment_id = with_outputs(manager, tmp_path, 1)
    target = tmp_path / "results"
    kept, spoilt, _ = list(manager.api.download(experiment_id, target))
    before = kept.stat().st_ino
    spoilt.write_text("half")
    list(manager.api.download(experiment_id, target))
    assert kept.stat().st_ino == before
    assert spoilt.read_text() == "0 sub dir/ü#?.txt"


def test_an_output_that_changed_since_is_refused_and_not_written(manager: Manager, tmp_path: Path) -> None:
    experiment_id = manager.submit_jobs(1)
    kept = manager.keep_output(tmp_path, experiment_id, "j0", 1, "a.txt", b"right")
    lie = OutputFile(path="a.txt", size_bytes=kept.size_bytes, sha256="0" * 64)
    manager.run(experiment_id, "j0", outputs=(lie,))
    with pytest.raises(DownloadError, match="SHA-256"):
        list(manager.api.download(experiment_id, tmp_path / "results"))
    assert [path for path in (tmp_path / "results").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("part", ["..", "../x", "/etc/passwd", "a/../../x", "", "a\0b", "..\\x"])
def test_a_path_that_leads_out_of_the_directory_is_refused(tmp_path: Path, part: str) -> None:
    with pytest.raises(DownloadError):
        inside(tmp_path, "job", part)
    with pytest.raises(DownloadError):
        inside(tmp_path, part, "file")


def test_a_symbolic_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "job").symlink_to(tmp_path)
    with pytest.raises(DownloadError, match="link"):
        inside(tmp_path / "results", "job", "file")


def test_a_download_that_breaks_off_leaves_no_file(tmp_path: Path) -> None:
    def broken() -> object:
        yield b"half"
        raise ClientError("gone")

    with pytest.raises(ClientError):
        write_verified(tmp_path / "x", broken(), "0" * 64)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_waiting_ends_once_the_experiment_is_settled(manager: Manager) -> None:
    """Its last containers are waited for: what they cost belongs to the summary."""
    experiment_id = manager.submit_jobs(1)

    def finish_at_the_second_look(experiment: dict[str, object]) -> None:
        looks.append(experiment["state"])
        if len(looks) == 2:
            manager.services.experiments.move(experiment_id, (ExperimentState.RUNNING,), ExperimentState.FAILED)
        if len(looks) == 4:
            manager.services.experiments.settle(experiment_id)

    looks: list[object] = []
    final = manager.api.wait(experiment_id, poll_seconds=0.01, watch=finish_at_the_second_look)
    assert (final["settled"], looks) == (True, ["running"] * 2 + ["failed"] * 3)
