"""A browser without scripts: cookies of hosts, redirects, and forms."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3

_MOST_REDIRECTS = 10


class _Forms(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.forms, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "form":
            self.forms.append((values.get("method", "get"), values.get("action", ""), {}))
        elif tag == "input" and self.forms and values.get("name"):
            self.forms[-1][2][values["name"]] = values.get("value") or ""
        elif tag == "a":
            self.links.append(values.get("href"))


@dataclass
class Page:
    """An answer."""

    url: str
    status: int
    headers: urllib3.HTTPHeaderDict
    text: str
    #: Addresses of the requests that led to it.
    way: list = field(default_factory=list)

    @property
    def forms(self):
        """(method, action, fields) of every form."""
        return _Forms(self.text).forms

    @property
    def links(self):
        return _Forms(self.text).links


class Browser:
    """Follows redirects to ``hosts`` with cookies, which belong to a host with all its ports, as in browsers."""

    def __init__(self, place="127.0.0.1"):
        self.cookies = {}
        self._pool = urllib3.PoolManager(retries=False, timeout=60, source_address=(place, 0))

    def open(self, url, fields=None, *, follow=True, **headers):
        """GET, or POST with the fields of a form."""
        way = []
        for _ in range(_MOST_REDIRECTS):
            page = self._sent(url, fields, headers)
            way.append(url)
            page.way = way
            if not follow or page.status not in {301, 302, 303, 307}:
                return page
            url, fields = urljoin(url, page.headers["Location"]), None
            headers.pop("Origin", None)  # only requests that change something have it
        raise AssertionError(f"too many redirects: {way}")

    def submit(self, page, number=0, *, follow=True, **fields):
        """Send a form of a page, with other values of its fields."""
        method, action, known = page.forms[number]
        assert set(fields) <= set(known), known
        values = {**known, **fields}
        address = urljoin(page.url, action or page.url)
        if method.lower() == "get":
            return self.open(f"{address}?{urlencode(values)}", follow=follow)
        parts = urlsplit(page.url)
        return self.open(address, values, follow=follow, Origin=f"{parts.scheme}://{parts.netloc}")

    def _sent(self, url, fields, headers):
        names = {"Accept": "text/html", **headers}
        jar = self.cookies.setdefault(urlsplit(url).hostname, {})
        if jar:
            names["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        if fields is None:
            answer = self._pool.request("GET", url, headers=names, redirect=False)
        else:
            names["Content-Type"] = "application/x-www-form-urlencoded"
            answer = self._pool.request("POST", url, urlencode(fields), headers=names, redirect=False)
        for text in answer.headers.getlist("Set-Cookie"):
            for name, morsel in SimpleCookie(text).items():
                if morsel["max-age"] == "0":
                    jar.pop(name, None)
                else:
                    jar[name] = morsel.value
        return Page(url, answer.status, answer.headers, answer.data.decode("utf-8", "replace"))

    def close(self):
        self._pool.clear()
