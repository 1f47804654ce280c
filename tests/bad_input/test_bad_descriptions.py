"""Every malformed description sent to the real system, as what it was meant to be; what else is sent goes on."""

from __future__ import annotations

import pytest
import requests

from tests.bad_input.descriptions import CASES
from tests.embedded.running import System

pytestmark = pytest.mark.usefixtures("nothing_lost")


@pytest.mark.parametrize(("data", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_it_is_refused_with_its_fault(system: System, data: bytes, said: str) -> None:
    headers = {"Content-Type": "application/yaml", "Authorization": f"Bearer {system.embedded.token}"}
    known = [experiment["id"] for experiment in system.api.experiments()]
    response = requests.post(f"{system.embedded.url}/api/v1/experiments", data=data, headers=headers, timeout=30)
    assert (response.status_code, said in response.text) == (422, True), response.text[:300]
    assert response.json()["faults"]
    assert [experiment["id"] for experiment in system.api.experiments()] == known
