"""The name of a store: a file's path, or the URL of a PostgreSQL server's database."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from assay.errors import AssayError

_SCHEMES = ("postgresql://", "postgres://")
_CREDENTIALS = re.compile(r"([^@/]*)@")
"""As libpq reads a URL: what stands between the scheme and the first `@` or `/`."""
_SECRETS = {"password", "sslpassword"}


class Server:
    """A store on a PostgreSQL server. What is shown of it, `str` and `repr`, never has its password.

    `absolute` and `resolve` are those of a path: a URL means the same from every folder. It is not a
    dataclass, so that nothing writes all of its attributes.

    Attributes:
        url: the URL as it was given.
    """

    def __init__(self, shown: str, url: str) -> None:
        self._shown = shown
        self.url = url

    @classmethod
    def of(cls, url: str) -> "Server":
        """Return the store of a URL.

        Raises:
            AssayError: it has an @ that libpq would not take for the end of user and password.
        """
        scheme, _, rest = url.partition("://")
        credentials = _CREDENTIALS.match(rest)
        if credentials is None and "@" in rest.partition("?")[0]:
            raise AssayError(
                f"{scheme}://... has a password that is not escaped: write / as %2F, @ as %40, or leave it"
                " out and put it into ~/.pgpass"
            )
        place = rest
        if credentials:
            user = credentials[1].partition(":")[0]
            place = (f"{user}@" if user else "") + rest[credentials.end() :]
        address, _, query = place.partition("?")
        if query:
            kept = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] not in _SECRETS]
            address += "?" + urlencode(kept, safe="/,") if kept else ""
        return cls(f"{scheme}://{address}", url)

    def __str__(self) -> str:
        """Return the URL without passwords, which names the same store to whoever knows them."""
        return self._shown

    def __repr__(self) -> str:
        """Return the URL without passwords."""
        return f"Server({self._shown!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether the other one names the same store."""
        return isinstance(other, Server) and str(self) == str(other)

    def __hash__(self) -> int:
        """Return a hash of what is shown."""
        return hash(self._shown)

    @property
    def name(self) -> str:
        """What it is called for short, as a path's last part is."""
        return self.database

    @property
    def database(self) -> str:
        """The name of its database, for files; `assay` where the URL has none."""
        name = self._shown.partition("://")[2].partition("?")[0].partition("/")[2]
        return re.sub(r"[^\w-]", "_", unquote(name)) or "assay"

    def absolute(self) -> "Server":
        """Return itself."""
        return self

    def resolve(self) -> "Server":
        """Return itself."""
        return self


StoreName = Path | Server


def store_name(name: str | StoreName) -> StoreName:
    """Return the name of a store from a path or a URL, such as sqlite:///results/assay.sqlite.

    Raises:
        AssayError: the name is empty, or another kind of URL.
    """
    if isinstance(name, Server):
        return name
    text = str(name)
    if text.startswith(_SCHEMES):
        return Server.of(text)
    path = text.removeprefix("sqlite:///")
    is_url = path != text
    if (
        path in {"", ":memory:"}
        or (is_url and "?" in path)
        or (not is_url and (text.startswith("sqlite:") or "://" in text))
    ):
        scheme = text.partition("://")[0]
        known = "://" in text and scheme != "sqlite"  # whose URL may have a password
        raise AssayError(
            f'"{f"{scheme}://..." if known else text}" is not a store: name its file, sqlite:/// and its file'
            " without anything after it, or postgresql://USER@HOST/DATABASE"
        )
    return Path(path)
