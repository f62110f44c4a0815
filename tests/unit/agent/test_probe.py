"""Single probes: requests, commands and connections."""

import socket
import threading

import pytest

from anubis.agent.probe import problem_of


def probe(**changes):
    return {"command": [], "path": None, "port": 1, "scheme": "http", "timeout_seconds": 5, **changes}


@pytest.fixture
def answering():
    """A server that gives one answer to each connection; a function that starts it and returns its port."""
    listeners = []

    def start(answer):
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def serve():
            peer, _ = listener.accept()
            with peer:
                peer.recv(4096)
                peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        return listener.getsockname()[1]

    yield start
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.1 302 Found\r\n\r\n", ""),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "status 404"),
        (b"HTTP/1.1 199 Odd\r\n\r\n", "status 199"),
        (b"SSH-2.0-server\r\n", "the answer is not HTTP"),
        (b"", "the answer is not HTTP"),
        (b"HTTP/1.1 \xff\xff\r\n", "the answer is not HTTP"),
        (b"x" * 100_000, "the answer is not HTTP"),
    ],
)
def test_a_request_succeeds_with_2xx_and_3xx(answering, answer, problem):
    found = problem_of(probe(path="/ping", port=answering(answer)))
    assert found.endswith(problem)
    assert bool(found) == bool(problem)


def test_a_port_that_nobody_listens_on_is_named():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert problem_of(probe(port=port)) == ""
    assert problem_of(probe(port=port)) == f"port 127.0.0.1:{port}: Connection refused"
    assert "http 127.0.0.1" in problem_of(probe(port=port, path="/"))


def test_a_server_that_does_not_answer_fails_the_probe():
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = problem_of(probe(path="/", port=server.getsockname()[1], timeout_seconds=0.01))
    assert "timed out" in found or "no answer" in found


def test_a_command_succeeds_with_exit_code_0():
    assert problem_of(probe(command=["true"])) == ""
    assert problem_of(probe(command=["sh", "-c", "exit 3"])) == "sh -c 'exit 3' ended with exit code 3"
    assert "longer than 0.01 s" in problem_of(probe(command=["sleep", "60"], timeout_seconds=0.01))
    assert "No such file" in problem_of(probe(command=["/no/such/program"]))
