"""Which URLs experiments may name: no spelling gets around the list."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from jqueuer.model import Experiment, Notify, Policy
from jqueuer.notifying import new_secret
from jqueuer.settings import Settings
from jqueuer_manager.adapters.urls import refused_urls, url_allowed

SIGNING = SecretStr(new_secret())


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*", "http://127.0.0.1:9/x"),
        ("*", "https://hooks.example/a/../b"),
        ("https://hooks.example/*", "https://hooks.example/jqueuer"),
        ("https://hooks.example/*", "https://hooks.example"),
        ("https://hooks.example/*", "HTTPS://Hooks.Example:443/jqueuer"),
        ("https://hooks.example/*", "https://hooks.example/jqueuer?to=ops#part"),
        ("https://hooks.example:8443/*", "https://hooks.example:8443/jqueuer"),
        ("https://*.example/*", "https://hooks.example/jqueuer"),
        ("http://10.0.0.[12]/*", "http://10.0.0.2:80/"),
        ("http://[[]::1]:9000/*", "http://[::1]:9000/x"),
        ("https://hooks.example/a/*", "https://hooks.example/a/b..c"),
        ("https://hooks.example/a/*", "https://hooks.example/a/100%2525;x=.."),
    ],
)
def test_a_pattern_matches_what_would_be_requested(pattern: str, url: str) -> None:
    assert url_allowed(url, (pattern,))


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://hooks.example/*", "http://hooks.example/jqueuer"),
        ("https://hooks.example/*", "https://hooks.example:8443/jqueuer"),
        ("https://hooks.example/*", "https://hooks.example.org/jqueuer"),
        ("https://hooks.example/*", "https://evil.example/https://hooks.example/"),
        ("https://hooks.example/*", "https://evil.example?https://hooks.example/"),
        ("https://hooks.example/*", "https://hooks.example@evil.example/"),
        ("https://hooks.example/*", "https://evil.example\\@hooks.example/"),
        ("https://hooks.example/*", "https://evil.example#@hooks.example/"),
        ("https://hooks.example/a/*", "https://hooks.example/a/../b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/%2e%2e/b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/..%2fb"),
        ("https://hooks.example/a/*", "https://hooks.example/a/..\\b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/..;/b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/..;x=1/b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/x;..%2f../b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/%2e%2e%3b/b"),
        ("https://hooks.example/a/*", "https://hooks.example/a/%252e%252e/b"),
        ("https://hooks.example/a/*", f"https://hooks.example/a/%{'25' * 1000}41"),
        ("*", "https://user:password@hooks.example/"),
        ("*", "ftp://hooks.example/"),
        ("*", "file:///etc/passwd"),
    ],
)
def test_nothing_else_does(pattern: str, url: str) -> None:
    assert not url_allowed(url, (pattern,))


def test_what_is_not_allowed_is_refused_with_what_is_and_which_setting_says_so() -> None:
    settings = Settings(allowed_urls=("https://hooks.example/*",), webhook_secret=SIGNING)
    naming = Experiment(
        notify=Notify(url="https://hooks.example/x"), policy=Policy(url="http://169.254.169.254/latest")
    )
    assert refused_urls(naming, settings) == [
        "policy.url: http://169.254.169.254/latest is not allowed here: "
        "allowed are https://hooks.example/* (JQUEUER_ALLOWED_URLS)"
    ]
    (refusal,) = refused_urls(naming, settings.model_copy(update={"allowed_urls": ("https://h/*",)}))[1:]
    assert refusal.startswith("notify.url: https://hooks.example/x is not allowed here")


def test_an_empty_list_allows_none_and_the_default_all() -> None:
    naming = Experiment(notify=Notify(url="http://anywhere.example"))
    (refusal,) = refused_urls(naming, Settings(allowed_urls=(), webhook_secret=SIGNING))
    assert "allowed are none (JQUEUER_ALLOWED_URLS)" in refusal
    assert refused_urls(naming, Settings(webhook_secret=SIGNING)) == []
    assert refused_urls(Experiment(), Settings(allowed_urls=())) == []


def test_a_policy_service_with_a_password_in_its_url_is_refused_without_repeating_it() -> None:
    (refusal,) = refused_urls(Experiment(policy=Policy(url="http://u:hunter2@policy.example/")), Settings())
    assert refusal.startswith("policy.url: a URL with a user or a password in it is not taken")
    assert "hunter2" not in refusal


def test_without_a_secret_nobody_can_be_notified() -> None:
    (refusal,) = refused_urls(Experiment(notify=Notify(url="http://anywhere.example")), Settings())
    assert refusal.startswith("notify: this manager notifies nobody")
    assert "JQUEUER_WEBHOOK_SECRET" in refusal
