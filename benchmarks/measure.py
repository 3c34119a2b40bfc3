"""A measure: ours and a baseline in interleaved pairs, the medians of both, and a bar to hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

PAIRS: Final = 5
RESULTS: Final = Path("build/bench/results.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: how much was done a second, or another number, and the memory it took.

    Args:
        value: larger or smaller is better, as the measure says.
        peak_mb: most memory above what the process held before the work, in 10^6 bytes; None
            where it says nothing.
    """

    value: float
    peak_mb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a measure found: ``ratio`` is ours to the baseline, and must hold the ``bar``."""

    name: str
    ours: float
    baseline: float
    ratio: float
    peak_mb: float | None
    bar: float
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared.

    Args:
        bar: what the ratio must reach, or must not exceed if ``less_is_better``.
        pairs: how often both run, one after the other.
    """

    name: str
    ours: Callable[[], Run]
    baseline: Callable[[], Run]
    bar: float
    less_is_better: bool = False
    pairs: int = PAIRS

    def take(self) -> Result:
        """Run the pairs and return the medians; the ratio is the median of the pairs' own."""
        runs = [(self.ours(), self.baseline()) for _ in range(self.pairs)]
        ratio = median(ours.value / baseline.value for ours, baseline in runs)
        peaks = [ours.peak_mb for ours, _ in runs if ours.peak_mb is not None]
        return Result(
            name=self.name,
            ours=median(ours.value for ours, _ in runs),
            baseline=median(baseline.value for _, baseline in runs),
            ratio=ratio,
            peak_mb=max(peaks) if peaks else None,
            bar=self.bar,
            holds=ratio <= self.bar if self.less_is_better else ratio >= self.bar,
        )


def take_all(measures: Iterable[Measure]) -> None:
    """Take the measures one after the other."""
    keep(measure.take() for measure in measures)


def keep(taken: Iterable[Result], results: Path = RESULTS) -> None:
    """Print each result as it comes, and put it into the results' file in place of an older one."""
    for result in taken:
        memory = "" if result.peak_mb is None else f"{result.peak_mb:7.0f} MB"
        print(
            f"{result.name:46}{result.ours:13,.1f} against{result.baseline:13,.1f}: "
            f"{result.ratio:7.2f}, bar {result.bar:6.2f}{memory:>12}"
            f"{'' if result.holds else '  MISSED'}",
            flush=True,
        )
        before = json.loads(results.read_text()) if results.exists() else []
        kept = [one for one in before if one["name"] != result.name]
        results.parent.mkdir(parents=True, exist_ok=True)
        results.write_text(json.dumps([*kept, asdict(result)], indent=2) + "\n")
