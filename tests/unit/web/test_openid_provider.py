"""What a provider sends is believed only if it is signed, fresh, of this provider, for this service and for this sign-in."""

import hmac
import time
from base64 import urlsafe_b64encode
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwk

from anubis.model.errors import BadInputError
from anubis.web.sign_in.provider import DISCOVERY_S, FAILED_S, LEEWAY_S, Provider, challenge_of
from anubis.web.sign_in.refusal import SignInError
from anubis.web.sign_in.settings import SignInSettings
from support.openid_provider import CLIENT, encoded, new_key, openid_provider, pair_of

BACK = "http://127.0.0.1:1/sign-in/return"
NONCE = "the nonce of this sign-in"
SECRET = "a:secret with+signs"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def remote():
    with openid_provider() as made:
        made.nonce = NONCE
        yield made


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def provider(remote, clock, tmp_path):
    return made(remote, clock, tmp_path)


def made(remote, clock, tmp_path, **changes):
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    environ = {
        "ANUBIS_OIDC_ISSUER": remote.issuer,
        "ANUBIS_OIDC_CLIENT_ID": CLIENT,
        "ANUBIS_OIDC_CLIENT_SECRET": str(tmp_path / "secret"),
        **changes,
    }
    return Provider(SignInSettings.from_env(environ), monotonic_s=clock)


def claims(provider):
    return provider.claims(code="a code", verifier="a verifier", nonce=NONCE, back=BACK)


def refusal(provider):
    with pytest.raises(SignInError) as refused:
        claims(provider)
    assert "ID token" not in refused.value.message, "a person learns no details"
    return refused.value


def test_a_browser_is_sent_with_a_challenge_a_state_and_a_nonce(provider, remote):
    found = urlsplit(provider.address(state="s", nonce="n", verifier="v", back=BACK))
    assert f"{found.scheme}://{found.netloc}{found.path}" == f"{remote.issuer}/authorize"
    assert {name: values for name, (values,) in parse_qs(found.query).items()} == {
        "response_type": "code",
        "client_id": CLIENT,
        "redirect_uri": BACK,
        "scope": "openid profile email",
        "state": "s",
        "nonce": "n",
        "code_challenge": challenge_of("v"),
        "code_challenge_method": "S256",
    }


def test_the_challenge_is_that_of_the_example_of_the_standard():
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge_of(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_code_is_exchanged_with_the_verifier_and_the_secret(provider, remote):
    assert claims(provider)["preferred_username"] == "bob"
    path, form = remote.requests[1]
    assert (path, form) == (
        "/token",
        {
            "grant_type": "authorization_code",
            "code": "a code",
            "redirect_uri": BACK,
            "code_verifier": "a verifier",
        },
    )


def test_the_secret_is_sent_as_the_provider_wants_it(provider, remote, clock, tmp_path):
    claims(provider)
    assert remote.requests[1][1].get("client_secret") is None
    remote.metadata = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    remote.requests.clear()
    claims(made(remote, clock, tmp_path))
    assert remote.requests[1][1]["client_secret"] == SECRET
    assert remote.requests[1][1]["client_id"] == CLIENT


def test_the_secret_is_encoded_in_the_header(provider, remote):
    seen = []
    usual = remote.answer

    def answer(path, form):
        if path == "/token":
            seen.append(remote.authorization)
        return usual(path, form)

    remote.answer = answer
    claims(provider)
    assert pair_of(seen[0]) == [CLIENT, "a%3Asecret%20with%2Bsigns"]


NOW_S = int(time.time())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"iss": "https://other.example"}, "issuer"),
        ({"iss": None}, "issuer"),
        ({"aud": "another"}, "another client"),
        ({"aud": None}, "another client"),
        ({"aud": []}, "another client"),
        ({"aud": [CLIENT, "another"]}, "several clients"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "another client asked"),
        ({"azp": "another"}, "another client asked"),
        ({"exp": NOW_S - LEEWAY_S - 1}, "expired"),
        ({"exp": None}, "expired"),
        ({"exp": "tomorrow"}, "expired"),
        ({"exp": True}, "expired"),
        ({"iat": NOW_S + 3600}, "future"),
        ({"iat": None}, "future"),
        ({"nbf": NOW_S + 3600}, "future"),
        ({"sub": None}, "no person"),
        ({"sub": ""}, "no person"),
        ({"sub": 7}, "no person"),
        ({"sub": "x" * 256}, "no person"),
    ],
)
def test_a_token_with_other_claims_is_refused(provider, remote, changed, why):
    remote.claims = changed
    refused = refusal(provider)
    assert refused.status == 403
    assert why in refused.why


