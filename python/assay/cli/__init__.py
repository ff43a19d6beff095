"""The command line: wires the packages together."""

import errno
import os
import signal
import sys

from assay.errors import AssayError
from assay.words import printable

# What the machine lacks, not what a program got wrong.
_ENVIRONMENT = {
    errno.EDQUOT,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EROFS,
}


def main() -> None:
    """Run the command line; what a user can put right ends in a message and exit code 1.

    A defect still shows its traceback.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C ends the process quietly, even while it still loads; a runner handles it by itself.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from assay.cli.commands import app

    try:
        app()
    except AssayError as error:
        _fail(str(error))
    except MemoryError:
        _fail("there is not enough memory for this")
    except OSError as error:
        if error.errno not in _ENVIRONMENT:
            raise
        # Python writes what is left of the output when it ends, and would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        where = f"{error.filename}: " if error.filename else "the output could not be written: "
        _fail(f"{where}{error.strerror}")


def _fail(message: str) -> None:
    for line in message.splitlines():
        print(f"error: {printable(line)}", file=sys.stderr)
    sys.exit(1)
