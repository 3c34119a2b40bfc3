"""Work several lanes at once, each in a process of its own.

At once, because a delivery of a report waits for what the report lane renders meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from queries_orchestration.cli.lane_process import LaneFailed, run_lane_process
from queries_orchestration.cli.recovery import Recovery
from queries_orchestration.settings import LANE_WIDTHS, REPORT_LANE, Settings

SECONDS_BETWEEN_LOOKS: Final = 0.3


def work_lanes(
    settings: Settings, may_start: Callable[[], list[str]], recovery: Recovery
) -> Iterator[str]:
    """Work until nothing may start now; yields the key of each piece of work that was done.

    Args:
        may_start: returns the lanes in which something may start now.
        recovery: a delivery waits for its render, also when the process that rendered it was
            killed, until the render is found again.

    Raises:
        LaneFailed: the process of a lane was killed or failed; the other ones end their work first.
    """
    running: dict[Future[list[str]], str] = {}
    barren: set[str] = set()
    failure: LaneFailed | None = None
    with ThreadPoolExecutor(max_workers=len(LANE_WIDTHS)) as lanes:
        while True:
            for lane in may_start():
                if lane not in barren and lane not in running.values():
                    running[lanes.submit(_work, settings, lane)] = lane
            if not running:
                break
            recovery.tend()
            done, _ = wait(running, SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
            for future in done:
                lane = running.pop(future)
                try:
                    keys = future.result()
                except LaneFailed as error:
                    failure, keys = error, []
                # A lane that did nothing is not tried again until another one has done something.
                barren = set() if keys else {*barren, lane}
                yield from keys
            if failure is not None:
                # What it held can be found again while another lane waits for it.
                barren.discard(REPORT_LANE)
    if failure is not None:
        raise failure


def _work(settings: Settings, lane: str) -> list[str]:
    return list(run_lane_process(settings, lane))
