"""An owner is dead only when that is certain."""

import os
import socket
import subprocess
import sys

from anubis.pipeline.lease_owner import described, is_dead, new_owner


def test_this_process_is_alive():
    assert not is_dead(new_owner())


def test_two_owners_of_one_process_differ():
    assert new_owner() != new_owner()


def test_a_process_that_has_ended_is_dead():
    code = "from anubis.pipeline.lease_owner import new_owner; print(new_owner())"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()

    assert is_dead(ended)


def test_a_process_id_that_was_given_out_again_is_dead():
    host, boot, pid, _, nonce = new_owner().rsplit("/", 4)

    assert is_dead(f"{host}/{boot}/{pid}/1/{nonce}")


def test_an_earlier_boot_is_dead():
    parts = new_owner().rsplit("/", 4)

    assert is_dead("/".join([parts[0], "earlier0", *parts[2:]]))


def test_nothing_is_known_about_other_machines():
    assert not is_dead(f"not-{socket.gethostname()}/boot/{os.getpid()}/1/x")
    assert not is_dead("something else")


def test_nothing_is_known_about_another_container_of_the_same_name(tmp_path, monkeypatch):
    """Its process ids mean other processes, or none, here."""
    host, boot, _, _, nonce = new_owner().rsplit("/", 4)
    owner = f"{host}/{boot}/4194305/1/{nonce}"
    assert is_dead(owner)
    (tmp_path / "pid").symlink_to("pid:[1]")
    monkeypatch.setattr("anubis.pipeline.lease_owner._PROCESS_IDS", tmp_path / "pid")
    assert not is_dead(owner)


def test_where_the_kernel_does_not_name_the_process_ids_the_name_of_the_machine_must_do(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("anubis.pipeline.lease_owner._PROCESS_IDS", tmp_path / "missing")
    assert new_owner().startswith(f"{socket.gethostname()}/")
    assert not is_dead(new_owner())


def test_an_owner_is_described_by_its_process():
    assert described(new_owner()) == f"process {os.getpid()} on {socket.gethostname()}"
    assert described("another form") == "another form"
