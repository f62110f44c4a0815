"""Podman with a storage of a test session, images that need no registry, and a private registry.

Fixtures: ``podman`` (a function that calls it), ``registry`` (starts registries on the loopback interface).
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

#: Podman lowers its limits and cannot raise them again without privileges; runc also works with control groups of
#: both versions mounted, and without systemd.
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
STORAGE = """
[storage]
driver = "{driver}"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""
#: An image of a static BusyBox, without Python or a C library.
IMAGE = "localhost/anubis-test/busybox:1"
APPLETS = (
    "sh",
    "sleep",
    "true",
    "false",
    "echo",
    "env",
    "cat",
    "ls",
    "dd",
    "df",
    "id",
    "head",
    "touch",
    "kill",
    "test",
    "httpd",
    "mkdir",
    "wget",
)


def needed(program, package):
    """The path of a program; skips without it."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program}: apt-get install {package}")
    return found


@dataclass
class Podman:
    program: str

    def __call__(self, *words, code=0, **options):
        """What a command printed; it must end with ``code``."""
        ended = subprocess.run([self.program, *map(str, words)], check=False, capture_output=True, **options)
        assert ended.returncode == code, ended.stderr.decode()
        return ended.stdout.decode()

    def create(self, name, *changes, architecture=None, files=()):
        """An image of BusyBox and files of this machine with further instructions of a Dockerfile."""
        words = [word for change in ("ENV PATH=/bin", *changes) for word in ("--change", change)]
        if architecture:
            words += ["--arch", architecture]
        self("import", *words, "-", name, input=root_of_busybox(files))
        return name

    def containers(self):
        """The names of all containers, also of those that have ended."""
        return self("ps", "--all", "--format", "{{.Names}}").split()


def root_of_busybox(files=()):
    """A tar archive with the root folder of the image, and files and folders of this machine at their paths."""
    program = Path(needed("busybox", "busybox-static"))
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w", dereference=True) as archive:
        archive.add(program.resolve(), "bin/busybox")
        for applet in APPLETS:
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
        for folder in ("tmp", "proc", "sys", "dev"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(entry)
        for path in files:
            archive.add(path, str(path).lstrip("/"))
    return content.getvalue()


@pytest.fixture(scope="session")
def podman(tmp_path_factory):
    program = needed("podman", "podman runc")
    needed("runc", "runc")
    folder = tmp_path_factory.mktemp("podman")
    with pytest.MonkeyPatch.context() as patch:
        for variable, content in {
            "CONTAINERS_CONF": CONFIGURATION,
            "CONTAINERS_STORAGE_CONF": STORAGE.format(folder=folder, driver="overlay"),
        }.items():
            path = folder / f"{variable.lower()}.conf"
            path.write_text(content)
            patch.setenv(variable, str(path))
        patch.setenv("TMPDIR", str(folder))
        made = Podman(program)
        made.create(IMAGE)
        yield made
        made("rm", "--all", "--force")
        made("rmi", "--all", "--force")


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that has a CDI specification, as the NVIDIA Container Toolkit writes it, but is no GPU: a copy of ``/dev/null``."""
    name = f"GPU-{os.getpid()}"
    device = {"path": f"/dev/{name}", "hostPath": "/dev/null", "type": "c", "major": 1, "minor": 3}
    described = {"name": name, "containerEdits": {"deviceNodes": [device]}}
    specification = {
        "cdiVersion": "0.5.0",
        "kind": "nvidia.com/gpu",
        "devices": [described],
        "containerEdits": {},
    }
    path = Path("/var/run/cdi") / f"anubis-test-{os.getpid()}.json"
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(specification))
    except OSError as error:
        pytest.skip(f"needs the right to write {path.parent}: {error}")
    monkeypatch.setattr("anubis.pipeline.host.resources.gpus", lambda: [name])
    yield name
    path.unlink()


@dataclass
class Registry:
    address: str
    #: Requests so far, as lines of its log.
    requests: list

    def image(self, name):
        return f"{self.address}/{name}"


@contextlib.contextmanager
def running_registry(folder, *, extra=""):
    program = needed("docker-registry", "docker-registry")
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = folder / "registry.yml"
    configuration.write_text(
        f"version: 0.1\nlog: {{accesslog: {{disabled: false}}}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}'}}\n{extra}"
    )
    requests = []
    with subprocess.Popen(
        [program, "serve", configuration], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        reading = threading.Thread(target=lambda: requests.extend(server.stdout))
        try:
            assert any("listening on" in line for line in server.stdout)
            reading.start()
            yield Registry(f"127.0.0.1:{port}", requests)
        finally:
            server.terminate()
            if reading.ident:
                reading.join()


def allow_http(folder, address, monkeypatch):
    """Podman uses HTTP with this registry, and knows no others."""
    path = folder / "registries.conf"
    path.write_text(
        f'unqualified-search-registries = []\n[[registry]]\nlocation = "{address}"\ninsecure = true\n'
    )
    monkeypatch.setenv("CONTAINERS_REGISTRIES_CONF", str(path))


def pushed(podman, registry, name):
    """An image that is only in the registry."""
    image = registry.image(name)
    podman("tag", IMAGE, image)
    podman("push", "--quiet", image)
    podman("untag", image, image)
    return image
