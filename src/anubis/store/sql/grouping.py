"""Short writes of several threads in one transaction, so that they wait for the disk together."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class _Member(Generic[T]):
    """One write of a thread that waits for it."""

    __slots__ = ("error", "is_alone", "is_stored", "item", "turn")

    def __init__(self, item: T) -> None:
        self.item = item
        #: Set when the write is settled, or when its thread must write the next group.
        self.turn = threading.Event()
        self.is_stored = False
        #: Whether the write must be repeated without others.
        self.is_alone = False
        self.error: BaseException | None = None


class Grouping(Generic[T]):
    """Stores items that arrive while others are written together with the next ones.

    The thread whose item is the oldest writes the group. It then hands the next group to the thread of its oldest item,
    so no thread works for others longer than for one group, and no thread is needed besides those that write. An item is
    returned to its thread only when its transaction is on the disk. If a group fails, each of its items is written
    separately, by its thread, so an item that is refused does not affect the others. ``write`` may therefore be called
    again with the same items, also after a commit whose answer was lost.
    """

    def __init__(self, write: Callable[[Sequence[T]], None], *, most: int) -> None:
        """``write`` stores all of the items in one transaction, or none and raises; ``most``: items of one group."""
        self._write = write
        self._most = most
        self._lock = threading.Lock()
        self._waiting: deque[_Member[T]] = deque()
        self._is_busy = False

    def store(self, item: T) -> None:
        """Store an item; returns when it is on the disk. Raises what ``write`` raises for it."""
        member = _Member(item)
        with self._lock:
            self._waiting.append(member)
            is_first, self._is_busy = not self._is_busy, True
        if not is_first:
            try:
                member.turn.wait()
            except BaseException:  # an interrupt; others may be waiting for this thread
                self._withdraw(member)
                raise
        if not (member.is_stored or member.is_alone):  # the group of this member is next
            self._write_next()
        if member.is_alone:
            self._write([member.item])
        elif member.error is not None:
            raise member.error

    def _write_next(self) -> None:
        """Write the oldest waiting items, that of this thread first."""
        with self._lock:
            group = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
        first, *others = group
        try:
            self._write([member.item for member in group])
        except Exception as error:  # noqa: BLE001  raised in the thread of each item, if it occurs again
            first.error = error
            for member in group if others else ():
                member.is_alone = True
        except BaseException:  # this thread ends; the others continue
            for member in others:
                member.is_alone = True
            raise
        else:
            for member in group:
                member.is_stored = True
        finally:
            self._pass_on()
            for member in others:
                member.turn.set()

    def _pass_on(self) -> None:
        """Let the thread of the oldest waiting item write the next group."""
        with self._lock:
            self._is_busy = bool(self._waiting)
            if self._waiting:
                self._waiting[0].turn.set()

    def _withdraw(self, member: _Member[T]) -> None:
        with self._lock:
            if member not in self._waiting:  # another thread writes it
                return
            is_next = member.turn.is_set()
            self._waiting.remove(member)
        if is_next:
            self._pass_on()
