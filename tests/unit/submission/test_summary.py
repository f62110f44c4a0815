"""What the record keeps of an environment, and the environment made again from it."""

from anubis.contracts.environments import SubmittedEnvironment
from anubis.submission.environment.summary import restored, summary


def digest(text):
    return f"<{text}>"


VARIABLES = {
    "PATH": "/a",
    "OMP_NUM_THREADS": "2",
    "COLOUR": "red",
    "A_TOKEN": "t",
    "SHLVL": "1",
    "NAMED": "n",
    "SIZE": "9",
}


def kept(variables=VARIABLES):
    return summary(variables, secrets=["NAMED"], described=["SIZE"], digest=digest)


def test_values_of_secrets_are_in_no_form_in_the_record():
    recorded = kept()
    assert recorded.values == {"PATH": "/a", "OMP_NUM_THREADS": "2"}
    assert recorded.digests == {"COLOUR": "<red>"}
    assert recorded.secrets == {"A_TOKEN", "NAMED"}


def test_a_decisive_variable_that_is_a_secret_is_hidden():
    recorded = summary({"PATH": "/a"}, secrets=["PATH"], described=[], digest=digest)
    assert (recorded.values, recorded.secrets) == ({}, {"PATH"})


def test_the_recorded_values_of_decisive_variables_replace_the_current_ones():
    current = SubmittedEnvironment(
        variables={"PATH": "/b", "LANG": "C", "COLOUR": "blue", "NEW": "1", "SHLVL": "7"}, secrets={"S": "s"}
    )
    again, changed = restored(kept(), current, digest)
    assert again.variables == {
        "PATH": "/a",
        "OMP_NUM_THREADS": "2",
        "COLOUR": "blue",
        "NEW": "1",
        "SHLVL": "7",
    }
    assert again.secrets == {"S": "s"}
    assert changed == ["COLOUR", "NEW"]


def test_an_unset_variable_has_changed_too():
    _, changed = restored(kept(), SubmittedEnvironment(), digest)
    assert changed == ["COLOUR"]
    _, changed = restored(kept(), SubmittedEnvironment(variables={"COLOUR": "red", "B_TOKEN": "x"}), digest)
    assert changed == []


def test_an_environment_of_another_installation_is_not_restored():
    assert restored(kept(), SubmittedEnvironment(), lambda text: f"[{text}]") is None
