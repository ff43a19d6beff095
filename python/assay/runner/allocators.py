"""Finds the allocators that trials run with: the C library's own, and those that are loaded before it."""

from ctypes.util import find_library
from functools import cache

from assay.runner.process import CannotStartError

_OF_THE_C_LIBRARY = "glibc"
_PACKAGES = {"jemalloc": "libjemalloc2", "mimalloc": "libmimalloc2.0"}  # of Debian
ALLOCATORS = (_OF_THE_C_LIBRARY, *_PACKAGES)


@cache
def library_of(allocator: str) -> str:
    """Return the name by which the dynamic linker finds an allocator, empty for the C library's own.

    Raises:
        CannotStartError: it is not installed, or not known.
    """
    if allocator == _OF_THE_C_LIBRARY:
        return ""
    if allocator not in _PACKAGES:
        raise CannotStartError(f'there is no allocator "{allocator}"; there are {", ".join(ALLOCATORS)}')
    library = find_library(allocator)
    if library is None:
        remedy = f"apt-get install {_PACKAGES[allocator]}"
        raise CannotStartError(f"the allocator {allocator} is not installed; {remedy}")
    return library
