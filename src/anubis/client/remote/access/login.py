"""The login of a command line: a token for a code, and the end of that token."""

from anubis.client.remote.connection import ServiceConnection

#: Where a person allows a command line, and where it gets its token, below the address of the service.
ASK, EXCHANGE = "/sign-in/command-line", "/sign-in/command-line/token"


def token_for(connection: ServiceConnection, code: str, verifier: str) -> str:
    """A token for a code that a person allowed. Raises AnubisError."""
    body = {"code": code, "verifier": verifier}
    return str(connection.outside("POST", EXCHANGE, body)["text"])


def end_token(connection: ServiceConnection) -> None:
    """Revoke the token of the connection. Raises AnubisError."""
    connection.outside("DELETE", EXCHANGE)
