"""A command line that cannot be understood, explained in one line."""

import io
import sys
from collections import Counter
from typing import Any, NoReturn

from typer import BadParameter, Typer, TyperException
from typer.core import TyperCommand, TyperGroup, TyperOption

from assay.errors import AssayError
from assay.words import listed, message

HEADINGS = ("Measure", "Versions of your project", "Results", "Your code", "This machine")
"""What the first list of commands is divided into."""


class Command(TyperCommand):
    """A command whose mistakes name it, and which takes an option once unless it says otherwise."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage; Typer would write `{EXPERIMENT}` for what is required."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        try:
            _, _, order = self.make_parser(ctx).parse_args(list(args))
        except TyperException as error:
            error.ctx = ctx  # type: ignore[attr-defined] # Typer forgets it where a value is missing
            raise
        for option, times in Counter(order).items():
            if isinstance(option, TyperOption) and times > 1 and not (option.multiple or option.is_flag):
                raise BadParameter("is given more than once; give it once", ctx, option)
        try:
            return super().parse_args(ctx, args)
        except UnicodeEncodeError as error:
            raise BadParameter(f"{listed(args)}: not all of it is UTF-8", ctx) from error


class Headed(TyperGroup):
    """An application that lists its commands under headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write all options but that which prints what `--install-completion` installs, then the commands."""
        for parameter in self.params:
            if isinstance(parameter, TyperOption) and parameter.name == "show_completion":
                parameter.hidden = True
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each heading; headings that are not in `HEADINGS` come last."""
        longest = max(map(len, self.commands))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            summary = command.get_short_help_str(formatter.width - 6 - longest)
            heading = str(getattr(command, "rich_help_panel", ""))
            sections.setdefault(heading, []).append((name.ljust(longest), summary))
        for heading in sorted(sections, key=[*HEADINGS, *sections].index):
            with formatter.section(heading):
                formatter.write_dl(sections[heading])


def accept_any_name() -> None:
    """Have names printed that are not UTF-8."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a test may have another one
        sys.stdout.reconfigure(errors="backslashreplace")


def fail(mistake: str) -> NoReturn:
    """Print what a user can put right, and end with 2."""
    for line in message(mistake, sys.argv[1:]):
        print(f"error: {line}", file=sys.stderr)
    sys.exit(2)


def run(app: Typer, program: str) -> Any:
    """Run a command line, and return its exit code.

    Raises:
        AssayError: its words cannot be understood.
    """
    try:
        return app(prog_name=program, standalone_mode=False)
    except TyperException as error:
        if type(error).__name__ != "NoArgsIsHelpError":  # the message of which is the help
            raise AssayError(explain(error)) from error
        print(error.message)
        return 2


def explain(error: TyperException) -> str:
    """Return the command, what is wrong with its words, and the remedy."""
    context = getattr(error, "ctx", None)
    command = f"{context.command_path}: " if context else ""
    likely = getattr(error, "possibilities", None)
    if likely:  # options of similar names
        name = getattr(error, "option_name", "")
        return f"{command}no such option: {name}; did you mean {listed(likely, 'or')}?"
    if isinstance(error, BadParameter) and error.message and error.param:
        place = error.param.get_error_hint().replace("'", "")
        return f"{command}{place}: {error.message.removeprefix('Value error, ').removesuffix('.')}"
    text = error.format_message().replace("\n\t", " ").removesuffix(".").replace(". Did", "; did")
    unknown = getattr(error, "option_name", "")
    if unknown == "--experiment" and context and (remedy := _experiment_of(context)):
        return f"{command}no such option: {unknown}; {remedy}"
    remedy = "" if text.endswith("?") else f"; see {context.command_path} -h" if context else "; see -h"
    return f"{command}{text[0].lower()}{text[1:]}{remedy}"


def _experiment_of(context: Any) -> str:
    """Return how to name the experiment, which no command has an option for; nothing if it needs none."""
    names = {name for parameter in context.command.params for name in (parameter.name, *parameter.opts)}
    if "experiment" in names:
        return "write the experiment's file without it"
    return "name the folder of experiment.toml with --directory" if "--directory" in names else ""
