"""A notifier that implements the contract and only stores alerts, and objects in memory."""

import io

from anubis.model.errors import NotFoundError, NotifyError


class FakeNotifier:
    """Stores the delivered alerts: (address, alert id, state) -> the alert as it was delivered last."""

    def __init__(self):
        self.told = {}
        #: Errors that the next calls raise instead of delivering, in this order.
        self.failures = []

    def notify(self, to, alert):
        if not to.partition(":")[2]:
            raise NotifyError(f"{to!r} names nobody", permanent=True, remedy="write fake:NAME")
        if self.failures:
            raise self.failures.pop(0)
        self.told[to, alert.id, alert.state] = alert


class MemoryObjects:
    """Bytes by key, in a dict."""

    def __init__(self):
        self.kept = {}

    def put(self, key, stream):
        self.kept[key] = stream.read()
        return len(self.kept[key])

    def open(self, key):
        if key not in self.kept:
            raise NotFoundError(key)
        return io.BytesIO(self.kept[key])
