"""The one error that a user is meant to read."""


class AssayError(Exception):
    """Something the user can put right: the message names the place and the remedy.

    The command line prints it as one message and exits with 2; anything else that escapes is a defect.
    """
