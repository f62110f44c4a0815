"""Old command lines as users type them."""

from support.service import Service


def test_the_client_id_is_kept_in_the_file_of_the_old_client(anubis, monkeypatch):
    monkeypatch.delenv("ANUBIS_CLIENT_ID", raising=False)
    assert anubis("--set-client-id", "ada-lovelace").returncode == 0
    assert (anubis.home / "client_id").read_text() == "ada-lovelace\n"
    assert anubis.json("whoami")["name"] == "ada-lovelace"
    anubis.write("a.toml", "true")
    (run_id,) = anubis("--submit", "a.toml").stdout.split()
    assert anubis.json("show", run_id)["owner"] == "ada-lovelace"
    assert "ada-lovelace" in anubis("--get-client-id").stdout
    anubis("--unset-client-id")
    assert not (anubis.home / "client_id").exists()
    assert anubis("whoami", "--as", "\x1b[31m").returncode == 2
    assert anubis("whoami", "--as", "a", "--forget").returncode == 2


def test_a_message_is_inspected_by_the_number_of_its_event(anubis):
    anubis.write("a.toml", "true")
    assert anubis("--submit", "a.toml", "--watch").returncode == 0
    events = anubis.json("show")["events"]
    shown = anubis("--inspect", f"{events[-1]['seq']:08x}-0000")
    assert shown.returncode == 0, shown.stderr
    assert '"kind": "final"' in shown.stdout
    assert anubis("--inspect", "7fffffff").returncode == 2


def test_a_registration_in_the_old_spelling(anubis, tmp_path):
    service = Service(tmp_path / "served", "--role", "api").start()
    try:
        assert anubis("--register", service.url.removeprefix("http://")).returncode == 0
        assert anubis("--ping").returncode == 0
        assert service.url in anubis("--show-registered-service-endpoint").stdout
        assert anubis("--unregister").returncode == 0
    finally:
        service.stop()
    assert anubis("--legend").returncode == 0
    assert "pip install" in anubis("--sync-version").stdout
