"""Named statements on a database, from several threads: connections, transactions, errors."""

import contextlib
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from anubis.model.errors import StoreError
from anubis.store.sql.drivers import Driver

T = TypeVar("T")
#: A named tuple: columns are attributes by the names that the statement gives them.
Row = Any

#: Most elements of one list: SQLite reads statements of up to a million bytes.
MOST_LISTED = 10_000
#: From this length on lists are written out: SQLite looks every named parameter up among all the others.
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
    """What stands in a statement in place of the elements of a list; ``Session`` fills it in."""
    return f"{{{name}}}"


@cache
def _row_maker(columns: tuple[str, ...]) -> Callable[[Iterable[Any]], Row]:
    row: Any = namedtuple("Row", columns)  # type: ignore[misc]  # noqa: PYI024  the names come with the result
    make: Callable[[Iterable[Any]], Row] = row._make
    return make


def transposed(rows: Sequence[Row]) -> Row:
    """The columns of at least one row, by the same names."""
    return rows[0]._make(zip(*rows, strict=True))


def chunked(values: Iterable[T], size: int = MOST_LISTED) -> Iterator[list[T]]:
    """The values in lists of at most ``size``."""
    remaining = iter(values)
    while chunk := list(islice(remaining, size)):
        yield chunk


class Session:
    """Statements on one connection."""

    def __init__(self, connection: Any, driver: Driver) -> None:
        self.connection = connection
        self.driver = driver
        #: Not to be used again.
        self.broken = False
        #: Whether commits wait for the disk; None: as the connection came.
        self.durable: bool | None = None
        self._sql = statements_of(driver.name)

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """The rows of a statement that returns some."""
        return self.ask(self._sql[name], values)

    def row(self, name: str, /, **values: Any) -> Row:
        """The row of a statement that returns exactly one."""
        (row,) = self.rows(name, **values)
        return row

    def ask(self, sql: str, values: dict[str, Any]) -> list[Row]:
        """The rows of a statement put together from named parts."""
        cursor = self.connection.execute(self._with_lists(sql, values), values)
        make = _row_maker(tuple([column[0] for column in cursor.description]))
        return list(map(make, cursor.fetchall()))

    def write(self, name: str, /, **values: Any) -> int:
        """Execute a statement that returns no rows; how many it changed."""
        changed: int = self.connection.execute(self._with_lists(self._sql[name], values), values).rowcount
        return changed

    def write_all(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute a statement for each of the rows."""
        cursor = self.connection.cursor()
        cursor.executemany(self._sql[name], rows)
        cursor.close()

    def _with_lists(self, sql: str, values: dict[str, Any]) -> str:
        """The statement with each list parameter written out; ``values`` then holds its elements."""
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
        """Digits only, whatever it was: nothing in it can be mistaken for SQL."""
        return self.driver.blob.format(item.hex()) if isinstance(item, bytes) else f"{item:d}"


class Database:
    """A pool of connections: each is used by one thread at a time and kept for the next."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self._idle: list[Session] = []  # append and pop are atomic
        self._closed = False

    def rows(self, name: str, /, **values: Any) -> list[Row]:
        """The rows of one statement that only reads."""
        return self._again(lambda session: session.rows(name, **values))

    def write(self, name: str, /, **values: Any) -> int:
        """Execute one statement in a transaction of its own; how many rows it changed."""
        return self._again(lambda session: session.write(name, **values), durable=True)

    def lease(self, name: str, /, **values: Any) -> list[Row]:
        """The rows of one statement in a transaction that need not survive the machine: whoever forgets a lease
        because of a power cut is fenced off like anybody else.
        """
        return self._again(lambda session: session.rows(name, **values), durable=False)

    def transact(self, work: Callable[[Session], T]) -> T:
        """``work`` in one transaction: all of it, or nothing when it raises. It may be called again after a conflict."""

        def whole(session: Session) -> T:
            session.connection.execute(self.driver.begin)
            try:
                result = work(session)
                session.connection.execute("COMMIT")
            except BaseException:
                self._roll_back(session)
                raise
            return result

        return self._again(whole, durable=True)

    @contextlib.contextmanager
    def session(self) -> Iterator[Session]:
        """One connection in autocommit mode. Raises StoreError when the database is in trouble."""
        session = self._take()
        try:
            yield session
        except self.driver.trouble as error:
            session.broken = True
            self._drop_idle()  # what happened to one connection has happened to all of them
            raise self._trouble(error) from error
        except (KeyboardInterrupt, SystemExit):  # perhaps in the middle of a statement
            session.broken = True
            raise
        finally:
            self._give_back(session)

    def close(self) -> None:
        """Close the connections that nobody uses; those in use close when they are given back."""
        self._closed = True
        self._drop_idle()

    def _again(self, work: Callable[[Session], T], *, durable: bool | None = None) -> T:
        for left in reversed(range(_ATTEMPTS)):
            with self.session() as session:
                try:
                    if durable is not None and session.durable is not durable:
                        session.connection.execute(self.driver.durable[durable])
                        session.durable = durable
                    return work(session)
                except self.driver.conflict:
                    if not left:
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
            raise self._trouble(error) from error

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

    def _trouble(self, error: Exception) -> StoreError:
        return StoreError(
            f"the database {self.driver.place} cannot be used: {str(error).strip()}",
            remedy="look at its disk (space, permissions) or its server, then try again",
        )
