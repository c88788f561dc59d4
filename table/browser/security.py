# pyright: strict
"""Who may ask, and what a browser may do with the answers.

Every request passes here first. Its Host has to be a name of this machine, so that no
foreign page reaches it by a name of its own; a page of another origin may change nothing;
on a network address a token is asked for; and every answer forbids the browser to load
anything from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..text.labels import labels, say

TOKEN_COOKIE = "german_whist_token"
_TOKEN_BYTES = 18
_LEAST_TOKEN = 8

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_READING = ("GET", "HEAD")

_ASKS_FOR_TOKEN = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>{title}</h1>
<form method="get" action="/"><p><label>{asks_for_token}
<input name="token" autocomplete="off" required></label> <button>{sit_down}</button></p></form>
</main></body></html>
"""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def checked_token(token: str) -> str:
    """A token of the user's own, refused if it is too short."""
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(say("refused.token", token=repr(token), least=_LEAST_TOKEN))
    return token


@dataclass(frozen=True)
class Access:
    """Where the server is reached, and what it asks for."""

    host: str = "127.0.0.1"
    token: str | None = None
    """None asks nobody, which is for this machine alone."""
    names: frozenset[str] = field(default_factory=frozenset[str])
    """Names of this machine in the Host header."""
    proxies: frozenset[str] = field(default_factory=frozenset[str])
    """Further names, such as that of a proxy, which may speak TLS where this server does not."""

    @staticmethod
    def at(host: str, token: str | None = None, names: Iterable[str] = ()) -> Access:
        """The door of a server that listens on `host`; a network asks for a token."""
        if token is not None:
            token = checked_token(token)
        elif not is_loopback(host):
            token = new_token()
        known = {host.lower()}
        if not is_loopback(host):
            known |= {socket.gethostname().lower(), socket.getfqdn().lower()}
            known.add(f"{socket.gethostname().lower()}.local")
        return Access(host, token, frozenset(known), frozenset(name.lower() for name in names))

    def knows(self, host: str) -> bool:
        """Whether a Host header names this machine; a foreign name could be anybody's."""
        name = _name_in(host)
        if name is None:
            return False
        if name in self.names | self.proxies or is_loopback(name):
            return True
        # A page elsewhere reaches an address by a name that it controls, never by the address.
        return not is_loopback(self.host) and _is_address(name)

    def proxied(self, host: str) -> bool:
        """Whether a Host header names a proxy before this server."""
        return _name_in(host) in self.proxies


def _name_in(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    name = parts.hostname
    return name if name and not (parts.path or parts.username or parts.query) else None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class AccessMiddleware:
    """Refuses what may not pass, and marks every answer."""

    def __init__(self, app: ASGIApp, door: Access) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)

        begun = False

        async def marked(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                found = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    found.setdefault(name, value)
                found.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refused(scope, headers)
        try:
            await (refused or self._app)(scope, receive, marked)
        except asyncio.CancelledError:
            # The server ends while something is still computed: that is no error to log.
            if not begun:
                await _no(503, say("refused.closing"))(scope, receive, marked)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not self._door.knows(host):
            return _no(403, say("refused.host", host=repr(host[:100])))
        if not self._same_origin(scope, headers, host):
            return _no(403, say("refused.origin"))
        if not self._has_token(scope, headers):
            if scope["path"] == "/":
                return HTMLResponse(_ASKS_FOR_TOKEN.format(**labels()["site"]), status_code=401)
            return _no(401, say("refused.no_token"))
        return None

    def _same_origin(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Whether the request comes from this table's own page, or from no page at all."""
        origin = headers.get("origin")
        if origin is not None:
            schemes = (scope["scheme"], *(["https"] if self._door.proxied(host) else []))
            return origin.removesuffix(f"://{host}") in schemes
        # A link may lead here from anywhere; only reading may go without an Origin.
        site = headers.get("sec-fetch-site", "none")
        return scope["method"] in _READING or site in ("none", "same-origin")

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        if self._door.token is None:
            return True
        given = [
            QueryParams(scope["query_string"]).get("token", "") if scope["path"] == "/" else "",
            cookie_parser(headers.get("cookie", "")).get(TOKEN_COOKIE, ""),
            headers.get("authorization", "").removeprefix("Bearer "),
        ]
        wanted = self._door.token.encode()
        return any(hmac.compare_digest(each.encode(), wanted) for each in given)


def _no(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=status)
