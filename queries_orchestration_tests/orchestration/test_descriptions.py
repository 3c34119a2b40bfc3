"""Whatever Dagster's UI shows of us is described, found by walking what it loads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.orchestration import metadata, tags

PAGE = (Path(__file__).parents[2] / "docs" / "dagster-ui.md").read_text()
REPOSITORY = defs.get_repository_def()
JOBS = [job for job in REPOSITORY.get_all_jobs() if not job.name.startswith("__")]
OPS = {
    node.name: node
    for job in JOBS
    for node in job.all_node_defs
    if isinstance(node, dg.OpDefinition)
}
OF_DAGSTER = {"execution", "loggers", "inputs", "outputs", "io_manager"}
"""Parts of a run's config that are not ours."""


def _fields(config: Any, *path: str) -> Iterator[tuple[str, Any]]:
    """All fields of a job's config that are ours, each with where it stands."""
    for name, field in getattr(config, "fields", {}).items():
        if name in OF_DAGSTER:
            continue
        yield ".".join((*path, name)), field
        yield from _fields(field.config_type, *path, name)


CONFIG = {
    f"{job.name}: {place}": field
    for job in JOBS
    for place, field in _fields(job.run_config_schema.config_type)
}


def _resources() -> Iterator[tuple[str, Any]]:
    """All resources, also those within others."""

    def walk(name: str, resource: Any) -> Iterator[tuple[str, Any]]:
        yield name, resource
        for inner, nested in resource.nested_resources.items():
            yield from walk(f"{name}.{inner}", nested)

    for name, resource in (defs.resources or {}).items():
        yield from walk(name, resource)


def test_there_is_something_to_walk() -> None:
    assert {"deliver_occurrence", "resend", "sweep_uploads"} <= {job.name for job in JOBS}
    assert {"start", "make_file", "generate"} <= set(OPS)
    assert "resend: ops.start_resend.config.as_person" in CONFIG
    assert {name for name, _ in _resources()} == {
        "worker",
        "worker.storage",
        "worker.communications",
    }


def test_every_job_op_schedule_and_sensor_is_described() -> None:
    shown: list[Any] = [*JOBS, *OPS.values(), *REPOSITORY.schedule_defs, *REPOSITORY.sensor_defs]
    assert [one.name for one in shown if not _is_sentence(one.description)] == []


def test_every_resource_and_its_config_is_described() -> None:
    lacking = []
    for name, resource in _resources():
        if not _is_sentence(type(resource).__doc__):
            lacking.append(name)
        own = set(type(resource).model_fields) - set(resource.nested_resources)
        lacking += [
            f"{name}.{field}" for field in own if not type(resource).model_fields[field].description
        ]
    assert lacking == []


@pytest.mark.parametrize("place", sorted(CONFIG))
def test_every_field_of_the_launchpad_is_described_and_has_a_default(place: str) -> None:
    field = CONFIG[place]
    assert not field.is_required
    # The sections of Dagster's own making hold ours: `ops`, an op, its `config`.
    is_ours = ".config." in place
    if is_ours:
        assert _is_sentence(field.description)
        assert field.default_provided


@pytest.mark.parametrize("job", sorted(job.name for job in JOBS))
def test_the_launchpad_can_launch_each_job_as_it_is(job: str) -> None:
    """Its config is valid with nothing filled in; what the run then does is told in the page."""
    assert dg.validate_run_config(defs.resolve_job_def(job), {})


def test_every_tag_that_a_definition_sets_is_described() -> None:
    known = {*tags.MEANINGS, tags.MAX_RUNTIME, tags.PRIORITY, tags.QUEUE}
    tagged: list[Any] = [*JOBS, *REPOSITORY.sensor_defs, *OPS.values()]
    assert {tag for one in tagged for tag in one.tags} <= known


def test_every_name_of_a_tag_has_its_meaning() -> None:
    named = {
        value
        for value in vars(tags).values()
        if isinstance(value, str) and value.startswith("queries/")
    }
    assert named == set(tags.MEANINGS)


@pytest.mark.parametrize("meanings", [tags.MEANINGS, metadata.MEANINGS], ids=["tags", "metadata"])
def test_the_page_tells_exactly_these(meanings: Mapping[str, str]) -> None:
    heading = "## Tags" if meanings is tags.MEANINGS else "## Metadata"
    assert _rows(heading) == {f"`{name}`": meaning for name, meaning in meanings.items()}


def test_the_page_tells_every_outcome_of_a_run() -> None:
    told = {name.strip("`") for name in _rows("## Green, red, grey")}
    of_runs = {
        tags.READY,
        tags.TRIED_AGAIN,
        tags.SUPERSEDED,
        tags.NOTHING_TO_DO,
        tags.WORKING,
        tags.FAILED,
        tags.CANCELLED,
    }
    assert told == of_runs | set(get_args(Outcome))


def test_the_page_tells_every_job_schedule_and_sensor() -> None:
    shown: list[Any] = [*JOBS, *REPOSITORY.schedule_defs, *REPOSITORY.sensor_defs]
    assert [one.name for one in shown if f"`{one.name}`" not in PAGE] == []


def _rows(heading: str) -> dict[str, str]:
    """The rows of the first table under a heading of the page, by their first cell."""
    table = PAGE.split(f"{heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| (`[^|]+`) \| (.+) \|$", table, re.MULTILINE)
    return dict(rows)


def _is_sentence(text: str | None) -> bool:
    """Whether a description says something."""
    return text is not None and len(text.split()) > 2
