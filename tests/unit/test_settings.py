import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from anubis.model.errors import BadInputError
from anubis.settings import Settings, load, reference, setting


def test_an_empty_environment_gives_the_documented_defaults():
    settings = Settings.from_env({"HOME": "/home/ada", "USER": "ada"})
    assert settings.home == Path("/home/ada/.anubis")
    assert settings.database_url == "sqlite:////home/ada/.anubis/anubis.db"
    assert (settings.engine, settings.lease_s, settings.min_free_bytes) == ("process", 30.0, 256 << 20)


def test_every_variable_is_read():
    settings = Settings.from_env(
        {
            "ANUBIS_HOME": "/data/anubis",
            "ANUBIS_DATABASE_URL": "postgresql://ada@db/anubis",
            "ANUBIS_CLIENT_ID": "ada",
            "ANUBIS_INHERIT": "PATH, LC_*",
            "ANUBIS_SECRETS": "/run/secrets.toml",
            "ANUBIS_DATA": "/srv/data",
            "ANUBIS_PRICES": "/srv/prices.toml",
            "ANUBIS_RETENTION": "/srv/retention.toml",
            "ANUBIS_REPORTS": "/srv/reports.toml",
            "ANUBIS_ENGINE": "slurm",
            "ANUBIS_LEASE_S": "2.5",
            "ANUBIS_MIN_FREE_BYTES": "0",
        }
    )
    assert settings == Settings(
        home=Path("/data/anubis"),
        database_url="postgresql://ada@db/anubis",
        client_id="ada",
        inherit=("PATH", "LC_*"),
        secrets=Path("/run/secrets.toml"),
        secrets_key=Path("/data/anubis/secrets.key"),
        data=Path("/srv/data"),
        prices=Path("/srv/prices.toml"),
        retention=Path("/srv/retention.toml"),
        reports=Path("/srv/reports.toml"),
        engine="slurm",
        lease_s=2.5,
        min_free_bytes=0,
    )


def test_a_variable_set_to_nothing_counts_as_unset():
    assert Settings.from_env({"HOME": "", "ANUBIS_LEASE_S": " "}).lease_s == 30.0


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """Settings as an adapter declares them."""

    folder: Path
    slots: int = setting("X_SLOTS", default=1, least=1)
    url: str = setting("X_URL", "CI_URL", default="none")
    secret: str = setting("X_SECRET", default="", secret=True, read=str.upper)


def test_an_adapter_reads_its_settings_by_the_same_loader():
    environ = {"X_SLOTS": "4", "X_URL": " ", "CI_URL": "ci", "X_SECRET": "hush"}
    loaded = load(Adapter, environ, folder=Path("/f"))
    assert loaded == Adapter(folder=Path("/f"), slots=4, url="ci", secret="HUSH")
    assert "HUSH" not in repr(loaded)
    assert load(Adapter, {}, folder=Path("/f")) == Adapter(folder=Path("/f"))
    assert load(Adapter, {"X_URL": "x", "CI_URL": "ci"}, folder=Path("/f")).url == "x"


def test_all_problems_of_an_adapter_come_at_once():
    def refused(text):
        raise ValueError("a word")

    @dataclass(frozen=True, kw_only=True)
    class Strict(Adapter):
        word: str = setting("X_WORD", default="", read=refused, secret=True)

    with pytest.raises(BadInputError) as caught:
        load(Strict, {"X_SLOTS": "0", "X_WORD": "hush://x"}, folder=Path("/f"))
    assert [(problem.path, problem.remedy) for problem in caught.value.problems] == [
        ("X_SLOTS", "set it to a whole number of at least 1"),
        ("X_WORD", "set it to a word"),
    ]
    assert "hush" not in str(caught.value.problems)


@pytest.mark.parametrize("text", ["zero", "0", "-1", "0.5", "inf", "1e3"])
def test_a_bad_whole_number_is_refused(text):
    with pytest.raises(BadInputError, match="X_SLOTS"):
        load(Adapter, {"X_SLOTS": text}, folder=Path("/f"))


def test_all_problems_come_at_once_each_with_its_remedy():
    with pytest.raises(BadInputError) as caught:
        Settings.from_env(
            {"HOME": "/h", "ANUBIS_LEASE_S": "nan", "ANUBIS_DATABASE_URL": "mysql://u:secret@h/d"}
        )
    problems = {problem.path: problem for problem in caught.value.problems}
    assert set(problems) == {"ANUBIS_LEASE_S", "ANUBIS_DATABASE_URL"}
    assert problems["ANUBIS_LEASE_S"].remedy == "set it to a number of at least 1"
    assert "secret" not in str(problems["ANUBIS_DATABASE_URL"]) + str(caught.value)


def test_a_password_is_not_shown():
    settings = Settings.from_env({"HOME": "/h", "ANUBIS_DATABASE_URL": "postgresql://u:hunter2@h/d"})
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize("text", ["PATH,,HOME", "A=1", "A B"])
def test_names_of_variables_are_separated_by_commas(text):
    with pytest.raises(BadInputError, match="ANUBIS_INHERIT"):
        Settings.from_env({"HOME": "/h", "ANUBIS_INHERIT": text})


def test_the_module_prints_the_reference_table():
    printed = subprocess.run(
        [sys.executable, "-m", "anubis.settings"], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == reference()
