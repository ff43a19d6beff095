"""Engines that `assay lab engines` rejects, and why no experiment should draw from them."""

from collections.abc import Mapping

KNOWN_FLAWS: Mapping[str, str] = {
    "fnv1a": (
        "odd and even numbers strictly alternate: with two draws and modulo, every key of a thread has the"
        " parity of the one before"
    ),
    "lcg64": (
        "its low bits repeat after a few numbers: with modulo, keys follow a pattern instead of chance"
    ),
    "c_rand": (
        "31 bits are too few for two draws and modulo: operations are drawn in other shares than the mix"
        " asks for"
    ),
}
"""Name -> what is wrong with it, as a clause. A test checks that the list is complete."""
