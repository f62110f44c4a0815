"""Ships the records of an attempt: one thread for each role and rank, which survives every failure of the network."""

import threading
from collections.abc import Callable
from pathlib import Path

from anubis.pipeline.host import peers
from anubis.record import liveness
from anubis.record.replication import Receiver, RefusedError, Sender


class _StoppedError(Exception):
    """The shipper was asked to end."""


class Shipping:
    """The shippers of one attempt. Not thread-safe."""

    def __init__(self, url_of: Callable[[str, str], str], report: Callable[[str], None]) -> None:
        """``url_of``: the address for a role and a rank."""
        self._url_of = url_of
        self._report = report
        self._shippers: dict[Path, _Shipper] = {}

    def look(self, measured: Path, token: str) -> None:
        """Start shippers for the records whose agents have started."""
        for record in (measured, *peers.records(measured)):
            if record not in self._shippers and liveness.state(str(record)) != liveness.ABSENT:
                url = self._url_of(record.parent.name, record.name)
                self._shippers[record] = _Shipper(str(record), url, token, self._report)

    @property
    def is_complete(self) -> bool:
        """Whether the service has everything, or refuses it."""
        return not any(shipper.is_alive() for shipper in self._shippers.values())

    @property
    def refusal(self) -> str:
        """Why the service refuses a record; empty: it does not."""
        return next((each.refusal for each in self._shippers.values() if each.refusal), "")

    def stop(self) -> None:
        """Ask all shippers to end."""
        for shipper in self._shippers.values():
            shipper.stop()


class _Shipper(threading.Thread):
    def __init__(self, record: str, url: str, token: str, report: Callable[[str], None]) -> None:
        super().__init__(name=f"ship {record}", daemon=True)
        self._given = (record, url, token, report)
        self._stopped = threading.Event()
        self.refusal = ""
        self.start()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        record, url, token, report = self._given
        try:
            receiver = Receiver(url, token, self._sleep, report)
            Sender(record, receiver, self._sleep).run()
        except _StoppedError:
            pass
        except (RefusedError, OSError) as error:
            self.refusal = str(error)

    def _sleep(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            raise _StoppedError
