"""Traces (OpenTelemetry), for installations with the extra ``otel``.

All that is done for one occurrence or export is one trace, whatever process does it: its id comes
from the key of the work. Spans hold ids, codes and numbers; never a value, an address or a token,
nor the words of an error. Where nobody has set traces up nothing is imported, and nothing done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

from queries_orchestration.model.errors import InvalidSettings, QueriesError

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
NAME: Final = "queries_orchestration"

Tell = Callable[[str, str | int], None]
"""Gives the span one more attribute."""


def set_up_traces(environment: Mapping[str, str]) -> None:
    """Send the traces of this process where OpenTelemetry's own variables say, if they do.

    Raises:
        InvalidSettings: they do, and the extra is not installed.
    """
    if not any(environment.get(variable) for variable in ENDPOINTS):
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise InvalidSettings(
            f"{' or '.join(ENDPOINTS)} is set, and what sends traces is not installed: install"
            " queries-orchestration with its extra otel, or take the variable away."
        ) from None
    if isinstance(trace.get_tracer_provider(), TracerProvider):
        return  # set up already: code can be loaded twice in a process
    name = environment.get("OTEL_SERVICE_NAME") or "queries"
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


@contextmanager
def span(name: str, *, work: str | None = None, **told: str | int) -> Iterator[Tell]:
    """Time what is done within, as a part of the span around it.

    Args:
        work: key of an occurrence, or id of an export, in whose trace it stands if there is no
            span around it.
        told: attributes: ids, codes and numbers.
    """
    trace = _api()
    if trace is None:
        yield _nobody
        return
    inside = trace.get_current_span().get_span_context().is_valid
    within = None if inside or work is None else _trace_of(trace, work)
    attributes = {f"queries.{key}": value for key, value in told.items()}
    if work is not None:
        attributes["queries.work"] = work
    with trace.get_tracer(NAME).start_as_current_span(
        name,
        context=within,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        try:
            yield lambda key, value: opened.set_attribute(f"queries.{key}", value)
        except Exception as error:
            code = error.code if isinstance(error, QueriesError) else type(error).__name__
            opened.set_attribute("queries.code", code)
            opened.set_status(trace.StatusCode.ERROR)
            raise


def note(name: str, *, work: str, **told: str | int) -> None:
    """Write into the trace of a piece of work that something has happened to it, by a pass."""
    trace = _api()
    if trace is None:
        return
    around = trace.get_current_span().get_span_context()
    attributes = {f"queries.{key}": value for key, value in told.items()}
    trace.get_tracer(NAME).start_span(
        name,
        context=_trace_of(trace, work),
        attributes=attributes | {"queries.work": work},
        links=[trace.Link(around)] if around.is_valid else [],
    ).end()


def _api() -> Any:
    """Return OpenTelemetry's interface; None while nothing in this process could take a span."""
    is_taken = "opentelemetry.sdk.trace" in sys.modules
    return sys.modules.get("opentelemetry.trace") if is_taken else None


def _trace_of(trace: Any, work: str) -> Any:
    """Return the context of a piece of work: the same in every process."""
    digest = sha256(work.encode()).digest()
    parent = trace.SpanContext(
        trace_id=int.from_bytes(digest[:16]),
        span_id=int.from_bytes(digest[16:24]),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(parent))


def _nobody(_key: str, _value: str | int) -> None:
    """Tell nobody."""
