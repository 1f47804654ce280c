"""Who is let in by the page, and who is not."""

from __future__ import annotations

import requests

from tests.browser.chromium import Browser
from tests.embedded.running import System


def test_a_stranger_is_asked_to_log_in_and_led_back_to_where_they_wanted_to(stranger: Browser, system: System) -> None:
    stranger.open("/submit")
    stranger.see("Log in", "main")
    assert stranger.path.startswith("/login")

    stranger.fill("#token", system.embedded.token)
    stranger.click("button[type=submit]", "Log in")

    stranger.see("Submit an experiment", "h1")
    assert stranger.path == "/submit"


def test_a_wrong_token_is_refused_with_a_sentence(stranger: Browser) -> None:
    stranger.open("/login")
    stranger.fill("#token", "jq_somebody-elses")
    stranger.click("button[type=submit]", "Log in")

    assert "token" in stranger.find("[role=alert]").text
    assert stranger.path.startswith("/login")


def test_the_session_cannot_be_read_by_scripts_and_does_not_tell_the_token(browser: Browser, system: System) -> None:
    assert browser.driver.execute_script("return document.cookie") == ""
    cookie = browser.driver.get_cookie("jqueuer_session")
    assert cookie is not None
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert system.embedded.token not in cookie["value"]


def test_who_logs_out_sees_nothing_any_more(browser: Browser) -> None:
    browser.open("/")
    browser.see("Experiments", "h1")
    browser.click("header button", "Log out")
    browser.see("Log in", "h1")

    browser.open("/")
    browser.see("Log in", "h1")


def test_who_is_logged_out_elsewhere_notices_it(browser: Browser, system: System) -> None:
    browser.open("/")
    browser.see("Experiments", "h1")
    cookie = browser.driver.get_cookie("jqueuer_session")
    assert cookie is not None
    requests.delete(f"{system.embedded.url}/api/v1/session", cookies={cookie["name"]: cookie["value"]}, timeout=10)

    browser.click("header a", "Submit")
    browser.click("header a", "Experiments")

    browser.see("Log in", "h1")


def test_a_viewer_is_offered_no_commands(stranger: Browser, system: System) -> None:
    token = system.api.make_token("eve", "viewer")["token"]
    experiment_id = system.submit("name: for all to see\njobs: [{command: [sleep, '600']}]")
    stranger.log_in(token)
    stranger.open(f"/experiments/{experiment_id}")
    stranger.see("for all to see", "h1")

    assert stranger.driver.find_elements("css selector", '[aria-label="Commands"]') == []
    system.api.cancel(experiment_id)
