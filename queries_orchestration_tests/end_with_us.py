"""Servers that a test run starts end with it, however it ends; else they would run for ever."""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Callable
from functools import partial

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl(2)
_prctl = getattr(ctypes.CDLL(None), "prctl", None)


def end_with_us(how: signal.Signals = signal.SIGKILL) -> Callable[[], object] | None:
    """Return what a child calls before it becomes the server; None where no system can do it.

    Args:
        how: the signal that it gets.
    """
    return None if _prctl is None else partial(_prctl, _DIE_WITH_PARENT, how)
