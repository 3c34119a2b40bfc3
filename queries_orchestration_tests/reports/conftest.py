"""What tests of reports may ask for."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from queries_orchestration_tests.conftest import CI

_MISSING = "LibreOffice is missing; install libreoffice-calc-nogui"
_SECONDS = 120


@pytest.fixture
def libreoffice(tmp_path: Path) -> Callable[[Path, str], Path]:
    """Converts a file to another format and returns the new one; each start takes seconds."""
    program = shutil.which("soffice")
    if program is None:
        if CI:
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)

    def convert(source: Path, wanted: str) -> Path:
        profile, made = tmp_path / "profile", tmp_path / "converted"
        arguments = ["--headless", "--convert-to", wanted, "--outdir", str(made), str(source)]
        subprocess.run(
            [program, f"-env:UserInstallation={profile.as_uri()}", *arguments],
            check=True,
            capture_output=True,
            timeout=_SECONDS,
        )
        return made / f"{source.stem}.{wanted}"

    return convert
