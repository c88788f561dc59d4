# pyright: strict
"""Access control and security headers, as a middleware before all handlers.

The Host header must name this machine (against DNS rebinding); pages of another origin may not
change anything (CSRF); a server on a network address requires a token; and a content security
policy forbids the browser to load anything from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import secrets
import socket
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..text.labels import label, labels

TOKEN_COOKIE = "german_whist_token"
_TOKEN_BYTES = 18
_MIN_TOKEN = 8

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
_SAFE_METHODS = ("GET", "HEAD")

_TOKEN_PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>{title}</h1>
<form method="get" action="/"><p><label>{needs_token}
<input name="token" autocomplete="off" required></label> <button>{sit_down}</button></p></form>
</main></body></html>
"""


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    address = _address_in(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address_in(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


@dataclass(frozen=True)
class Access:
    """The server's address and its token."""

    host: str = "127.0.0.1"
    token: str | None = None
    """None: no token is required, for this machine alone."""
    names: frozenset[str] = field(default_factory=frozenset[str])
    """Names of this machine in the Host header."""

    @staticmethod
    def at(host: str, token: str | None = None) -> Access:
        """Access to a server that listens on `host`; on a network, with a token."""
        if token is not None:
            if len(token) < _MIN_TOKEN or not re.fullmatch("[!-~]*", token):
                raise ValueError(label("refused.token", token=repr(token), least=_MIN_TOKEN))
        elif not is_loopback(host):
            token = secrets.token_urlsafe(_TOKEN_BYTES)
        known_names = {host.lower()}
        if not is_loopback(host):
            known_names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
            known_names.add(f"{socket.gethostname().lower()}.local")
        return Access(host, token, frozenset(known_names))

    def is_known_host(self, host: str) -> bool:
        name = _name_in(host)
        if name is None:
            return False
        if name in self.names or is_loopback(name):
            return True
        # DNS rebinding works by a name that the attacker controls, never by the address itself.
        return not is_loopback(self.host) and _address_in(name) is not None


def _name_in(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    name = parts.hostname
    return name if name and not (parts.path or parts.username or parts.query) else None


class AccessMiddleware:
    """Refuses requests without access, and adds security headers to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                # Browsers revalidate the page's files on every visit, and keep nothing else.
                is_file = scope["path"].startswith("/static/")
                headers.setdefault("Cache-Control", "no-cache" if is_file else "no-store")
            await send(message)

        refusal = self._refusal(scope, Headers(scope=scope))
        try:
            await (refusal or self._app)(scope, receive, send_with_headers)
        except asyncio.CancelledError:
            # The server stopped during a request: answer instead of logging an error.
            if not started:
                await _refuse(503, label("refused.closing"))(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not self._access.is_known_host(host):
            return _refuse(403, label("refused.host", host=repr(host[:100])))
        if not self._same_origin(scope, headers, host):
            return _refuse(403, label("refused.origin"))
        if not self._has_token(scope, headers):
            if scope["path"] == "/":
                return HTMLResponse(_TOKEN_PAGE.format(**labels()["site"]), status_code=401)
            return _refuse(401, label("refused.no_token"))
        return None

    def _same_origin(self, scope: Scope, headers: Headers, host: str) -> bool:
        """Whether the request comes from the table's own page, or from no page at all."""
        origin = headers.get("origin")
        if origin is not None:
            return origin == f"{scope['scheme']}://{host}"
        # A link from any site may lead here, so a safe method needs no origin.
        site = headers.get("sec-fetch-site", "none")
        return scope["method"] in _SAFE_METHODS or site in ("none", "same-origin")

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        if self._access.token is None:
            return True
        tokens = [
            QueryParams(scope["query_string"]).get("token", "") if scope["path"] == "/" else "",
            cookie_parser(headers.get("cookie", "")).get(TOKEN_COOKIE, ""),
            headers.get("authorization", "").removeprefix("Bearer "),
        ]
        expected = self._access.token.encode()
        return any(hmac.compare_digest(token.encode(), expected) for token in tokens)


def _refuse(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status_code=status)
