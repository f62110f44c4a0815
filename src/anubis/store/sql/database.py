"""Named statements on a database, from several threads: connections, transactions, errors."""

import contextlib
import gc
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from anubis.model.errors import FullError
from anubis.store.sql.drivers import Driver

T = TypeVar("T")
#: A named tuple: columns are attributes by the names that the statement gives them.
Row = Any

#: Maximum number of elements of one list: SQLite accepts statements of up to a million bytes.
MAX_LISTED = 10_000
#: From this length on lists are written as literals, because SQLite looks up named parameters by linear search.
_LONG_LIST = 500
_ATTEMPTS = 5
_LIST = re.compile(r"\{(\w+)\}")
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


@cache
def statements_of(database: str) -> Mapping[str, str]:
    """The statements of ``sqlite`` or ``postgresql``, by name."""
    parts = _NAME.split((Path(__file__).with_name(f"{database}.sql")).read_text(encoding="utf-8"))
    return {name: sql.strip() for name, sql in zip(parts[1::2], parts[2::2], strict=True)}


def list_token(name: str) -> str:
    """The placeholder for the elements of a list in a statement; ``Session`` replaces it."""
    return f"{{{name}}}"


@cache
def _row_maker(columns: tuple[str, ...]) -> Callable[[Iterable[Any]], Row]:
    row: Any = namedtuple("Row", columns)  # type: ignore[misc]  # noqa: PYI024  the names come with the result
    make: Callable[[Iterable[Any]], Row] = row._make
    return make


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Reading rows makes no cycles, but a tuple for each: the collector would look at all of them again and again.

    That takes a third of the time of 160,000 rows.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def chunked(values: Iterable[T], size: int = MAX_LISTED) -> Iterator[list[T]]:
    """The values in lists of at most ``size``."""
    remaining = iter(values)
    while chunk := list(islice(remaining, size)):
        yield chunk


