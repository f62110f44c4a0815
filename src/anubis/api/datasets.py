"""Datasets in the cache."""

from collections.abc import Mapping
from typing import Any

from anubis.api.json_values import Json
from anubis.contracts.datasets import Dataset, DatasetFile, FetchProgress, StoredDataset


def dataset_to_json(stored: StoredDataset, *, with_files: bool = False) -> Json:
    """A source in the cache; with all files of its dataset if they are wanted."""
    dataset = stored.dataset
    plain: Json = {
        "src": stored.src,
        "digest": dataset.digest if dataset else None,
        "folder": dataset.is_folder if dataset else None,
        "files": len(dataset.files) if dataset else None,
        "size_bytes": dataset.size_bytes if dataset else stored.progress.size_bytes,
        "done_bytes": dataset.size_bytes if dataset else stored.progress.done_bytes,
        "declared_digest": stored.declared or None,
        "unpacked": stored.unpacked,
        "fetched_s": stored.fetched_s,
        "used_s": stored.used_s,
    }
    if with_files and dataset:
        plain["content"] = [
            {"path": file.path, "sha256": file.sha256, "size_bytes": file.size_bytes, "version": file.version}
            for file in dataset.files
        ]
    return plain


def dataset_from_json(plain: Mapping[str, Any]) -> StoredDataset:
    """The source in the cache whose JSON has all files."""
    files = tuple(DatasetFile(**file) for file in plain.get("content", ()))
    return StoredDataset(
        src=plain["src"],
        dataset=Dataset(digest=plain["digest"], files=files) if plain["digest"] else None,
        fetched_s=plain["fetched_s"],
        used_s=plain["used_s"],
        declared=plain["declared_digest"] or "",
        unpacked=plain["unpacked"],
        progress=FetchProgress()
        if plain["digest"]
        else FetchProgress(done_bytes=plain["done_bytes"], size_bytes=plain["size_bytes"]),
    )
