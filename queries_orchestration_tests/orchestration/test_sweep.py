"""The hourly job that aborts what killed workers left."""

from __future__ import annotations

import os
import time

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration_tests.house import House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def test_the_job_aborts_an_old_upload_that_nobody_records_and_no_other(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    storage = job_house.backends.storage
    for key in ("w/old.csv", "w/new.csv"):
        storage.begin_upload(key, "text/csv")
    uploads = job_house.folder / "home" / "files" / ".uploads"
    (old,) = uploads.glob("*old.csv*")
    a_week_ago = time.time() - 7 * 86_400
    os.utime(old, (a_week_ago, a_week_ago))

    result = defs.resolve_job_def("sweep_uploads").execute_in_process(instance=instance)

    assert result.success
    assert [upload.key for upload in storage.open_uploads("")] == ["w/new.csv"]
