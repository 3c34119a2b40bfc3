"""Ask a sensor what it launches, and execute a run here."""

from __future__ import annotations

import dagster as dg

from queries_orchestration.definitions import defs


def requests(instance: dg.DagsterInstance, sensor: dg.SensorDefinition) -> list[dg.RunRequest]:
    """Return what the sensor asks to be launched."""
    worker = (defs.resources or {})["worker"]
    context = dg.build_sensor_context(
        instance=instance, definitions=defs, resources={"worker": worker}
    )
    with context:
        return list(sensor.evaluate_tick(context).run_requests or [])


def execute(instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """Execute the run of a request in this process."""
    assert request.job_name is not None
    return defs.resolve_job_def(request.job_name).execute_in_process(
        run_config=request.run_config, tags=request.tags, instance=instance, raise_on_error=False
    )
