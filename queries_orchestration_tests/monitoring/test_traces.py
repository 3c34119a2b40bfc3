"""Traces: one for all that is done for an occurrence, without a value, an address or a token."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import dagster as dg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from queries_orchestration.model.errors import InvalidSettings, SourceBroken
from queries_orchestration.observing.traces import set_up_traces, span
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute
from queries_orchestration_tests.web.site import Site


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """One is enough: it is about what a process tells, not about what it keeps."""
    kind: str = request.param
    return kind


WITHOUT = """
import sys
import queries_orchestration.definitions, queries_orchestration.web.app
from queries_orchestration.observing.traces import note, set_up_traces, span
set_up_traces({})
with span("pass", dispatcher="x") as tell:
    tell("more", 1)
note("offer", work="x")
print([name for name in sys.modules if name.startswith("opentelemetry.sdk")])
"""


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    """What keeps the spans of this process; it has one provider, which keeps none afterwards."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    yield kept
    provider.shutdown()


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter
    exporter.clear()


def test_all_that_is_done_for_an_occurrence_is_one_trace(
    house: House, spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    (offer,) = house.dispatch(MONDAY).offers
    with dg.instance_for_test() as instance:
        execute(instance, run_request_of(offer, house.backends.settings))

    found = spans.get_finished_spans()
    of_it = [one for one in found if _attributes(one).get("queries.work") == offer.key]
    assert {one.name for one in of_it} == {
        "offer",
        "receive",
        "make_file",
        "send_message",
        "settle",
    }
    assert len({one.context.trace_id for one in of_it if one.context}) == 1
    (receive,) = [one for one in found if one.name == "receive"]
    within = [one for one in found if one.parent and receive.context == one.parent]
    assert {"resolve_access", "make_file", "settle"} <= {one.name for one in within}
    assert [one.name for one in found].count("send_message") == 2
    (passed,) = [one for one in found if one.name == "pass"]
    (offered,) = [one for one in found if one.name == "offer"]
    assert _attributes(passed) == {"queries.dispatcher": "deliveries"}
    assert [link.context for link in offered.links] == [passed.context]
    for one in found:
        for word in ("@example.org", "Ada", "Weekly", "/d/"):
            assert word not in str(_attributes(one))


def test_a_request_is_told_by_its_route_and_never_by_its_token(
    site: Site, spans: InMemorySpanExporter
) -> None:
    assert site.client.get("/d/made-up-token").status_code == 410

    (request,) = [one for one in spans.get_finished_spans() if one.name == "request"]
    assert _attributes(request) == {
        "queries.method": "GET",
        "queries.route": "/d/{token:anything}",
        "queries.status": 410,
    }


def test_a_failure_is_told_by_its_code_and_not_in_its_words(spans: InMemorySpanExporter) -> None:
    with pytest.raises(SourceBroken), span("make_file", work="x"):
        raise SourceBroken("ada@example.org")

    (failed,) = spans.get_finished_spans()
    assert not failed.status.is_ok
    assert _attributes(failed)["queries.code"] == "source_broken"
    assert "ada@example.org" not in failed.to_json()


def test_where_nobody_wants_traces_nothing_is_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "[]\n"


def test_traces_without_the_extra_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    set_up_traces({})
    with pytest.raises(InvalidSettings) as refused:
        set_up_traces({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    assert "extra otel" in refused.value.message


def _attributes(one: ReadableSpan) -> dict[str, object]:
    return dict(one.attributes or {})
