import pytest

from anubis.cli.legacy import from_baictl, from_old_client
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
    ],
)
def test_the_old_client_is_understood(old, new, capsys):
    assert from_old_client(old.split()) == new.split()
    assert f"is now spelled: anubis {new}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old", ["--register host:8080", "--submit", "--cancel", "--terminate", "--nonsense", "--get-client-id"]
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
    ],
)
def test_baictl_is_understood(old, new, capsys):
    assert from_baictl(old.split()) == new.split()
    assert f"baictl {old} is now spelled: anubis {new}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "old", ["create infra", "run benchmark", "logs benchmark", "run", "show k8s-dashboard"]
)
def test_baictl_refuses_what_it_cannot_do(old):
    with pytest.raises(BadInputError) as refused:
        from_baictl(old.split())
    assert refused.value.remedy


def test_baictl_alone_shows_the_help():
    assert from_baictl([]) == ["--help"]
