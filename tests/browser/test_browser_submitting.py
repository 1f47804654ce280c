"""Submitting in the browser: nothing can be sent before it has been checked and quoted."""

from __future__ import annotations

from pathlib import Path

from tests.browser.chromium import Browser
from tests.embedded.running import System


def test_faults_are_listed_with_their_lines_and_nothing_can_be_submitted(browser: Browser) -> None:
    browser.open("/submit")
    browser.fill("#description", "name: wrong\ndeadlin: 5m\njobs:\ncommand: [true]")

    browser.see("line 2", "#check")
    browser.see("did you mean 'deadline'?", "#check")
    assert not browser.find("#submit").is_enabled()

    browser.click("#check button", "line 2")
    selected = (
        "const {value, selectionStart, selectionEnd} = document.querySelector('#description');"
        "return value.slice(selectionStart, selectionEnd)"
    )
    browser.wait(lambda: browser.driver.execute_script(selected) == "deadlin: 5m", "that line is selected")


def test_a_file_is_read_quoted_and_submitted_under_its_name(browser: Browser, system: System, tmp_path: Path) -> None:
    file = tmp_path / "from-a-file.yaml"
    file.write_text("deadline: 30s\ncontainers: {max: 2}\nestimate: 1s\njobs:\n  - command: ['true']\n")
    browser.open("/submit")
    browser.find(".drop")
    browser.driver.find_element("css selector", "#file").send_keys(str(file))

    browser.see("Yes, with 1 container", "#check")
    browser.click("#submit")

    browser.see("from-a-file", "h1")


def test_what_cannot_be_promised_is_said_before_it_is_sent(browser: Browser) -> None:
    browser.open("/submit")
    browser.fill("#description", "name: late\ndeadline: 10s\nestimate: 1h\njobs:\n- command: ['true']\n")

    browser.see("No, not as it is.", "#check")
    browser.see("the earliest deadline that can be kept", "#check")
    browser.find("#submit", "Submit all the same")


def test_a_form_writes_the_description(browser: Browser, system: System) -> None:
    browser.open("/submit")
    browser.click("button", "Form")
    browser.fill("#form-name", "by form")
    browser.fill("#form-command", "echo {{size}}")
    browser.fill('[aria-label="Name of parameter 1"]', "size")
    browser.fill('[aria-label="Values of parameter 1"]', "1..3")

    browser.see("3 jobs", "#check")
    browser.click("#submit")

    browser.see("by form", "h1")
    experiment_id = browser.path.removeprefix("/experiments/")
    system.api.wait(experiment_id, poll_seconds=0.05)
    assert system.log(experiment_id, "2") == "2\n"
