"""An export as it is told, and what was proven of its file."""

from __future__ import annotations

from typing import Any

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.verify import Proof


def export_json(workspace: str, file: ExportFile) -> dict[str, Any]:
    """Return the JSON that tells an export of the workspace of that name."""
    export = file.export
    return {
        "export": export.id,
        "workspace": workspace,
        "source": file.source.name,
        "kind": file.source.kind,
        "version": export.version,
        "purpose": export.purpose,
        "schedule": file.schedule.name if file.schedule else None,
        "format": export.format,
        "values": export.runtime_values,
        "time_zone": export.time_zone,
        "state": export.state,
        "code": export.code,
        "message": export.message,
        "rows_done": export.rows_done,
        "bytes_done": export.bytes_done,
        "rows": export.rows,
        "size": export.size,
        "sha256": export.sha256,
        "replaced_characters": export.replaced_characters,
        "cut_cells": export.cut_cells,
        "cut_sections": export.cut_sections,
        "columns": export.columns,
        "snapshot_at": export.snapshot_at,
        "started_at": export.started_at,
        "duration_seconds": export.duration_seconds,
        "rows_per_second": export.rows_per_second,
        "file_name": file.file_name,
        "created_at": export.created_at,
        "completed_at": export.completed_at,
        "expires_at": export.expires_at,
    }


def proof_json(workspace: str, proof: Proof) -> dict[str, Any]:
    """Return the JSON that tells what storage holds of a file, and whether that is all of it."""
    return {
        "export": proof.file.export.id,
        "workspace": workspace,
        "complete": proof.difference is None,
        "size": proof.size,
        "sha256": proof.sha256,
        "rows": proof.rows,
        "columns": proof.columns,
    }
