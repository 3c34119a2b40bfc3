"""An export in lines for people."""

from __future__ import annotations

from queries_orchestration.cli.output import local_text, rows_and_size, values_text
from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.verify import Proof
from queries_orchestration.model.time_zones import zone
from queries_orchestration.store.exports import Export


def export_pairs(workspace: str, file: ExportFile) -> list[tuple[str, object]]:
    """Return what there is to say of an export, by name, for people."""
    export, clocks = file.export, zone(file.export.time_zone)
    reason = ": ".join(filter(None, (export.code, export.message)))
    return [
        ("export", export.id),
        (file.source.kind, f"{workspace}/{file.source.name}, version {export.version}"),
        ("schedule", file.schedule.name if file.schedule else None),
        ("values", values_text(export.runtime_values)),
        ("state", export.state),
        ("reason", reason),
        ("file", file.file_name),
        ("so far" if export.size is None else "size", size_of(file)),
        ("columns", ", ".join(column["label"] for column in export.columns or [])),
        ("took", duration_and_rate(export)),
        ("read as of", export.snapshot_at and local_text(export.snapshot_at, clocks)),
        ("SHA-256", export.sha256),
        ("requested", local_text(export.created_at, clocks)),
        ("completed", export.completed_at and local_text(export.completed_at, clocks)),
        ("expires", export.expires_at and local_text(export.expires_at, clocks)),
    ]


def progress_text(export: Export) -> str:
    """Return how far an export is: rows, size and rate."""
    done = rows_and_size(export.rows_done, export.bytes_done)
    return ", ".join(filter(None, (done, _rate_text(export))))


def duration_and_rate(export: Export) -> str:
    """Return how long the latest receive has taken for it so far, or took, and its rate."""
    if export.duration_seconds is None:
        return ""
    took = f"{export.duration_seconds:,.1f} s"
    return ", ".join(filter(None, (took, _rate_text(export))))


def _rate_text(export: Export) -> str:
    rate = export.rows_per_second
    return f"{rate:,.0f} rows/s" if rate else ""


def size_of(file: ExportFile) -> str:
    """Return rows and size, of the file or of what there is of it by now."""
    export = file.export
    return rows_and_size(
        export.rows_done if export.rows is None else export.rows,
        export.bytes_done if export.size is None else export.size,
    )


def proof_text(proof: Proof) -> str:
    """Return what was proven of a complete file, for people."""
    facts = [size_of(proof.file), f"SHA-256 {proof.sha256}"]
    if proof.columns is not None:
        count = len(proof.columns)
        facts.insert(1, f"{count} column{'s' * (count != 1)}")
    return ", ".join(facts)
