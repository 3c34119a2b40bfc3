"""The named steps of the code: where a process may be killed between two durable writes."""

from __future__ import annotations

import ast
from pathlib import Path


def named_steps(folder: Path) -> dict[str, list[str]]:
    """Return each step that code in ``folder`` names by a call of ``reached``, with its places.

    Raises:
        AssertionError: a step is no literal text, so that nobody could list it.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or _called(node) != "reached":
                continue
            place = f"{path.name}:{node.lineno}"
            step = node.args[0] if node.args else None
            assert isinstance(step, ast.Constant), f"{place}: name the step with a literal text"
            found.setdefault(str(step.value), []).append(place)
    return found


def _called(call: ast.Call) -> str | None:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else None
