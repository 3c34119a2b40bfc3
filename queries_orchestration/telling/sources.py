"""A source as it is told to who can open it: with the runtime values that it takes."""

from __future__ import annotations

import json
from typing import Any

from queries_orchestration.exports.openable import OpenableSource
from queries_orchestration.model.formats import FORMATS_OF
from queries_orchestration.model.runtime_values import Parameter, dump_values


def source_json(found: OpenableSource) -> dict[str, Any]:
    """Return the JSON that tells a source: what it is, as which files, with which values."""
    source = found.source
    return {
        "source": source.name,
        "title": source.title,
        "kind": source.kind,
        "version": source.current_version,
        "formats": list(FORMATS_OF[source.kind]),
        "parameters": [_parameter(one) for one in found.parameters],
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    # As a person spells them: what is exact stays exact.
    told = dump_values({"default": parameter.default, "choices": parameter.allowed})
    return {
        "name": parameter.name,
        "label": parameter.label,
        "type": parameter.type,
        "list": parameter.is_list,
        "required": parameter.required,
        "expected": parameter.expected,
        **json.loads(told),
    }
