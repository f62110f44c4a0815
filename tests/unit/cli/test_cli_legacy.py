import shlex

import pytest

from anubis.cli.legacy import REPLACED, from_baictl, from_old_client
from anubis.model.errors import BadInputError

ID = "0191f6f0-0000-7000-8000-000000000000"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--submit f.toml", "submit f.toml"),
        ("--submit f.toml --watch", "run f.toml"),
        ("--watch --submit f.toml --script src", "run f.toml --script src"),
        ("--submit=f.toml", "submit f.toml"),
        ("--submit f.toml --status --watch --terminate", "run f.toml"),
        ("--status", "status"),
        (f"--status {ID}", f"status {ID}"),
        (f"--status {ID} --watch", f"watch {ID}"),
        ("--watch", "watch"),
        (f"--results {ID}", f"logs {ID}"),
        ("--show-descriptor", "descriptor"),
        (f"--cancel {ID}", f"cancel {ID}"),
        (f"--purge {ID}", f"cancel --cascade {ID}"),
        ("--history", "history"),
        ("--last-action-id", "history --limit 1 --quiet"),
        ("--ping", "doctor"),
        ("--ping-service-endpoint", "doctor"),
        (f"--submit {ID}", f"replay {ID}"),
        ("--tail --status", "status"),
        ("--sync-data --status", "status"),
        ("--force --debug --verbose --submit f.toml", "submit f.toml"),
        (f"--result {ID}", f"logs {ID}"),
        (f"--inspect 0000002a-0000 {ID}", f"show {ID} --event 42"),
        ("--inspect 0000002a", "show --event 42"),
        (f"-i 0000002a {ID}", f"show {ID} --event 42"),
        (f"--show-desc {ID}", f"descriptor {ID}"),
        ("--write-descriptor", "descriptor"),
        (f"--abort {ID}", f"cancel {ID}"),
        (f"--cancel* {ID}", f"cancel --cascade {ID}"),
        ("--register host:8080", "register http://host:8080"),
        ("--register https://host", "register https://host"),
        ("--unregister", "unregister"),
        ("--unregister host:8080", "unregister"),
        ("--show-registered-service-endpoint", "whoami"),
        ("--show-registered-service-endpoint-history", "whoami"),
        ("--get-client-id", "whoami"),
        ("--set-client-id ada", "whoami --as ada"),
        ("--unset-client-id", "whoami --forget"),
        ("--reset-client-id", "whoami --forget"),
        ("--check-prerequisites", "doctor"),
        ("--env-setup", "doctor"),
        ("--check-version", "--version"),
    ],
)
def test_the_old_client_is_understood(old, new, capsys):
    assert from_old_client(old.split()) == new.split()
    assert f"{shlex.join(old.split())} is now spelled: anubis {new}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old",
    ["--register", "--submit", "--cancel", "--terminate", "--nonsense", "--set-client-id", "--inspect xyz"],
)
def test_what_cannot_work_is_refused_with_a_remedy(old):
    with pytest.raises(BadInputError) as refused:
        from_old_client(old.split())
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("run benchmark --descriptor=f.toml", "submit f.toml"),
        ("--target=aws run benchmark --descriptor=f.toml --verbose", "submit f.toml"),
        ("list benchmark", "history"),
        (f"get benchmark --name={ID}", f"show {ID}"),
        (f"logs benchmark --name={ID}", f"logs {ID}"),
        (f"delete benchmark --name={ID}", f"cancel {ID}"),
        ("delete benchmark --all", "cancel --all"),
        ("schedule benchmark --descriptor=f.toml", "schedule add f.toml"),
        (f"logs pod --name={ID}", f"logs {ID}"),
        (f"logs benchmark --name={ID} --aws-es-page-size=10000", f"logs {ID}"),
        ("validate infra --data-dir=d", "doctor"),
    ],
)
def test_baictl_is_understood(old, new, capsys):
    assert from_baictl(old.split()) == new.split()
    assert f"baictl {old} is now spelled: anubis {new}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old",
    [
        "create infra --aws-region=us-east-1 --aws-prefix-list-id=pl",
        "destroy infra",
        "sync infra --mode=push",
        "get infra --nodes",
        "port-forward infra --service=grafana",
        "show k8s-dashboard",
        "run benchmark",
        "schedule benchmark",
        "logs benchmark",
        "run",
    ],
)
def test_baictl_refuses_what_it_cannot_do(old):
    with pytest.raises(BadInputError) as refused:
        from_baictl(old.split())
    assert refused.value.remedy


def test_baictl_alone_shows_the_help():
    assert from_baictl([]) == ["--help"]
    assert from_baictl(["run", "benchmark", "--help"]) == ["--help"]


@pytest.mark.parametrize(
    ("old", "text"),
    [("--legend", "succeeded"), ("--sync-version", "pip install"), ("--upgrade", "pip install")],
)
def test_texts_of_the_old_client_are_answered(old, text, capsys):
    assert from_old_client([old]) is None
    assert text in capsys.readouterr().out


def test_the_banner_is_the_help():
    assert from_old_client(["--banner"]) == ["--help"]


def test_every_command_that_is_not_available_names_what_replaces_it():
    for verb, thing in REPLACED:
        with pytest.raises(BadInputError) as refused:
            from_baictl([verb, thing])
        assert refused.value.remedy == REPLACED[verb, thing]


def test_a_ping_asks_the_service_if_there_is_one(monkeypatch):
    monkeypatch.setenv("ANUBIS_SERVICE_URL", "http://127.0.0.1:1")
    assert from_old_client(["--ping"]) == ["ping"]
