"""PostgreSQL's part: how a store on a server is connected to, created, written and locked, and its errors.

All that belongs to a store is in one schema of one database: the first of the connection's search path.
"""

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import Connection, Engine, Table, create_engine
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.exc import DBAPIError

from assay.errors import AssayError
from assay.store.database import KEPT, Database, Rows, ServerGoneError, run_sql
from assay.store.encoding import text_from_postgresql
from assay.store.migrate import check_version, migrate
from assay.store.names import Server
from assay.store.schema import VERSION, metadata, version
from assay.store.views import ViewSql, quoted
from assay.words import one_line

Connected = psycopg.Connection[tuple[Any, ...]]

OLDEST_SERVER = 15
CONNECT_TIMEOUT_S = 10
_NOTICES_A_CUT = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # ms
}
"""A connection whose network was cut is lost after about 25 s; without, it would wait for hours."""
_SERVER_NOTICES = " ".join(
    f"-c tcp_{name}" for name in ("keepalives_idle=10", "keepalives_interval=5", "keepalives_count=3")
)
"""The same for the server, which holds the locks of a process until it knows that it is gone."""
LONGEST_S = 60
"""The most seconds that a query may run."""

_VIEW = ViewSql(
    flaws="CASE WHEN c.deliberate = 'true' THEN coalesce(p.request::json ->> 'flaws', '[]') END",
    values={
        "factor": "(j.levels ->> {name}){type}",
        "metric": "CASE WHEN t.status = 'valid' THEN (j.metrics ->> {name})::float8 END",
        "before": "(j.before ->> {name})::float8",
        "after": "(j.after ->> {name})::float8",
    },
    # OFFSET keeps the JSON apart from the columns, so that it is parsed once a row, and only if it is needed.
    rows="CREATE VIEW {view} AS WITH c AS MATERIALIZED (\n"
    "  SELECT id, json_or_null(resolved) #>> '{{pitfall,deliberate}}' AS deliberate\n"
    "  FROM campaign WHERE experiment_id = {experiment_id}\n"
    ")\nSELECT\n  {columns}\nFROM c JOIN trial AS t ON t.campaign_id = c.id\n"
    "JOIN planned_trial AS p ON p.campaign_id = t.campaign_id AND p.ordinal = t.ordinal\n"
    "CROSS JOIN LATERAL (SELECT p.levels::jsonb AS levels, t.metrics::jsonb AS metrics,\n"
    "  t.calibration_before::jsonb AS before, t.calibration_after::jsonb AS after OFFSET 0) AS j",
    types={"whole": "::int8", "real": "::float8", "text": ""},
    longest=63,
)

_FUNCTIONS = (
    """
CREATE FUNCTION json_or_null(text) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN $1::json;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END $$""",
    """
CREATE FUNCTION quantile_step(state float8[], x float8, p float8) RETURNS float8[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF p IS NULL OR NOT p BETWEEN 0 AND 1 THEN
    RAISE 'quantile(x, p) needs a p from 0 to 1, not %', p USING ERRCODE = 'invalid_parameter_value';
  ELSIF state[1] <> p THEN
    RAISE 'quantile(x, p) needs one p for a whole group, not % and %', state[1], p
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF state IS NULL THEN
    state := ARRAY[p];
  END IF;
  RETURN CASE WHEN x IS NULL THEN state ELSE array_append(state, x) END;
END $$""",
    """
CREATE FUNCTION quantile_end(state float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT percentile_cont(state[1]) WITHIN GROUP (ORDER BY x) FROM unnest(state[2:]) AS x
$$""",
    """
CREATE FUNCTION median_end(state float8[]) RETURNS float8 LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(state) AS x
$$""",
    "CREATE AGGREGATE quantile(float8, float8)"
    " (SFUNC = quantile_step, STYPE = float8[], FINALFUNC = quantile_end)",
    "CREATE AGGREGATE median(float8) (SFUNC = array_append, STYPE = float8[], FINALFUNC = median_end)",
    """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND current_setting('assay.removing', true) = 'on' THEN
    RETURN OLD;
  END IF;
  RAISE 'a store only grows: % rows are never changed', TG_TABLE_NAME
    USING ERRCODE = 'integrity_constraint_violation';
END $$""",
)

