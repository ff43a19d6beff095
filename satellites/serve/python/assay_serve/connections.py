"""Connections to the server: not more than it can hold, however many are opened and then say nothing."""

import asyncio
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 100

ACCEPTED_AT_ONCE = 32
"""So few, as asyncio accepts that many before it asks whether there are too many."""


class Connection(H11Protocol):
    """A connection of a browser, which gives way to a new one where there are too many.

    The first to give way is the one that was silent longest, of those that wait for no answer if there are
    any: whoever sends a request slowly, or does not read the answer, cannot keep others out.
    """

    _heard = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, and have others give way."""
        super().connection_made(transport)
        self._heard = time.monotonic()
        while len(self.connections) > MOST_CONNECTIONS:
            silent = min(self.connections, key=_busy_and_heard)
            self.connections.discard(silent)
            silent.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        self._heard = time.monotonic()
        super().data_received(data)

    def resume_writing(self) -> None:
        """Go on with an answer of which something was read."""
        self._heard = time.monotonic()
        super().resume_writing()


def _busy_and_heard(connection: object) -> tuple[bool, float]:
    assert isinstance(connection, Connection)
    cycle = connection.cycle
    return cycle is not None and not cycle.response_complete, connection._heard
