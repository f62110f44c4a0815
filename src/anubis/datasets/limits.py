"""Settings of the cache of datasets."""

from dataclasses import dataclass
from pathlib import Path

from anubis.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchSettings:
    """How datasets are fetched."""

    #: Folder of the cache.
    folder: Path
    #: Free space that fetching leaves on the disk; bytes.
    min_free_bytes: int
    #: Parallel requests for one dataset; requests
    connections: int = setting("ANUBIS_DATA_CONNECTIONS", default=8, least=1)
    #: Attempts without progress after which fetching fails; attempts
    attempts: int = setting("ANUBIS_DATA_ATTEMPTS", default=5, least=1)
    #: Pause before the second attempt, doubled for each further one; seconds
    back_off_s: float = setting("ANUBIS_DATA_BACK_OFF_S", default=0.5)
    #: A connection that sends fewer bytes per second for `ANUBIS_DATA_PATIENCE_S` is given up; bytes per second
    min_bytes_per_s: int = setting("ANUBIS_DATA_MIN_BYTES_PER_S", default=1000)
    #: Longest time without data from a server; seconds
    patience_s: float = setting("ANUBIS_DATA_PATIENCE_S", default=30.0, least=0.1)