_VIEWS = (
    """
CREATE VIEW findings AS SELECT campaign_id AS campaign, audited_at, value ->> 'rule' AS rule,
  value ->> 'severity' AS severity, value ->> 'message' AS message, value ->> 'where' AS places,
  value ->> 'evidence' AS evidence, value ->> 'remedy' AS remedy, value ->> 'trials' AS trials
FROM audit, json_array_elements(coalesce(json_or_null(findings), '[]')) AS value
WHERE audit.id IN (SELECT max(id) FROM audit GROUP BY campaign_id)""",
    """
CREATE VIEW verdicts AS SELECT campaign_id AS campaign, concluded_at, value ->> 'metric' AS metric,
  value ->> 'context' AS context, value ->> 'level' AS level, value ->> 'baseline' AS baseline,
  value ->> 'verdict' AS verdict, (value ->> 'ratio')::float8 AS ratio, (value ->> 'low')::float8 AS low,
  (value ->> 'high')::float8 AS high, (value ->> 'p')::float8 AS p, (value ->> 'pairs')::int8 AS pairs,
  value ->> 'reason' AS reason
FROM conclusion, json_array_elements(coalesce(json_or_null(verdicts), '[]')) AS value
WHERE conclusion.id IN (SELECT max(id) FROM conclusion GROUP BY campaign_id)""",
    """
CREATE VIEW campaigns AS SELECT campaign.id AS campaign, experiment.name AS experiment, question, started_at,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id) AS trials,
  (SELECT count(*) FROM trial WHERE campaign_id = campaign.id AND status <> 'valid') AS not_valid,
  (SELECT string_agg(many || ' ' || verdict, ', ' ORDER BY verdict)
    FROM (SELECT verdict, count(*) AS many FROM verdicts
    WHERE verdicts.campaign = campaign.id GROUP BY verdict) AS of_campaign) AS verdicts,
  (SELECT string_agg(many || ' ' || severity || CASE WHEN many > 1 THEN 's' ELSE '' END, ', '
    ORDER BY severity = 'note', severity)
    FROM (SELECT severity, count(*) AS many FROM findings
    WHERE findings.campaign = campaign.id GROUP BY severity) AS of_campaign) AS findings
FROM campaign JOIN experiment ON experiment.id = experiment_id""",
)