@pytest.mark.parametrize(
    "changed", [{"aud": [CLIENT]}, {"aud": [CLIENT, "another"], "azp": CLIENT}, {"azp": CLIENT}]
)
def test_a_token_for_this_client_is_accepted(provider, remote, changed):
    remote.claims = changed
    assert claims(provider)["sub"] == "subject of bob"


def test_an_unsigned_token_is_refused(provider, remote):
    remote.token = remote.unsigned()
    assert "signature" in refusal(provider).why


def test_a_token_signed_with_a_public_key_as_a_shared_secret_is_refused(provider, remote):
    body = {"iss": remote.issuer, "sub": "x", "aud": CLIENT, "exp": NOW_S + 999, "iat": NOW_S, "nonce": NONCE}
    signed = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(body)}"
    digest = hmac.digest(remote.key.as_pem(private=False), signed.encode(), "sha256")
    remote.token = f"{signed}.{urlsafe_b64encode(digest).rstrip(b'=').decode()}"
    assert "signature" in refusal(provider).why


@pytest.mark.parametrize("kid", ["first", "unknown"])
def test_a_token_of_another_key_is_refused(provider, remote, kid):
    other = new_key(kid)
    remote.token = remote.id_token(other)
    assert "signature" in refusal(provider).why


def test_a_changed_token_is_refused(provider, remote):
    head, _, signature = remote.id_token().split(".")
    changed = encoded({"iss": remote.issuer, "sub": "ann", "aud": CLIENT, "nonce": NONCE})
    remote.token = f"{head}.{changed}.{signature}"
    assert "signature" in refusal(provider).why


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "." * 5, "é.é.é", "x" * 100_000])
def test_what_is_not_a_token_is_refused(provider, remote, token):
    remote.answers["/token"] = (200, {"id_token": token})
    assert refusal(provider).status == 403


def test_new_keys_are_read_once(provider, remote):
    claims(provider)
    remote.key = new_key("second")
    remote.published = [remote.key]
    remote.requests.clear()
    assert claims(provider)["sub"] == "subject of bob"
    assert [path for path, _ in remote.requests] == ["/token", "/keys"]
    remote.token = remote.id_token(new_key("third"))
    remote.requests.clear()
    refusal(provider)
    assert [path for path, _ in remote.requests] == ["/token", "/keys"], "they are read again once"


def test_a_key_with_a_shared_secret_is_not_used(provider, remote):
    secret = jwk.OctKey.generate_key(256, {"kid": "shared"})
    remote.answers["/keys"] = (200, {"keys": [secret.as_dict(private=True)]})
    refusal(provider)


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/.well-known/openid-configuration", (500, {})),
        ("/.well-known/openid-configuration", (302, {})),
        ("/.well-known/openid-configuration", (200, b"no json")),
        ("/.well-known/openid-configuration", (200, b"[]")),
        ("/.well-known/openid-configuration", (200, {"issuer": "https://other.example"})),
        ("/.well-known/openid-configuration", (200, b"{" + b" " * (2 << 20) + b"}")),
        ("/keys", (404, {})),
        ("/keys", (200, {"keys": "none"})),
        ("/keys", (200, {"keys": [{"kty": "RSA"}]})),
        ("/token", (503, {})),
        ("/token", (200, b"no json")),
    ],
)
def test_a_provider_that_does_not_work_is_away(provider, remote, path, answer):
    remote.answers[path] = answer
    assert refusal(provider).status == 503


