"""The one error that a user is meant to read."""


class AssayError(Exception):
    """Something the user can put right: the message names the place and the remedy.

    The command line prints it as one message and exits with 1; anything else that escapes is a defect.
    """


def printable(text: str) -> str:
    """Return text that someone else wrote in one line that moves no cursor and changes no colour."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