class PostgresqlDatabase(Database):
    """A store on a server, where many processes of many hosts write at the same time.

    Transactions that write are READ COMMITTED: each writes rows of its own, and the names and views that they
    share are changed under a lock. Those that read see one moment.
    """

    view_sql = _VIEW

    def __init__(self, server: Server, engine: Engine) -> None:
        super().__init__(server, engine)
        self._server = server
        self._led: Connected | None = None  # holds the lock of the campaign that this process runs

    @classmethod
    def open(cls, server: Server, *, create: bool) -> Self:
        """Connect to a server; see `Store.open`."""
        # libpq reads the URL: it knows more than SQLAlchemy, such as several hosts, and service files.
        engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: connected(server),
            pool_pre_ping=True,  # the server may have been started again in between
            pool_size=2,
            max_overflow=-1,
        )
        try:
            with explained(server):
                _make_ready(engine, server, create=create)
            return cls(server, engine)
        except BaseException:
            engine.dispose()
            raise

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Yield a connection that sees the store at one moment."""
        with explained(self._server), self.engine.connect() as connection:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    @contextmanager
    def write(self, remedy: str) -> Iterator[Connection]:
        """Yield a connection in a transaction."""
        with explained(self._server, remedy), self.engine.begin() as connection:
            yield connection

    @property
    def read_only(self) -> bool:
        """Whether the role may only read, or the server is a standby."""
        with explained(self._server), self.engine.connect() as connection:
            sql = (
                "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
                " OR NOT has_table_privilege('trial', 'INSERT')"
            )
            return bool(connection.exec_driver_sql(sql).scalar_one())

    def query(self, sql: str, view: str | None, campaign: int | None) -> Rows:
        """Return the columns and rows of one query; `median(x)` and `quantile(x, p)` are there."""
        with explained(self._server), connected(self._server) as connection:
            connection.read_only = True
            return _run_query(connection, sql, view, campaign)

    def insert_new(self, table: Table) -> Insert:
        """Return the statement that inserts rows that do not exist yet."""
        return insert(table).on_conflict_do_nothing()

    def reserve_numbers(self, connection: Connection, table: Table) -> None:
        """Let this transaction alone number rows of a table; it calls `numbered` at its end."""
        connection.exec_driver_sql(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE")

    def numbered(self, connection: Connection, table: Table) -> None:
        """Have the database number rows from the highest number on that was written."""
        connection.exec_driver_sql(
            f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id))"  # noqa: S608
            f" FROM {table.name}"
        )

    def now(self, connection: Connection) -> datetime:
        """Return the time of the server, whatever the hosts' clocks say."""
        found: datetime = connection.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return found

    def replace_view(self, connection: Connection, view: str, created: str) -> None:
        """Drop a view, and create it anew by a statement; it stays where a view of somebody needs it."""
        try:
            with connection.begin_nested():
                super().replace_view(connection, view, created)
        except DBAPIError as error:
            if not isinstance(error.orig, errors.DependentObjectsStillExist):
                raise

    def lock_views(self, connection: Connection) -> None:
        """Keep other transactions from changing views, until this one ends."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_lock_key(connection, 'views')})")

    def taken_names(self, connection: Connection) -> list[str]:
        """Return the names that a new view cannot have; until the transaction ends, no other one adds any."""
        self.lock_views(connection)
        sql = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        return [*connection.exec_driver_sql(sql).scalars(), "trials"]

    @contextmanager
    def deletable(self, connection: Connection) -> Iterator[None]:
        """Permit a transaction to delete rows; afterwards the triggers refuse it as before."""
        self.lock_views(connection)
        connection.exec_driver_sql("SET LOCAL assay.removing = on")
        yield
        connection.exec_driver_sql("SET LOCAL assay.removing = off")

    def damages(self, connection: Connection) -> Iterator[tuple[int | None, str]]:
        """Yield nothing: the server checks its files and references itself."""
        yield from ()

    def check_in_place(self, go_on: str) -> None:
        """Check that the lock of the campaign that this process runs holds: it ends with its connection.

        Raises:
            AssayError: it does not.
        """
        if self._led is None:
            return
        try:
            self._led.execute("SELECT 1")
        except psycopg.Error as error:
            raise ServerGoneError(
                f"the connection to {self._server} was lost, and with it the right to run the campaign; all"
                f" that was recorded is there: {go_on}"
            ) from error

    @contextmanager
    def leading(self, campaign_id: int) -> Iterator[None]:
        """Hold the right to run trials of a campaign, which no other process on any host has then."""
        self._led = _led(self._server, campaign_id)
        try:
            yield
        finally:
            self._led.close()
            self._led = None

    def keep_leading(self, campaign_id: int) -> None:
        """Take the right to run a campaign again, if the server has lost it since `leading`."""
        if self._led is not None:
            try:
                self._led.execute("SELECT 1")
            except psycopg.Error:
                self._led.close()
                self._led = _led(self._server, campaign_id)

    def is_led(self, campaign_id: int) -> bool:
        """Return whether a process is `leading` a campaign."""
        with explained(self._server), connected(self._server) as connection:
            (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
            return bool(_owner(connection, _key(schema, f"campaign {campaign_id}")))


def connected(server: Server) -> Connected:
    """Return a new connection.

    Raises:
        AssayError: the URL is wrong, or the server does not answer or refuses.
    """
    try:
        given = conninfo_to_dict(server.url)
    except psycopg.ProgrammingError as error:
        # Its message may have a part of the password.
        raise AssayError(
            f"{server} is not the URL of a PostgreSQL server: write postgresql://USER@HOST:PORT/DATABASE,"
            " with other characters than letters and digits escaped as in %40"
        ) from error
    defaults = {
        "connect_timeout": CONNECT_TIMEOUT_S,
        **_NOTICES_A_CUT,
        "application_name": f"process {os.getpid()} on {socket.gethostname()}, assay"[:63],
    }
    options = " ".join(filter(None, [_SERVER_NOTICES, str(given.get("options") or "")]))
    missing: dict[str, Any] = {name: value for name, value in defaults.items() if name not in given}
    try:
        return psycopg.connect(make_conninfo(server.url, **missing, options=options, client_encoding="UTF8"))
    except psycopg.OperationalError as error:
        raise _cannot_connect(error, server) from error


def _make_ready(engine: Engine, server: Server, *, create: bool) -> None:
    """Create the tables where they are missing, or migrate them; raise an AssayError if neither can be."""
    with engine.connect() as connection:
        found = _version_of(connection, server)
    if found == VERSION:
        return
    if found is None and not create:
        raise AssayError(
            f"there is no store at {server}: run an experiment first (assay run experiments/quickstart.toml),"
            " or name the store with --store"
        )
    with engine.begin() as connection:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_lock_key(connection, 'views')})")
        found = _version_of(connection, server)  # another process may have been first
        if found is None:
            _create(connection)
        elif found < VERSION:
            migrate(connection, _VIEW)


def _version_of(connection: Connection, server: Server) -> int | None:
    """Return the version of the store; None if there is none.

    Raises:
        AssayError: the server or the database cannot have one.
    """
    sql = (
        "SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),"
        " current_schema(),"
        " (SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace),"
        " to_regclass(quote_ident(current_schema()) || '.planned_trial') IS NOT NULL"
        " AND to_regclass(quote_ident(current_schema()) || '.alembic_version') IS NOT NULL"
    )
    major, encoding, schema, relations, is_store = connection.exec_driver_sql(sql).one()
    if major < OLDEST_SERVER:
        raise AssayError(f"{server} is PostgreSQL {major}: Assay needs {OLDEST_SERVER} or later")
    if encoding != "UTF8":
        raise AssayError(
            f"the database of {server} has the encoding {encoding}, and a store holds any text: make one with"
            " createdb --encoding=UTF8 --template=template0 NAME"
        )
    if schema is None:
        raise AssayError(f"the search path of {server} leads to no schema: create it, or correct search_path")
    if not is_store:
        if relations:
            raise AssayError(
                f"{server} has tables of another program; it was left as it is: name another database with"
                " --store"
            )
        return None
    found = int(connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one())
    check_version(server, found, "create another database")
    return found


def _create(connection: Connection) -> None:
    metadata.create_all(connection)
    connection.execute(plain_insert(version), {"version_num": str(VERSION)})
    for statement in chain(_FUNCTIONS, _VIEWS):
        run_sql(connection, statement)
    for table in KEPT:
        run_sql(
            connection,
            f"CREATE TRIGGER refuses_change BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()",
        )


def _lock_key(connection: Connection, what: str) -> int:
    """Return the key of an advisory lock of a store, which is its schema: locks are those of the database."""
    return _key(connection.exec_driver_sql("SELECT current_schema()").scalar_one(), what)


def _key(schema: str, what: str) -> int:
    digest = hashlib.sha256(f"assay {schema} {what}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _led(server: Server, campaign_id: int) -> Connected:
    return _locked(server, f"campaign {campaign_id}", f"is running campaign {campaign_id}")


def _locked(server: Server, what: str, doing: str) -> Connected:
    """Return a connection that holds a lock of a store; the server releases it when the connection ends.

    Args:
        server: where the store is.
        what: is locked.
        doing: what its owner does, for the message.

    Raises:
        AssayError: another process holds it.
    """
    with explained(server):
        connection = connected(server)
    try:
        with explained(server):
            connection.autocommit = True
            (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
            key = _key(schema, what)
            (held,) = connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone() or (False,)
            if held:
                return connection
            owner = _owner(connection, key) or "unknown"
    except BaseException:
        connection.close()
        raise
    connection.close()
    raise AssayError(
        f"another process ({owner}) {doing} in {server}: wait until it ends, or stop it with Ctrl-C"
    )


def _owner(connection: Connected, key: int) -> str:
    sql = (
        "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory'"
        " AND granted AND objsubid = 1 AND classid = %s AND objid = %s"
    )
    high, low = (key & (2**64 - 1)) >> 32, key & (2**32 - 1)
    row = connection.execute(sql, [high, low]).fetchone()
    return row[0] if row else ""


def host_lock(server: Server) -> AbstractContextManager[Any]:
    """Hold the right of this host to run trials into a store: two campaigns would disturb each other."""
    host = socket.gethostname()
    return closing(_locked(server, f"host {host}", f"is running trials on {host}"))


_QUERY = re.compile(
    r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:(?:select|with|values|table)\b|\()", re.IGNORECASE | re.DOTALL
)


def _run_query(connection: Connected, sql: str, view: str | None, campaign: int | None) -> Rows:
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise AssayError("the query is not text in UTF-8; write bytes as '\\x00ff'::bytea") from error
    if "\0" in sql:
        raise AssayError("PostgreSQL has no text with U+0000; ask for chr(26) || '0', which stands for it")
    if not _QUERY.match(sql):
        raise AssayError("a query can only read the store: begin with select")
    # A subquery can only read. It also sees `trials`, for which a read-only role could not create a view.
    trials = ""
    if view is not None:
        where = "" if campaign is None else f" WHERE campaign = {campaign}"
        trials = f"WITH trials AS NOT MATERIALIZED (SELECT * FROM {quoted(view)}{where}) "  # noqa: S608
    whole = f"{trials}SELECT * FROM (\n{sql.rstrip().removesuffix(';')}\n) AS query"  # noqa: S608
    try:
        connection.execute(f"SET LOCAL statement_timeout = '{LONGEST_S}s'")
        # Prepared, as such a statement can be no two.
        cursor = connection.execute(whole.encode(), prepare=True)
        rows = cursor.fetchall()
        connection.rollback()  # PostgreSQL 15 takes large objects for something that a transaction may write
    except psycopg.Error as error:
        _raise_mistake(error, has_trials=view is not None)
        raise
    columns = [column.name for column in cursor.description or ()]
    return columns, [tuple(map(_plain, row)) for row in rows]


def _plain(value: Any) -> Any:
    """Return a value as SQLite has it."""
    match value:
        case str():
            return text_from_postgresql(value)
        case Decimal():
            return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
        case datetime():
            return value.isoformat(" ", "microseconds")
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)
        case None | int() | float() | bytes():
            return value
    return str(value)


def _raise_mistake(error: psycopg.Error, *, has_trials: bool) -> None:
    """Raise an AssayError if the query is wrong, and not the store."""
    state, text = error.sqlstate or "", error.diag.message_primary or str(error)
    match error:
        case errors.QueryCanceled():
            raise AssayError(
                f"the query was ended after {LONGEST_S} s; narrow it with where or limit, or run it in psql,"
                " which has no limit"
            ) from error
        case errors.ReadOnlySqlTransaction():
            raise AssayError("a query can only read the store: begin with select") from error
        case errors.UndefinedTable() if not has_trials and '"trials"' in text:
            raise AssayError(
                f"{text}; the store holds no campaign yet, so there is no view trials: run an experiment"
            ) from error
    if state.startswith("22") and " json" in text:
        raise AssayError(
            "a row that the query reads is damaged (malformed JSON): `assay store check` names its campaign,"
            " and --campaign N reads another one alone"
        ) from error
    if not state and "out of memory" in str(error):
        raise MemoryError from error
    if state[:2] in {"0A", "21", "22", "42", "54"} and state != errors.InsufficientPrivilege.sqlstate:
        hint = f" ({one_line(error.diag.message_hint)})" if error.diag.message_hint else ""
        raise AssayError(f"PostgreSQL does not understand the query: {one_line(text)}{hint}") from error


@contextmanager
def explained(server: Server, remedy: str = "try again") -> Iterator[None]:
    """Turn errors with a server into an AssayError; `remedy` says what the user should do after them."""
    try:
        yield
    except (DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(cause, psycopg.Error):
            kind = ServerGoneError if (cause.sqlstate or "08")[:2] in _GONE else AssayError
            raise kind(_explanation(cause, server, remedy)) from error
        raise


_GONE = {"08", "57"}
"""Classes of SQLSTATE: the connection was lost, or the server ended it."""

_REFUSALS = {
    "no password supplied": "it asks for a password: put it into {passwords} or the variable PGPASSWORD",
    "password authentication failed": "the password is wrong: correct it in {passwords} or in PGPASSWORD",
    "no pg_hba.conf entry": "it does not let this user in from here: add a line to its pg_hba.conf",
}
"""What libpq says when it cannot connect, and why that is, with the remedy."""


def _cannot_connect(error: psycopg.Error, server: Server) -> AssayError:
    said = str(error)
    why = next((why for text, why in _REFUSALS.items() if text in said), None)
    if why is not None:
        why = why.format(passwords=_password_file(server))
    elif missing := re.search(r'database "(.+)" does not exist', said):
        why = f"it has no database {missing[1]}: make it with createdb"
    first = said.partition("\n")[0]  # libpq asks in a second line whether the server runs
    kind = ServerGoneError if why is None else AssayError
    return kind(f"cannot connect to {server}: {why or f'{one_line(first, 200)}; see that it runs'}")


def _password_file(server: Server) -> str:
    """Return in which file libpq looks for the password, and what to do if it does not use it."""
    given = conninfo_to_dict(server.url).get("passfile")
    name = str(given or os.environ.get("PGPASSFILE") or "~/.pgpass")
    with suppress(OSError):
        if Path(name).expanduser().stat().st_mode & 0o077:
            return f"{name} (not used as long as others may read it: chmod 600 {name})"
    return name


def _explanation(error: psycopg.Error, server: Server, remedy: str) -> str:
    state, text = error.sqlstate or "08", one_line(error.diag.message_primary or str(error), 200)
    kept = "nothing that ended before is lost"
    match state[:2], error:
        case _, errors.DiskFull():
            return f"the disk of {server} is full; {kept}: free space and {remedy}"
        case _, errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            return (
                f"this role may not do that in {server} ({text}): use the role that owns the store, or have"
                " it grant that"
            )
        case "23" | "42", _:
            return f"{server} is damaged ({text}): restore it from a copy, or name another store with --store"
    reasons = {
        "08": f"the connection to {server} was lost ({text}); {kept}: see that it runs, then",
        "57": f"{server} ended the connection ({text}); {kept}: see that it runs, then",
        "53": f"{server} has too little memory or too few connections ({text}): later,",
        "40": f"another process changed the same in {server} ({text}):",
    }
    return f"{reasons.get(state[:2], f'{server} refuses what Assay asks ({text}):')} {remedy}"