def test_an_address_without_tls_on_another_machine_is_refused(provider, remote):
    remote.metadata = {"token_endpoint": "http://login.example/token"}
    assert refusal(provider).status == 503


def test_a_refused_code_is_refused(provider, remote):
    remote.answers["/token"] = (400, {"error": "invalid_grant"})
    found = refusal(provider)
    assert (found.status, "invalid_grant" in found.why) == (403, True)


def test_a_provider_that_is_away_is_not_asked_again_at_once(provider, remote, clock):
    remote.answers["/.well-known/openid-configuration"] = (500, {})
    assert [refusal(provider).status for _ in range(3)] == [503] * 3
    assert len(remote.requests) == 1
    remote.answers.clear()
    clock.now += FAILED_S
    assert claims(provider)["sub"] == "subject of bob"


def test_addresses_are_read_again_after_some_time(provider, remote, clock):
    claims(provider)
    claims(provider)
    assert [path for path, _ in remote.requests].count("/.well-known/openid-configuration") == 1
    clock.now += DISCOVERY_S
    claims(provider)
    assert [path for path, _ in remote.requests].count("/.well-known/openid-configuration") == 2


def test_the_answer_of_another_provider_is_refused(provider, remote, clock, tmp_path):
    provider.check_sender(None)
    provider.check_sender(remote.issuer)
    with pytest.raises(SignInError):
        provider.check_sender("https://other.example")
    remote.metadata = {"authorization_response_iss_parameter_supported": True}
    with pytest.raises(SignInError):
        made(remote, clock, tmp_path).check_sender(None)


def test_no_provider_at_the_address(tmp_path, clock, remote):
    remote.issuer = "http://127.0.0.1:1"
    assert refusal(made(remote, clock, tmp_path)).status == 503


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"ANUBIS_OIDC_ISSUER": "http://login.example.org"}, "ISSUER"),
        ({"ANUBIS_OIDC_ISSUER": "https://login.example.org?x=1"}, "ISSUER"),
        ({"ANUBIS_OIDC_ISSUER": "https://login.example.org"}, "CLIENT_ID"),
        ({"ANUBIS_OIDC_ISSUER": "https://[", "ANUBIS_OIDC_CLIENT_ID": "x"}, "ISSUER"),
        ({"ANUBIS_OIDC_GROUPS": "a"}, "GROUPS"),
        ({"ANUBIS_OIDC_GROUPS": "a=b c"}, "GROUPS"),
        ({"ANUBIS_OIDC_ALLOWED_GROUPS": "a,,b"}, "ALLOWED_GROUPS"),
        ({"ANUBIS_OIDC_CREATE_USERS": "yes"}, "CREATE_USERS"),
        ({"ANUBIS_SIGN_IN_S": "1"}, "SIGN_IN_S"),
        (
            {
                "ANUBIS_OIDC_ISSUER": "https://login.example.org",
                "ANUBIS_OIDC_CLIENT_ID": "x",
                "ANUBIS_OIDC_SCOPES": "profile",
            },
            "SCOPES",
        ),
    ],
)
def test_settings_that_are_not_valid_are_refused(environ, named):
    with pytest.raises(BadInputError) as refused:
        SignInSettings.from_env(environ)
    assert any(named in problem.path for problem in refused.value.problems)


def test_a_secret_that_cannot_be_read_is_refused(tmp_path):
    settings = SignInSettings(client_secret=tmp_path / "none")
    with pytest.raises(BadInputError, match="cannot be read"):
        settings.secret()
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(BadInputError, match="empty"):
        SignInSettings(client_secret=tmp_path / "empty").secret()


def test_a_group_with_an_equals_sign_can_be_named():
    found = SignInSettings.from_env({"ANUBIS_OIDC_GROUPS": "cn=ml,cn=a=team"})
    assert found.groups == (("cn", "ml"), ("cn=a", "team"))
