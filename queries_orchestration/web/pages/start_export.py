"""Start an export: choose a query or report, give its runtime values, say which file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from fastapi import APIRouter, BackgroundTasks, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.openable import openable_source, openable_sources
from queries_orchestration.model.errors import (
    ACCESS_CODES,
    NotFound,
    QueriesError,
    TooManyExports,
)
from queries_orchestration.model.formats import FORMATS_OF
from queries_orchestration.model.runtime_values import Parameter
from queries_orchestration.model.value_forms import StartOf, spell
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.web.asked import BackendsOf, web_of
from queries_orchestration.web.named import source_asked
from queries_orchestration.web.pages.forms import Sent, SentOf
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.pages.visitor import Visitor, VisitorOf
from queries_orchestration.web.problems import status_of

VALUE: Final = "value."
"""Before a parameter's name in the form."""

router = APIRouter(prefix="/export", include_in_schema=False)


@router.get("")
def choose(request: Request, visitor: VisitorOf, backends: BackendsOf) -> Response:
    """Show which queries and reports the visitor may open."""
    with backends.database.read(visitor.workspace.id) as connection:
        found = list(
            openable_sources(connection, visitor.workspace.id, person_id=visitor.person.id)
        )
    return page(request, "sources", visitor, sources=found)


@router.get("/{source}")
def ask(request: Request, source: str, visitor: VisitorOf) -> Response:
    """Ask for the runtime values and the format."""
    return _asking(request, visitor, source)


@router.post("/{source}")
def start(
    request: Request, source: str, sent: SentOf, backends: BackendsOf, after: BackgroundTasks
) -> Response:
    """Start the export and lead to it; with a fault in it, show the form again."""
    visitor = sent.visitor
    try:
        with refusals_recorded(
            backends.database,
            visitor.workspace.id,
            by=visitor.by,
            attempted="export_asked",
            subject=source_asked(backends, visitor.workspace.id, source),
            clock=backends.clock,
        ):
            with backends.database.read(visitor.workspace.id) as connection:
                offered = openable_source(
                    connection, visitor.workspace.id, person_id=visitor.person.id, name=source
                )
            export_id = admit_export(
                backends,
                visitor.workspace.id,
                by=visitor.by,
                source_name=source,
                file_format=sent.text("format"),
                given_values=given_values(offered.parameters, sent),
                time_zone=sent.text("time_zone") or None,
                client_key=sent.click,
            )
    except NotFound:
        raise
    except QueriesError as error:
        if error.code in ACCESS_CODES:  # what one may not open looks as if it were not there
            raise NotFound(f"There is no query or report {source!r}.") from None
        return _asking(request, visitor, source, problem=error, given=sent.fields)
    after.add_task(publish_now, backends, visitor.workspace.id, export_id)
    return RedirectResponse(f"/exports/{export_id}", status_code=303)


def given_values(parameters: Sequence[Parameter], sent: Sent) -> dict[str, Any]:
    """Return the values that somebody gave: of a list one a line; what is empty is left out."""
    given: dict[str, Any] = {}
    for parameter in parameters:
        texts = sent.texts(VALUE + parameter.name)
        if parameter.is_list and parameter.allowed is None:
            texts = [line.strip() for text in texts for line in text.splitlines()]
        texts = [text for text in texts if text]
        if texts:
            given[parameter.name] = texts if parameter.is_list else texts[0]
    return given


def _asking(
    request: Request,
    visitor: Visitor,
    name: str,
    *,
    problem: QueriesError | None = None,
    given: FormData | None = None,
) -> Response:
    backends = web_of(request).backends
    with backends.database.read(visitor.workspace.id) as connection:
        offered = openable_source(
            connection, visitor.workspace.id, person_id=visitor.person.id, name=name
        )
    headers = {}
    if isinstance(problem, TooManyExports):
        headers["Retry-After"] = str(problem.retry_after)
    return page(
        request,
        "start_export",
        visitor,
        status=200 if problem is None else status_of(problem),
        headers=headers,
        problem=problem,
        source=offered.source,
        fields=[Field(one, given, problem) for one in offered.parameters],
        formats=FORMATS_OF[offered.source.kind],
        chosen=given.get("format") if given else FORMATS_OF[offered.source.kind][0],
        time_zone=(given.get("time_zone") if given else None) or visitor.workspace.time_zone,
    )


class Field:
    """One parameter as a field of the form, with what was given before."""

    def __init__(
        self, parameter: Parameter, given: FormData | None, problem: QueriesError | None
    ) -> None:
        self.name = VALUE + parameter.name
        self.parameter = parameter
        texts = given.getlist(self.name) if given else []
        self.given = [text for text in texts if isinstance(text, str)]
        self.choices = [spelled(one) for one in parameter.allowed or ()]
        if parameter.type == "boolean" and not parameter.is_list and not self.choices:
            self.choices = ["true", "false"]
        self.is_faulty = problem is not None and f"{parameter.name!r}" in problem.message
        self.must_be_given = parameter.required and parameter.default is None
        default = parameter.default
        of_list = default if isinstance(default, tuple) else (default,)
        self.default = None if default is None else ", ".join(spelled(one) for one in of_list)


def spelled(value: object) -> str:
    """Return a value as a person would write it into the form."""
    if isinstance(value, StartOf):
        shift = f",shift:{value.shift}" if value.shift else ""
        return f"start_of:{value.unit}{shift}"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else str(spell(value))
