"""What an engine starts: complete commands, environments, files and mounts of every replica of every role."""

from dataclasses import dataclass, field

from anubis.model.bundle import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Something that appears at a path inside a container."""

    #: Absolute path inside.
    target: str
    #: File or folder of this machine; None: the engine brings the object's content there.
    source: str | None = None
    #: Object key of an archive whose content belongs at the target; None: ``source`` is mounted.
    archive: str | None = None
    read_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile:
    """A file that must be there before the agent starts."""

    content: bytes
    #: Permission bits.
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica of one role. Every path is one that its processes see."""

    role: Role
    #: Number within the role, from 0.
    rank: int
    #: The agent's command line, the benchmark's command at its end.
    argv: tuple[str, ...]
    #: Variables to set in addition to those of the image or machine.
    environment: dict[str, str]
    #: Folder of the record. The engine creates it.
    record: str
    #: Host name for other replicas.
    address: str
    #: Folders to create, in addition to the record.
    folders: tuple[str, ...] = ()
    #: Path -> file.
    files: dict[str, LaunchFile] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()

    def on_host(self, path: str) -> str:
        """The path on this machine of a path that the processes see. The longest matching mount decides."""
        for mount in sorted(self.mounts, key=lambda mount: len(mount.target), reverse=True):
            if mount.source is not None and f"{path}/".startswith(f"{mount.target}/"):
                return mount.source + path[len(mount.target) :]
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that one attempt of a run starts."""

    #: In the order in which they start; the last one is measured.
    replicas: tuple[Replica, ...]
