"""C++ headers as Markdown, a page each: the comment that opens a header, then what is public in it.

Our headers explain themselves in plain comments that are Markdown already, in an order that is meant to be
read. So a page keeps that order; declarations lose their bodies.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

_CPP = Language(tree_sitter_cpp.language())
_SPECIFIERS = {"class_specifier", "struct_specifier", "union_specifier"}
_SECTIONS = {"preproc_ifdef", "preproc_if", "preproc_else", "declaration_list", "linkage_specification"}
_NOT_SHOWN = {
    "ERROR",
    "friend_declaration",
    "identifier",  # of #ifndef
    "preproc_call",
    "preproc_include",
    "static_assert_declaration",
    "using_declaration",
}
_TOP = 2  # the level of headings for what stands in a namespace

Link = Callable[[str], str | None]


@dataclass
class _Entry:
    """Declarations that one comment explains, or the comment alone."""

    level: int
    comment: list[str] = field(default_factory=list)
    declarations: list[str] = field(default_factory=list)
    title: str = ""


def page(name: str, source: str, link: Link) -> str:
    """Return the page of the header `name`; `link` gives the address of a file that a text names."""
    reader = _Reader(source.encode())
    opening = reader.opening()
    parts = [f"# {name.removeprefix('assay/')}", f'```cpp\n#include "{name}"\n```', _prose(opening, link)]
    for entry in reader.entries():
        if entry.title:
            parts.append(f"{'#' * entry.level} {entry.title}")
        if entry.declarations:
            parts.append("```cpp\n" + "\n".join(entry.declarations) + "\n```")
        parts.append(_prose(entry.comment, link))
    return "\n\n".join(part for part in parts if part) + "\n"


def first_sentence(source: str) -> str:
    """Return what a header says first."""
    text = " ".join(_Reader(source.encode()).opening()).split("  ")[0]
    return _escaped(re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(":."))


class _Reader:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._root = Parser(_CPP).parse(source).root_node
        self._entries: list[_Entry] = []
        self._announced: set[str] = set()  # public classes that are defined outside of theirs

    def opening(self) -> list[str]:
        """Return the lines of the comment that opens the header."""
        lines: list[str] = []
        for node in self._root.children:
            if node.type != "comment":
                break
            lines.append(_uncommented(self._text(node)))
        return lines

    def entries(self) -> list[_Entry]:
        """Return what the header declares for others, in its order."""
        nodes = self._root.children
        start = next((place for place, node in enumerate(nodes) if node.type != "comment"), len(nodes))
        self._walk(nodes[start:], _TOP, public=True)
        return [entry for entry in self._entries if entry.title or entry.declarations or entry.comment]

    def _walk(self, nodes: list[Node], level: int, *, public: bool) -> None:
        entry, last = _Entry(level), -2
        for node in nodes:
            begins, ends = node.start_point[0], node.end_point[0]
            if node.type == "access_specifier":
                public = self._text(node) == "public"
                entry = self._begun(level)
            elif node.type == "comment" and public:
                text = _uncommented(self._text(node))
                if begins == last and entry.declarations:  # stands behind a declaration
                    entry.declarations[-1] += f"  // {text.strip()}"
                elif begins != last and not text.startswith("NOLINT"):
                    if entry.declarations or begins > last + 1:
                        entry = self._begun(level)
                    entry.comment.append(text)
            elif node.type == "namespace_definition":
                name = node.child_by_field_name("name")
                if name is not None and "detail" not in self._text(name):
                    self._walk(_body(node), level, public=True)
                entry = self._begun(level)
            elif node.type in _SECTIONS:
                self._walk(node.children, level, public=public)
                entry = self._begun(level)
            elif public and node.is_named and node.type not in _NOT_SHOWN:
                if begins > last + 1 and entry.comment:  # the comment was about what follows as a whole
                    entry = self._begun(level)
                entry = self._declare(node, level, entry)
            elif node.is_named:
                entry = self._begun(level)
            last = ends

    def _begun(self, level: int) -> _Entry:
        self._entries.append(_Entry(level))
        return self._entries[-1]

    def _declare(self, node: Node, level: int, entry: _Entry) -> _Entry:
        if entry not in self._entries:
            self._entries.append(entry)
        inner = next(_specifiers(node), None)
        body = inner and inner.child_by_field_name("body")
        if inner is None or body is None:
            text = self._declaration(node)
            if re.search(r"[\w>]::~?\w+\(", text.split("\n")[-1]) and "{" not in text and level == _TOP:
                entry.comment.clear()  # of a member, which its class has declared if it is public
                return self._begun(level)
            if announced := re.fullmatch(r"(?:class|struct) (\w+);", text):
                self._announced.add(announced[1])
            if text:
                entry.declarations.append(text)
            return entry
        name = inner.child_by_field_name("name")
        if name is None:
            entry.declarations.append(self._cut(node, node.end_byte))
            return entry
        *outer, last = self._text(name).split("::")
        if outer and last not in self._announced:
            entry.comment.clear()
            return self._begun(level)
        if entry.declarations:
            entry = self._begun(level)
        kind = inner.type.removesuffix("_specifier")
        entry.title = f"{kind} {_escaped(self._text(name))}"
        entry.declarations.append(self._cut(node, body.start_byte) + ";")
        self._walk(body.children, min(level + 1, 6), public=inner.type != "class_specifier")
        return self._begun(level)

    def _declaration(self, node: Node) -> str:
        """Return a declaration without its body; empty where there is nothing to know."""
        if node.type in {"preproc_def", "preproc_function_def"}:
            first = self._text(node).split("\n")[0].rstrip(" \\")
            return "" if re.search(r"_H_$", first) else re.sub(r"(#define \w+(\([^)]*\))?).*", r"\1", first)
        function = next(_descend(node, "function_definition"), None)
        if function is None:
            text = self._cut(node, node.end_byte)
            return "" if re.search(r"= delete;$|operator=\(.*= default;$", text) else text
        stops = [
            child.start_byte
            for child in function.children
            if child.type in {"compound_statement", "field_initializer_list", "try_statement"}
        ]
        text = self._cut(node, min(stops, default=node.end_byte))
        return "" if re.search(r"= delete;?$|operator=\(.*= default;?$", text) else text.rstrip(";") + ";"

    def _cut(self, node: Node, end: int) -> str:
        """Return the text of a node up to a byte, as if it stood at the margin."""
        text = self._source[node.start_byte : end].decode().rstrip()
        return textwrap.dedent(" " * node.start_point[1] + text)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode()


def _body(node: Node) -> list[Node]:
    body = node.child_by_field_name("body")
    return body.children if body is not None else []


def _specifiers(node: Node) -> Iterator[Node]:
    """Yield the class that a node defines, if it does: alone, as a template, or within another class."""
    if node.type in _SPECIFIERS:
        yield node
    elif node.type in {"template_declaration", "field_declaration", "declaration"}:
        for child in node.children:
            yield from _specifiers(child)


def _descend(node: Node, kind: str) -> Iterator[Node]:
    if node.type == kind:
        yield node
    elif node.type == "template_declaration":
        for child in node.children:
            yield from _descend(child, kind)


def _uncommented(text: str) -> str:
    return re.sub(r"^//+ ?", "", text)


def _prose(lines: list[str], link: Link) -> str:
    """Return a comment as Markdown: what is not code in it is text, and the names of files are links."""
    shown: list[str] = []
    in_code = False
    for line in lines:
        if in_code and line and not line.startswith("    "):
            shown += ["```", ""]
            in_code = False
        if not in_code and line.startswith("    ") and (not shown or not shown[-1]):
            shown.append("```cpp")
            in_code = True
        if in_code:
            shown.append(line[4:])
            continue
        if re.match(r"\s*(-|\d+\.) ", line) and shown and re.match(r"\s*\S", shown[-1]):
            before = next((text for text in reversed(shown) if re.match(r"\S", text)), "")
            if not re.match(r"(-|\d+\.) ", before):
                shown.append("")  # a list that follows a line of text
        if (
            re.match(r"\S", line)
            and not re.match(r"(-|\d+\.) ", line)
            and shown
            and re.match(r"\s+\S", shown[-1])
        ):
            shown.append("")  # text that follows a list, whose lines are indented
        shown.append(_escaped(line, link))
    if in_code:
        while shown and not shown[-1]:
            shown.pop()
        shown.append("```")
    return "\n".join(shown).strip("\n")


def _escaped(text: str, link: Link = lambda _: None) -> str:
    """Return a line in which only code in backquotes and links to files that exist are markup."""

    def named(found: re.Match[str]) -> str:
        target = link(found[0])
        return f"[{_plain(found[0])}]({target})" if target else _plain(found[0])

    parts = re.split(r"(`[^`]*`)", text)
    for place in range(0, len(parts), 2):
        words = re.split(r"([\w/.-]*\w\.(?:h|md)\b)", parts[place])
        for odd in range(len(words)):
            words[odd] = re.sub(r".+", named, words[odd]) if odd % 2 else _plain(words[odd])
        parts[place] = "".join(words)
    return re.sub(r"^(\s*)#", r"\1\\#", "".join(parts))


def _plain(text: str) -> str:
    return re.sub(r"[*_\[\]]", r"\\\g<0>", text).replace("<", "&lt;")
