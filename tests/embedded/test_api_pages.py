"""The web page's own files: served to everybody, as they are, and nothing beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask
from werkzeug.test import Client as AppClient

from jqueuer_manager.api import create_app, pages
from jqueuer_manager.services import Services


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder like the page's, with some things in it that are nobody's business."""
    folder = tmp_path / "web"
    (folder / "vendor").mkdir(parents=True)
    for name in ("index.html", "app.js", "vendor/plot.js", "vendor/plot-1.6.31.js", "secret.py", ".env.txt"):
        (folder / name).write_text(f"// {name}")
    (tmp_path / "outside.txt").write_text("outside")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    return folder


@pytest.fixture
def site(folder: Path) -> AppClient:
    app = Flask("site", static_folder=None)
    app.register_blueprint(pages.blueprint(folder))
    return app.test_client()


@pytest.mark.parametrize("path", ["/", "/login", "/submit", "/tokens", "/experiments/t-1", "/experiments/t-1/jobs/a"])
def test_every_address_of_the_page_is_answered_with_the_page(site: AppClient, path: str) -> None:
    response = site.get(path)
    assert (response.status_code, response.text) == (200, "// index.html")
    assert response.content_type == "text/html; charset=utf-8"
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
    assert "unsafe" not in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/nothing.js",
        "/static/secret.py",
        "/static/.env.txt",
        "/static/link.txt",
        "/static/vendor",
        "/static/../outside.txt",
        "/static/..%2foutside.txt",
        "/static/vendor/..%5c..%5coutside.txt",
        "/static//etc/passwd.txt",
        "/static/a%00.txt",
        f"/static/{'a' * 3000}.txt",
    ],
)
def test_nothing_but_the_pages_own_files_is_served(site: AppClient, path: str) -> None:
    assert site.get(path).status_code in {308, 404}
    assert "outside" not in site.get(path, follow_redirects=True).text


def test_a_file_is_sent_again_only_when_it_has_changed(site: AppClient, folder: Path) -> None:
    first = site.get("/static/app.js")
    assert (first.content_type, first.headers["Cache-Control"]) == ("text/javascript; charset=utf-8", "no-cache")
    known = {"If-None-Match": first.headers["ETag"]}
    assert site.get("/static/app.js", headers=known).status_code == 304
    (folder / "app.js").write_text("// other")
    assert site.get("/static/app.js", headers=known).text == "// other"


def test_vendored_files_whose_name_says_their_version_are_kept_for_good(site: AppClient) -> None:
    assert "immutable" in site.get("/static/vendor/plot-1.6.31.js").headers["Cache-Control"]
    assert site.get("/static/vendor/plot.js").headers["Cache-Control"] == "no-cache"


def test_the_page_is_shown_to_whoever_has_not_logged_in_yet(services: Services) -> None:
    response = create_app(services).test_client().get("/")
    assert response.status_code == 200
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert "script-src 'self'" in response.headers["Content-Security-Policy"]
