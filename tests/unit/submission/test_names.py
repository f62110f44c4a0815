"""Which variables are secrets, settings, decisive, or of a session."""

import pytest

from anubis.submission.environment.names import is_decisive, is_secret, is_session, is_setting

SECRETS = """GITHUB_TOKEN GITLAB_TOKEN TOKEN HF_TOKEN npm_token AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN
PGPASSWORD OPENAI_API_KEY OPENAI_APIKEY NVIDIA_API_KEY GOOGLE_APPLICATION_CREDENTIALS DATABASE_URL SENTRY_DSN
AZURE_STORAGE_CONNECTION_STRING SLACK_WEBHOOK_URL GH_PAT SSH_PASSPHRASE SECRETS_DIR NPM_CONFIG__AUTH ROOT_PASSWD"""
ORDINARY = "PATH HOME USER KEYBOARD TOKENIZERS_PARALLELISM PATTERN CUDA_VISIBLE_DEVICES COMPATH HOST_PATH"


@pytest.mark.parametrize("name", SECRETS.split())
def test_secrets(name):
    assert is_secret(name)
    assert is_secret(name.lower())
    assert not is_decisive(name)


@pytest.mark.parametrize("name", ORDINARY.split())
def test_ordinary_variables(name):
    assert not is_secret(name)
    assert not is_setting(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "LANG",
        "LC_ALL",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_TF32_OVERRIDE",
    ],
)
def test_variables_that_decide_what_is_measured(name):
    assert is_decisive(name)
    assert not is_decisive(f"MY_{name}")


def test_settings_and_sessions():
    assert is_setting("ANUBIS_HOME")
    assert is_setting("_ANUBIS_COMPLETE")
    assert not is_setting("MY_ANUBIS_HOME")
    assert is_session("SHLVL")
    assert is_session("SSH_CLIENT")
    assert not is_session("MY_SHLVL")