class Session:
    """Statements on one connection."""

    def __init__(self, connection: Any, driver: Driver) -> None:
        self.connection = connection
        self.driver = driver
        #: Whether the session must not be used again.
        self.broken = False
        #: Whether commits wait for the disk; None: the default of the connection.
        self.durable: bool | None = None
        self._sql = statements_of(driver.name)

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """The rows that a statement returns."""
        return self.ask(self._sql[name], values)

    def row(self, name: str, /, **values: Any) -> Row:
        """The row of a statement that returns exactly one row."""
        (row,) = self.rows(name, **values)
        return row

    def columns(self, name: str, /, **values: Any) -> Row:
        """The columns of the rows that a statement returns, each a tuple, without an object for each row."""
        sql = self._sql[name]
        cursor = self.connection.execute(self._with_lists(sql, values), values)
        names = tuple([column[0] for column in cursor.description])
        with _without_garbage_collection():
            columns = list(zip(*cursor.fetchall(), strict=True))
        return _row_maker(names)(columns or [()] * len(names))

    def ask(self, sql: str, values: dict[str, Any]) -> list[Row]:
        """The rows of a statement that is composed of named parts."""
        cursor = self.connection.execute(self._with_lists(sql, values), values)
        make = _row_maker(tuple([column[0] for column in cursor.description]))
        return list(map(make, cursor.fetchall()))

    def write(self, name: str, /, **values: Any) -> int:
        """Execute a statement that returns no rows. Returns the number of changed rows."""
        changed: int = self.connection.execute(self._with_lists(self._sql[name], values), values).rowcount
        return changed

    def write_all(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute a statement for each of the rows."""
        cursor = self.connection.cursor()
        cursor.executemany(self._sql[name], rows)
        cursor.close()

    def notify(self, news: str) -> None:
        """Tell listeners (``listening``) what this transaction writes, when it commits."""
        if self.driver.notify:
            self.connection.execute(self.driver.notify, {"news": news})

    def _with_lists(self, sql: str, values: dict[str, Any]) -> str:
        """The statement with the elements of each list parameter; short lists become parameters in ``values``."""
        if "{" not in sql:
            return sql

        def written(match: re.Match[str]) -> str:
            items = values.pop(match[1])
            if len(items) > _LONG_LIST:
                return ", ".join(map(self._literal, items))
            elements = {f"{match[1]}_{i}": item for i, item in enumerate(items)}
            values.update(elements)
            return ", ".join(map(self.driver.parameter.format, elements)) or "NULL"

        return _LIST.sub(written, sql)

    def _literal(self, item: int | bytes) -> str:
        """The item as digits only, which cannot inject SQL."""
        return self.driver.blob.format(item.hex()) if isinstance(item, bytes) else f"{item:d}"


class Database:
    """A pool of connections: each is used by one thread at a time and reused."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._idle: list[Session] = []  # append and pop are atomic
        self._closed = False

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """The rows of one statement that only reads."""
        return self._again(lambda session: session.rows(name, **values))

    def columns(self, name: str, /, **values: Any) -> Row:
        """The columns of one statement that only reads; see ``Session.columns``."""
        return self._again(lambda session: session.columns(name, **values))

    def write(self, name: str, /, **values: Any) -> int:
        """Execute one statement in a separate transaction. Returns the number of changed rows."""
        return self._again(lambda session: session.write(name, **values), durable=True)

    def lease(self, name: str, /, **values: Any) -> list[Row]:
        """The rows of one statement in a transaction that need not be durable.

        A lease that a power failure loses is fenced like any expired lease.
        """
        return self._again(lambda session: session.rows(name, **values), durable=False)

    def notify(self, news: str) -> None:
        """Tell listeners at once what was written."""
        if self.driver.notify:
            self._again(lambda session: session.notify(news), durable=False)

    def transact(self, work: Callable[[Session], T], *, durable: bool = True) -> T:
        """Run ``work`` in one transaction, which is rolled back if it raises. It may be called again after a conflict.

        ``durable``: whether a power failure must not lose it once it is committed.
        """

        def whole(session: Session) -> T:
            session.connection.execute(self.driver.begin)
            try:
                result = work(session)
                session.connection.execute("COMMIT")
            except BaseException:
                self._roll_back(session)
                raise
            return result

        return self._again(whole, durable=durable)

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """One connection in autocommit mode. Raises StoreError if the database fails, DamagedDatabaseError if it is damaged."""
        session = self._take()
        try:
            yield session
        except self.driver.trouble as error:
            session.broken = True
            self._drop_idle()  # the other connections have probably failed too
            raise self.driver.explain(error) from error
        except Exception as error:
            if not self.driver.is_damage(error):
                raise
            session.broken = True
            self._drop_idle()
            raise self.driver.damaged(str(error).strip()) from error
        except (KeyboardInterrupt, SystemExit):  # perhaps in the middle of a statement
            session.broken = True
            raise
        finally:
            self._give_back(session)

    def close(self) -> None:
        """Close the idle connections; connections in use are closed when they are returned."""
        self._closed = True
        self._drop_idle()

    def _again(self, work: Callable[[Session], T], *, durable: bool | None = None) -> T:
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self.session() as session:
                    try:
                        if durable is not None and session.durable is not durable:
                            session.connection.execute(self.driver.durable[durable])
                            session.durable = durable
                        return work(session)
                    except self.driver.conflict:
                        if not left:
                            raise
            except FullError:
                if not left or not self.driver.make_room():
                    raise
        raise AssertionError  # the last attempt returned or raised

    def _take(self) -> Session:
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return Session(self.driver.connect(), self.driver)
        except self.driver.trouble as error:
            raise self.driver.explain(error) from error

    def _give_back(self, session: Session) -> None:
        if self._closed or session.broken:
            session.connection.close()
        else:
            self._idle.append(session)

    def _drop_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().connection.close()

    def _roll_back(self, session: Session) -> None:
        try:
            session.connection.execute("ROLLBACK")
        except Exception:  # noqa: BLE001  what matters is the error that led here
            session.broken = True
