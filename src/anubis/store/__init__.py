"""Runs, points and samples in SQLite or PostgreSQL; objects and records in folders."""

from anubis.store.folder_records import FolderRecords
from anubis.store.folders import FolderObjects
from anubis.store.opening import Store, open_store

__all__ = ["FolderObjects", "FolderRecords", "Store", "open_store"]
