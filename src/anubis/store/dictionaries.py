"""Short texts that many rows share, as numbers. Once given, a number is never taken back, so it may be cached."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from anubis.store.sql.database import Database, Row, Session, chunked
from anubis.store.text import clean

K = TypeVar("K")

#: Texts in one statement (they are parameters, which long lists must not be: see ``database``).
_AT_ONCE = 500


class Dictionaries:
    """Numbers of words, metrics (name, unit) and series (key, fingerprint).

    New entries are committed before the transaction that refers to them begins: one that is rolled back must not
    leave numbers behind in the cache that the database never saw.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._words: dict[str, int] = {}
        self._metrics: dict[tuple[str, str], int] = {}
        self._series: dict[tuple[str, str], int] = {}

    def words(self, wanted: Iterable[str | None]) -> dict[str, int]:
        """The number of each word (``clean``); None is skipped."""

        def find(session: Session, missing: list[str]) -> list[Row]:
            session.write_all("remember_word", [{"word": word} for word in missing])
            return session.rows("find_words", words=missing)

        given = {clean(word) for word in wanted if word is not None}
        self._learn(self._words, given, find, lambda row: str(row.word))
        return self._words

    def metrics(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The number of each (name, units)."""

        def find(session: Session, missing: list[tuple[str, str]]) -> list[Row]:
            session.write_all("remember_metric", [{"name": n, "units": u} for n, u in missing])
            return session.rows("find_metrics", names=sorted({name for name, _ in missing}))

        self._learn(self._metrics, set(wanted), find, lambda row: (row.name, row.units))
        return self._metrics

    def series(self, wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """The number of each (series key, fingerprint)."""

        def find(session: Session, missing: list[tuple[str, str]]) -> list[Row]:
            session.write_all("remember_series", [{"series_key": k, "fingerprint": f} for k, f in missing])
            return session.rows("find_series", series_keys=sorted({key for key, _ in missing}))

        self._learn(self._series, set(wanted), find, lambda row: (row.series_key, row.fingerprint))
        return self._series

    def _learn(
        self,
        known: dict[K, int],
        wanted: set[K],
        find: Callable[[Session, list[K]], list[Row]],
        key: Callable[[Row], K],
    ) -> None:
        # Sorted, so that two writers of the same words wait for one another instead of in a circle.
        for missing in chunked(sorted(wanted - known.keys()), _AT_ONCE):  # type: ignore[type-var]
            rows = self._database.transact(lambda session, missing=missing: find(session, missing))  # type: ignore[misc]
            known.update((key(row), row.id) for row in rows)
