"""The settings of the identity provider."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from anubis.model.access.roles import checked_name
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.settings import load, refuse, setting

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_safe(url: str) -> bool:
    """Whether an address is one of https, or of this machine."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (
            parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        )
    except ValueError:
        return False


def _issuer(text: str) -> str:
    if not is_safe(text) or urlsplit(text).query or urlsplit(text).fragment:
        raise ValueError("an address that starts with https://, without a query")
    return text


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ValueError("a list of groups, separated by commas")
    return names


def _mapping(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [tuple(part.strip() for part in each.rpartition("=")[::2]) for each in text.split(",")]
    if not all(theirs and ours for theirs, ours in pairs):
        raise ValueError("a list of THEIRS=OURS, separated by commas")
    try:
        return tuple((theirs, checked_name("group", ours)) for theirs, ours in pairs)
    except BadInputError:
        raise ValueError("a list of THEIRS=OURS, with 1 to 63 letters, digits, -, _ and . in OURS") from None


def _switch(text: str) -> bool:
    if text not in {"on", "off"}:
        raise ValueError("on or off")
    return text == "on"


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInSettings:
    """How people sign in to a service with a browser."""

    #: Address of the OpenID provider, exactly as it names itself; URL; none: people sign in with a token
    issuer: str = setting("ANUBIS_OIDC_ISSUER", default="", read=_issuer)
    #: Name of the service at the provider; text; none
    client_id: str = setting("ANUBIS_OIDC_CLIENT_ID", default="")
    #: File with the secret of the service at the provider, which only the user of the service can read; path; none: a public client
    client_secret: Path | None = setting("ANUBIS_OIDC_CLIENT_SECRET", default=None, read=_path)
    #: What the service asks the provider for; words; `openid profile email`
    scopes: tuple[str, ...] = setting(
        "ANUBIS_OIDC_SCOPES", default=("openid", "profile", "email"), read=_words
    )
    #: Claim with the name of a person's user, which people must not be able to choose at the provider; text
    user_claim: str = setting("ANUBIS_OIDC_USER_CLAIM", default="preferred_username")
    #: Claim with the groups of a person; text
    groups_claim: str = setting("ANUBIS_OIDC_GROUPS_CLAIM", default="groups")
    #: Groups of the provider and those of Anubis whose members they decide, `THEIRS=OURS`; comma-separated; none
    groups: tuple[tuple[str, str], ...] = setting("ANUBIS_OIDC_GROUPS", default=(), read=_mapping)
    #: Groups of the provider whose members may sign in; comma-separated; everyone of the provider
    allowed_groups: tuple[str, ...] = setting("ANUBIS_OIDC_ALLOWED_GROUPS", default=(), read=_names)
    #: Whether a person without a user gets one at the first sign-in; `on` or `off`; `off`
    create_users: bool = setting("ANUBIS_OIDC_CREATE_USERS", default=False, read=_switch)
    #: Time after which a person signs in again; seconds
    sign_in_s: float = setting("ANUBIS_SIGN_IN_S", default=43_200.0, least=60)
    #: Time for which a token of `anubis login` is valid; seconds
    login_token_s: float = setting("ANUBIS_LOGIN_TOKEN_S", default=2_592_000.0, least=60)

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> "SignInSettings":
        """The settings in ``environ``. Raises BadInputError with all problems."""
        found = load(cls, environ)
        problems = []
        if found.issuer and not found.client_id:
            problems.append(_problem("ANUBIS_OIDC_CLIENT_ID", "the provider knows the service by a name"))
        if found.issuer and "openid" not in found.scopes:
            problems.append(_problem("ANUBIS_OIDC_SCOPES", "the scope openid is missing"))
        refuse(problems)
        return found

    def secret(self) -> str:
        """The secret of the service at the provider; empty: none. Raises BadInputError."""
        if self.client_secret is None:
            return ""
        try:
            found = self.client_secret.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadInputError(
                f"ANUBIS_OIDC_CLIENT_SECRET: {self.client_secret} cannot be read",
                remedy="set it to a file that the user of the service can read",
            ) from error
        if not found:
            raise BadInputError(
                f"ANUBIS_OIDC_CLIENT_SECRET: {self.client_secret} is empty",
                remedy="write the secret of the provider into it",
            )
        return found


def _problem(name: str, message: str) -> Problem:
    return Problem(path=name, message=message, remedy=f"set {name}")
