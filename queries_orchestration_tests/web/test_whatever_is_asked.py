"""Whatever its document allows and forbids is asked of every route, as each role and as a stranger.

No answer is a 5xx, an undocumented one, or holds anything of another workspace.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.web.matrix import ROLES
from queries_orchestration_tests.web.office import SCHEDULES, ask, create
from queries_orchestration_tests.web.openapi_document import DOCUMENT
from queries_orchestration_tests.web.site import PUBLIC_URL, Site

SCHEMA: Final = schemathesis.openapi.from_path(DOCUMENT)
OPERATIONS: Final[dict[str, APIOperation[Any, Any, Any, Any]]] = {
    found.ok().label: found.ok() for found in SCHEMA.get_all_operations() if isinstance(found, Ok)
}
EXAMPLES: Final = 8
"""Of each kind, for each role and route."""
FOREIGN: Final = "GLOBEX ALONE"
ASKERS: Final = (
    ("stranger", "sqlite"),
    ("reader", "postgresql"),
    ("service", "sqlite"),
    ("owner", "sqlite"),
    ("administrator", "postgresql"),
)


@pytest.mark.parametrize(("role", "database_kind"), ASKERS, indirect=["database_kind"])
def test_no_answer_is_a_fault_undocumented_or_of_another_workspace(office: Site, role: str) -> None:
    assert len(OPERATIONS) > 30
    names = _furnish(office)
    for label, operation in OPERATIONS.items():
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            _ask_whatever(office, label, operation, mode, role, names)


def _ask_whatever(
    office: Site,
    label: str,
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    role: str,
    names: dict[str, str],
) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), of_ours=st.booleans())
    def whatever(case: Case[Any], of_ours: bool) -> None:
        if of_ours:
            case.path_parameters |= {
                name: names[name] for name in case.path_parameters if name in names
            }
        how = case.as_transport_kwargs(base_url=PUBLIC_URL)
        headers = {
            name: value
            for name, value in how.pop("headers").items()
            if name.lower() not in ("authorization", "content-length")
        }
        how.pop("cookies", None)
        content = how.pop("data", None)
        who = ROLES[role]
        if who is not None:
            headers |= office.as_(who[0], workspace=who[1])
        answer = office.client.request(
            how.pop("method"), how.pop("url"), headers=headers, content=content, **how
        )
        case.validate_response(
            answer,
            checks=[
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
            ],
        )
        assert FOREIGN not in answer.text, label

    try:
        whatever()
    except Unsatisfiable:
        # What takes nothing cannot be asked wrongly.
        assert mode is GenerationMode.NEGATIVE, label


def _furnish(office: Site) -> dict[str, str]:
    """Give both workspaces something, and return the names of what is in the first."""
    office.house.apply(
        "workspace: {name: globex}\n"
        f"groups: {{theirs: {{title: {FOREIGN}, people: [ada]}}}}\n"
        f"people: {{zoe: {{title: {FOREIGN}, address: zoe@globex.example, roles: [author]}}}}\n"
        "---\nworkspace: {name: acme}\npeople: {sam: {title: Sam Service, roles: [service]}}\n"
    )
    assert create(office, "mondays").status_code == 201
    run = ask(office, "POST", f"{SCHEDULES}/mondays/run-now").json()["occurrence"]
    office.house.work(DELIVERY_LANE)
    return {
        "name": "mondays",
        "key": run,
        "export_id": office.house.ask_export(),
    }
