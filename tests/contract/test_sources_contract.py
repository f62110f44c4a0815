"""The sources that need no other program keep the contract; those that do are in the integration tests."""

import pytest

from anubis.sources.file import FileSource
from anubis.sources.http import HttpSource
from anubis.sources.network import NetworkSettings
from anubis.sources.web import Web
from anubis.testing.contracts.source import CONTENT, ServedFile, SourceContract
from support.file_server import serving


class TestFile(SourceContract):
    @pytest.fixture
    def served(self, tmp_path):
        path = tmp_path / "a file"
        path.write_bytes(CONTENT)
        missing = (tmp_path / "missing").as_uri()
        return ServedFile(source=FileSource(), url=path.as_uri(), missing=missing, replace=path.write_bytes)


class TestHttp(SourceContract):
    @pytest.fixture
    def served(self):
        with serving({"/file": CONTENT}) as server:
            yield ServedFile(
                source=HttpSource(Web(NetworkSettings(patience_s=5))),
                url=f"{server.url}/file",
                missing=f"{server.url}/missing",
                replace=lambda content: server.files.update({"/file": content}),
            )
