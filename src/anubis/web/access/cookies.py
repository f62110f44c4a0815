"""The cookies of browsers in which people have signed in."""

from fastapi import Request, Response

#: Cookie of a sign-in, and of a browser that is about to sign in.
SIGN_IN, BROWSER = "anubis", "anubis-browser"
#: Header, and field of a form, with the form token.
FORM_HEADER, FORM_FIELD = "Anubis-Form-Token", "form_token"


def name_of(request: Request, cookie: str) -> str:
    """The name of a cookie.

    Browsers accept one that begins with ``__Host-`` only from this host and with TLS. They do not separate the ports of a
    host, so without TLS the port is in the name: two services of one machine have different cookies.
    """
    if request.url.scheme == "https":
        return f"__Host-{cookie}"
    return f"{cookie}-{request.url.port or 80}"


def found(request: Request, cookie: str) -> str:
    """The value of a cookie; empty: there is none."""
    return request.cookies.get(name_of(request, cookie), "")


def put(request: Request, response: Response, cookie: str, value: str, *, lasts_s: float) -> None:
    """Set a cookie that scripts and requests from other sites, except links, do not get."""
    response.set_cookie(
        name_of(request, cookie),
        value,
        max_age=int(lasts_s),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )


def remove(request: Request, response: Response, cookie: str) -> None:
    """Remove a cookie."""
    put(request, response, cookie, "", lasts_s=0)
