"""Text and JSON as each database can hold them, without a loss.

SQLite holds any text. PostgreSQL's has no U+0000, and its JSON functions refuse a document that has one or
half a surrogate pair, even where they are escaped. So the store on PostgreSQL has U+001A, SUBSTITUTE, in
their place, and in that of itself:

    U+0000 in a text: U+001A "0";   U+001A: U+001A "1"
    \\u0000 in JSON: \\u001a0;   \\u001a: \\u001a1;   half a pair, such as \\ud800: \\u001ad800

JSON has control characters only as escapes, so that a document with such a replacement is JSON as before.
JSON is kept as text, not as `jsonb`, which also refuses NaN and infinities, and forgets how numbers are
written.
"""

import json
import re
from typing import Any

_TEXT = {"\0": "\x1a0", "\x1a": "\x1a1"}
_TEXT_BACK = {held: text for text, held in _TEXT.items()}
_JSON = re.compile(
    r"\\u(0000|001a|d[89ab][0-9a-f]{2}(?:\\ud[c-f][0-9a-f]{2})?|d[c-f][0-9a-f]{2})|\\.", re.IGNORECASE
)
_JSON_BACK = re.compile(r"\\u001a([01]|d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE)


def to_json(value: Any) -> str:
    """Return `value` as compact JSON that a database can hold.

    Text is not escaped, because SQLite's JSON paths find only keys without escapes. If it has half a
    surrogate pair, which UTF-8 cannot express, everything outside ASCII is escaped.

    Raises:
        ValueError: a number in it is not finite (the protocol admits none).
    """
    text = _encode(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def text_to_postgresql(text: str) -> str:
    """Return a text as PostgreSQL can hold it."""
    return re.sub("[\0\x1a]", lambda found: _TEXT[found[0]], text)


def text_from_postgresql(text: str) -> str:
    """Return the text that `text_to_postgresql` got."""
    return re.sub("\x1a[01]", lambda found: _TEXT_BACK[found[0]], text) if "\x1a" in text else text


def json_to_postgresql(text: str) -> str:
    """Return a JSON text of which PostgreSQL's functions can read each value."""
    return _JSON.sub(_replaced, text_to_postgresql(text)) if "\\u" in text else text_to_postgresql(text)


def _replaced(found: re.Match[str]) -> str:
    code = found[1]
    if code is None or len(code) > len("d800"):
        return found[0]  # another escape, or a whole pair
    if code == "0000":
        return "\\u001a0"
    return f"{found[0]}1" if code[0] == "0" else f"\\u001a{code}"


def json_from_postgresql(text: str) -> str:
    """Return the JSON text that `json_to_postgresql` got."""
    if "\\u001" in text:
        text = _JSON_BACK.sub(_restored, text)
    return text_from_postgresql(text)


def _restored(found: re.Match[str]) -> str:
    match found[1]:
        case None:
            return found[0]
        case "0":
            return "\\u0000"
        case "1":
            return found[0][:-1]
        case half:
            return f"\\u{half}"
