"""The data sources of a benchmark."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """One dataset or model to fetch before the benchmark starts."""

    #: Address; its scheme chooses the source (s3, http, https, ftp, ftps, file, openml).
    src: str
    #: Absolute path at which the benchmark finds the bytes.
    path: str
    #: Channel name (SageMaker); default: derived from the position.
    id: str | None = None
    #: `md5:<32 hex>` or `sha256:<64 hex>`; default: not verified.
    digest: str | None = None
    #: Extract an archive after fetching it.
    unpack: bool = False
