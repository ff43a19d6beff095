"""An event loop in a thread of its own, in which what starts workers waits for them."""

import asyncio
import logging
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

Result = TypeVar("Result")

GRACE_S = 5
"""How long a worker has for its own end, before it is killed."""


@cache
def _loop() -> asyncio.AbstractEventLoop:
    for name in ("distributed", "asyncssh"):  # what they have to say, messages of ours do
        logging.getLogger(name).setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="assay-cluster", daemon=True).start()
    return loop


def run(coroutine: Coroutine[Any, Any, Result], within_s: float) -> Result:
    """Run a coroutine in the loop, and wait for its result.

    Raises:
        TimeoutError: it has taken longer, and was cancelled.
    """
    return asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, within_s), _loop()).result()


async def ends(task: "asyncio.Task[Any]", within_s: float) -> bool:
    """Return whether a task ends within a time; it goes on if not."""
    done, _ = await asyncio.wait([task], timeout=within_s)
    return bool(done)
