"""A provider that answers as a test wants: with other tokens, keys and addresses than a real one ever sends."""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from joserfc import jwk, jwt

CLIENT = "anubis"


def new_key(name):
    return jwk.RSAKey.generate_key(2048, {"kid": name, "use": "sig"}, private=True)


class OpenIdProvider:
    """Discovery, keys and tokens of a provider; ``claims``, ``headers`` and ``answers`` change what it sends."""

    def __init__(self):
        self.issuer = ""
        self.key = new_key("first")
        #: Keys that it publishes.
        self.published = [self.key]
        #: Claims that replace those of a token; None: the claim is missing.
        self.claims = {}
        #: Path -> (status, body) instead of the usual answer.
        self.answers = {}
        #: The ID token instead of the usual one.
        self.token = None
        self.metadata = {}
        self.nonce = ""
        #: Paths and forms of the requests.
        self.requests = []
        self.authorization = ""

    def id_token(self, key=None, header=None, **claims):
        """A signed token."""
        now_s = int(time.time())
        found = {
            "iss": self.issuer,
            "sub": "subject of bob",
            "aud": CLIENT,
            "exp": now_s + 300,
            "iat": now_s,
            "nonce": self.nonce,
            "preferred_username": "bob",
            **self.claims,
            **claims,
        }
        found = {name: value for name, value in found.items() if value is not None}
        key = key or self.key
        return jwt.encode({"alg": "RS256", "kid": key.kid, **(header or {})}, found, key)

    def unsigned(self):
        """A token that says that it needs no signature."""
        body = jwt_part(self.id_token())
        return f"{encoded({'alg': 'none'})}.{body}."

    def answer(self, path, form):
        self.requests.append((path, form))
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            names = {"authorization": "authorize", "token": "token"}
            found = {f"{name}_endpoint": f"{self.issuer}/{path}" for name, path in names.items()}
            return 200, {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", **found, **self.metadata}
        if path == "/keys":
            return 200, {"keys": [key.as_dict(private=False) for key in self.published]}
        if path == "/token":
            return 200, {
                "access_token": "x",
                "token_type": "Bearer",
                "id_token": self.token or self.id_token(),
            }
        return 404, {}


def jwt_part(token):
    return token.split(".")[1]


def encoded(value):
    return urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def pair_of(authorization):
    """Name and secret of ``Basic`` authentication."""
    return b64decode(authorization.removeprefix("Basic ")).decode().split(":")


@contextmanager
def openid_provider():
    """A provider on a loopback port."""
    provider = OpenIdProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            length = int(self.headers.get("Content-Length") or 0)
            provider.authorization = self.headers.get("Authorization", "")
            form = {name: values[0] for name, values in parse_qs(self.rfile.read(length).decode()).items()}
            status, body = provider.answer(self.path, form)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if status in {301, 302, 307}:
                self.send_header("Location", "/.well-known/openid-configuration")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815  the name of the library

        def log_message(self, *_args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.issuer = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
