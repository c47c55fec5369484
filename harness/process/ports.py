"""Tells which ports a program left open that goes on to live."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.process.supervisor import Child

__all__ = ["left_open"]

_LOOK = 0.05  # seconds between two looks


def left_open(child: Child, own: Collection[int], seconds: float) -> list[int]:
    """Return the TCP ports that `child` listens on besides its `own`, once `seconds` have passed without their end."""
    looks = Retrying(
        retry=retry_if_result(bool),
        stop=stop_after_delay(seconds),
        wait=wait_fixed(_LOOK),
        sleep=child.wait,  # type: ignore[arg-type]  # ends at once with the child; its answer is not looked at
        retry_error_callback=lambda last: last.outcome.result() if last.outcome else [],
    )
    return looks(lambda: sorted(_listened_on(child.pid).difference(own)))


def _listened_on(pid: int) -> set[int]:
    try:
        found = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error:
        return set()  # it has just ended
    return {connection.laddr.port for connection in found if connection.status == psutil.CONN_LISTEN}
