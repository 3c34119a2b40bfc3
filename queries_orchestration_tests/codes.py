"""Every code that the package can tell, found in its source: of errors, skips, pauses, findings.

A code is what is given to a parameter, field or variable of that name. Names of constants are
looked up over the whole package.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from queries_orchestration_tests.named import ROOT

PACKAGE: Final = ROOT / "queries_orchestration"
_NAMES: Final = frozenset({"code", "skip_code", "pause_code", "outcome_code"})
_PAIRS_OF: Final = {"_pause_due": 0}
"""Functions that return a code within a pair which is given on as a whole, and its place."""


@cache
def _trees() -> tuple[ast.Module, ...]:
    files = sorted(PACKAGE.rglob("*.py"))
    return tuple(ast.parse(file.read_text()) for file in files if "migrations" not in file.parts)


def _nodes() -> Iterator[ast.AST]:
    for tree in _trees():
        yield from ast.walk(tree)


@cache
def _constants() -> dict[str, frozenset[str]]:
    """Texts by the names that they have at the top of a module; two modules may share a name."""
    found: dict[str, frozenset[str]] = {}
    for tree in _trees():
        for node in tree.body:
            match node:
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=str(text))):
                    found[name] = found.get(name, frozenset()) | {text}
    return found


def _texts(value: ast.expr | None) -> Iterator[str]:
    """The texts that an expression may be, as far as the source shows them."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.Name) and value.id in _constants():
        yield from _constants()[value.id]
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _texts(one)
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _places(name: ast.expr) -> Iterator[int]:
    if isinstance(name, ast.Tuple):
        for place, one in enumerate(name.elts):
            if isinstance(one, ast.Name) and one.id in _NAMES:
                yield place


@cache
def _parameters() -> dict[str, int]:
    """At which place a function takes a code without its name."""
    return {
        node.name: place
        for node in _nodes()
        if isinstance(node, ast.FunctionDef)
        for place, argument in enumerate(node.args.args)
        if argument.arg in _NAMES and argument.arg != node.args.args[0].arg
    } | {
        node.name: 0
        for node in _nodes()
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg in _NAMES
    }


@cache
def _returning() -> dict[str, int]:
    """At which place a function returns a code: it is taken apart into a variable of that name."""
    return _PAIRS_OF | {
        _name_of(node.value.func): place
        for node in _nodes()
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for place in _places(node.targets[0])
    }


def _of_assignment(name: ast.expr, value: ast.expr | None) -> Iterator[str]:
    if isinstance(name, ast.Name) and name.id in _NAMES:
        yield from _texts(value)
    if isinstance(value, ast.Tuple):
        for place in _places(name):
            yield from _texts(value.elts[place])


def _of_call(call: ast.Call) -> Iterator[str]:
    for keyword in call.keywords:
        if keyword.arg in _NAMES:
            yield from _texts(keyword.value)
    place = _parameters().get(_name_of(call.func))
    if place is not None and place < len(call.args):
        yield from _texts(call.args[place])


def _of_function(function: ast.FunctionDef) -> Iterator[str]:
    place = _returning().get(function.name)
    if place is None:
        return
    for node in ast.walk(function):
        if isinstance(node, ast.Return):
            for value in (
                (node.value.body, node.value.orelse)
                if isinstance(node.value, ast.IfExp)
                else (node.value,)
            ):
                if isinstance(value, ast.Tuple):
                    yield from _texts(value.elts[place])


@cache
def every_code() -> frozenset[str]:
    """Return the codes of the package."""
    found: set[str] = set()
    for node in _nodes():
        if isinstance(node, ast.Assign):
            found.update(_of_assignment(node.targets[0], node.value))
        elif isinstance(node, ast.AnnAssign):
            found.update(_of_assignment(node.target, node.value))
        elif isinstance(node, ast.Call):
            found.update(_of_call(node))
        elif isinstance(node, ast.FunctionDef):
            found.update(_of_function(node))
    return frozenset(found)


@cache
def every_event() -> frozenset[str]:
    """Return the names of what the package logs as ``name key=value …``."""
    return frozenset(
        text.split()[0]
        for node in _nodes()
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("info", "warning", "error", "exception")
        and _name_of(node.func.value) in ("log", "logger", "_log")
        for text in _texts(node.args[0])
        if re.match(r"[a-z_%]+ [a-z]+=", text)
    )
