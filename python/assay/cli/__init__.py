"""The command line: wires the packages together.

Nothing is imported here but in `main`, whose first act is to let Ctrl-C end the process without a traceback.
"""


def main(program: str = "assay", commands: str = "assay.cli.commands") -> None:
    """Run a command line, and end with one of the exit codes of `docs/reference/commands.md`.

    Args:
        program: its name.
        commands: the module that has its commands, as `app`.

    What a user can put right ends in a message and 2. A defect of Assay shows its traceback and ends in 70.
    """
    # `signal` would load `enum` first, while Ctrl-C would still print a traceback; this is built in.
    import _signal  # type: ignore[import-not-found]

    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # a runner handles it by itself
    import errno
    import importlib
    import os
    import sys
    import traceback

    from assay.cli.usage import accept_any_name, fail, run
    from assay.errors import AssayError

    def drop_output() -> None:
        """Python writes what is left of the output when it ends, and would complain once more."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    accept_any_name()
    # What the machine lacks, or the reader of the output; not what a program got wrong.
    environment = {
        errno.ECONNRESET,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EIO,
        errno.EMFILE,
        errno.ENAMETOOLONG,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.EROFS,
    }
    if _fill_closed_streams():
        environment.add(errno.EBADF)
    try:
        code = run(importlib.import_module(commands).app, program)
        sys.stdout.flush()  # while what goes wrong can still be said
    except BrokenPipeError:
        drop_output()
        sys.exit(128 + _signal.SIGPIPE)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # Typer and Rich end with 1
            drop_output()
            sys.exit(128 + _signal.SIGPIPE)
        raise
    except AssayError as error:
        fail(str(error))
    except MemoryError:
        fail("there is not enough memory for this")
    except Exception as error:
        if not isinstance(error, OSError) or error.errno not in environment:
            traceback.print_exc()
            print("This is a mistake in Assay: please report it with the lines above.", file=sys.stderr)
            sys.exit(70)  # EX_SOFTWARE of sysexits.h; `assay ab` ends with 3 where it is undecided
        drop_output()
        where = f"{error.filename}: " if error.filename else "the output could not be written: "
        fail(f"{where}{error.strerror}")
    else:
        sys.exit(code)


def _fill_closed_streams() -> bool:
    """Have every standard stream, and return whether standard output was closed; what is printed then fails.

    A store that is opened in the place of a closed one would be printed into.
    """
    import os
    import sys

    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    closed = sys.stdout is None
    if closed:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    return closed
