"""Runs, points and samples in SQLite or PostgreSQL; objects and records in folders."""

from anubis.store.folder_records import FolderRecords
from anubis.store.folders import FolderObjects
from anubis.store.opening import Store, open_store
from anubis.store.sql.listening import EVENTS, WORK, Listener, listener_of

__all__ = [
    "EVENTS",
    "WORK",
    "FolderObjects",
    "FolderRecords",
    "Listener",
    "Store",
    "listener_of",
    "open_store",
]
