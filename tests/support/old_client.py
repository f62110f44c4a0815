"""The requests of the old client, made with curl as its shell script did."""

import base64
import hashlib
import io
import json
import subprocess
import tarfile
import time
import uuid

from support.programs import needed

VERSION = "0.6.2"


class OldClient:
    """One user of the old client."""

    def __init__(self, url, folder):
        self.url = url
        self.folder = folder
        self.client_id = hashlib.sha1(b"ada+workstation").hexdigest()

    def curl(self, path, *words):
        """Status, headers and body of an answer."""
        answer = subprocess.run(
            [needed("curl"), "-s", "-i", "-w", "\n%{http_code}", *words, f"{self.url}{path}"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.replace("\r\n", "\n")
        answer, _, status = answer.rpartition("\n")
        while answer.startswith("HTTP/1.1 100"):
            answer = answer.partition("\n\n")[2]
        head, _, body = answer.partition("\n\n")
        headers = {
            name.lower(): value for name, _, value in (each.partition(": ") for each in head.split("\n")[1:])
        }
        return int(status), headers, body

    def json(self, path, *words):
        status, _, body = self.curl(path, *words)
        assert status == 200, body
        return json.loads(body)

    def event(self, text, name="bench.toml", **more):
        now_ms = int(time.time() * 1000)
        return {
            "message_id": str(uuid.uuid4()),
            "client_id": self.client_id,
            "client_version": VERSION,
            "client_sha1": "0" * 40,
            "client_username": "ada",
            "date": "Tue Sep 1 12:00:00 UTC 2020",
            "authenticated": False,
            "tstamp": now_ms,
            "visited": [{"svc": "anubis-client", "tstamp": now_ms, "version": VERSION}],
            "type": "BAI_APP_BFF",
            "payload": {
                "toml": {
                    "descriptor_filename": name,
                    "sha1": hashlib.sha1(text.encode()).hexdigest(),
                    "doc": base64.b64encode(text.encode()).decode(),
                }
            },
            **more,
        }

    def submit(self, text, *words, event=None):
        """Status and text of the answer."""
        event = event or self.event(text)
        path = self.folder / f"{uuid.uuid4()}.json"
        path.write_text(event if isinstance(event, str) else json.dumps(event))
        status, _, body = self.curl("/api/job/descriptor", "-F", f"submit-event=<{path}", *words)
        return status, body

    def script(self, files):
        """The file that ``--script`` makes: a tar archive under the SHA-1 of its bytes."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(content), time.time()
                tar.addfile(info, io.BytesIO(content))
        path = self.folder / f"{hashlib.sha1(buffer.getvalue()).hexdigest()}.tar"
        path.write_bytes(buffer.getvalue())
        return path

    def statuses(self, action_id, since=None):
        query = f"?since={since}" if since else ""
        return self.json(f"/api/job/{self.client_id}/{action_id}{query}")

    def watch(self, action_id):
        """``--watch --terminate``: all statuses, and the exit status of the client."""
        seen, since = [], None
        while True:
            response = self.statuses(action_id, since)
            seen += response
            if seen:
                since = f"{seen[-1]['tstamp']}:{seen[-1]['message_id']}"
            text = json.dumps(response)
            if "Benchmark finished" in text:
                return seen, 0
            if "Benchmark failed" in text:
                return seen, 1
            time.sleep(0.1)  # as the old client does, with 5 s

    def cancel(self, action_id, *, command="cancel", cascade=False, target=None):
        """``--cancel`` and ``--purge``."""
        args = {"target_action_id": target or action_id, **({"cascade": True} if cascade else {})}
        body = {**self.event(""), "payload": {"command": command, "args": args}, "type": "CMD_SUBMIT"}
        status, _, answer = self.curl(
            f"/api/job/{self.client_id}/{action_id}", "-X", "DELETE", "-d", json.dumps(body)
        )
        return status, answer
