"""Python's collector of garbage, which need not look at a million trials again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Let no garbage be collected that refers to itself; it decorates a function that makes many objects.

    The collector visits all objects whenever their number has grown by a quarter: of a million trials, that
    takes a third of the time.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
