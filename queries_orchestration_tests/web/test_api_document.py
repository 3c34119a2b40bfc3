"""What `docs/api.md` says of statuses is what the application answers."""

from __future__ import annotations

import re
from pathlib import Path

from queries_orchestration.model.errors import Refused
from queries_orchestration.web.problems import _OF_CODE, status_of

API = Path(__file__).parents[2] / "docs" / "api.md"


def test_the_table_of_refusals_has_every_code_that_has_a_status_of_its_own() -> None:
    rows = re.findall(r"^\| (4\d\d)(?:, (4\d\d))? \| (.+) \|$", API.read_text(), re.MULTILINE)
    told = {
        code: {int(status) for status in statuses if status}
        for *statuses, codes in rows
        for code in re.findall(r"`(\w+)`", codes)
    }
    for code, status in _OF_CODE.items():
        assert status in told.get(code, set()), code
    for code, statuses in told.items():
        if code in _OF_CODE:
            assert status_of(Refused("", code=code)) in statuses, code
