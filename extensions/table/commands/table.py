# pyright: strict
"""Open a table in the browser: play against any agent, watch two agents, or analyze hands.

Only this computer can open the table, unless --host names an address of the network. On such an
address, the page asks for a token, so that you can open it on your phone and other people cannot.
Whoever opens the page plays as you. The opponents are the agents that `german-whist agents` lists.
To add others, name them: an agent with parameters, the path of a checkpoint, or module:object.
"""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
import threading
import webbrowser
from contextlib import closing, suppress
from pathlib import Path

from german_whist.commands.worker_options import add_trust_option
from german_whist.common.suggestions import not_installed

PORT = 5252
_OWN = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
"""Where this machine reaches a server that listens on all addresses."""
_PAGE = "extensions/table/README.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="agents to add to the opponents")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on (default: 127.0.0.1, which only this computer can reach)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        help=f"port to listen on, 0: any free one (default: {PORT})",
    )
    parser.add_argument(
        "--token", help="token that the page asks for on a network address (default: a random one)"
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder of saved games")
    parser.add_argument(
        "--no-browser", action="store_true", help="do not open the page in a browser"
    )
    add_trust_option(parser)


def run(arguments: argparse.Namespace) -> int:
    try:
        from ..browser.server import Server, make_app
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("starlette", "uvicorn"):
            raise
        sentence = not_installed("the table in the browser", error.name, "table", _PAGE)
        raise ValueError(f"{sentence}; german-whist play needs nothing more") from error
    from german_whist.common.jit.compiler import compile_in_child

    from ..browser.security import Access, is_loopback
    from ..game.opponents import Opponents
    from ..game.store import Store

    compile_in_child()
    access = Access.at(arguments.host, arguments.token)
    opponents = Opponents(arguments.agents)
    with (
        closing(_listening(arguments.host, arguments.port)) as listening,
        closing(Store(arguments.data)) as store,
    ):
        if store.notice:
            print(f"german-whist table: {store.notice}", file=sys.stderr)
        port = listening.getsockname()[1]
        page = _address(_OWN.get(arguments.host) or arguments.host, port)
        if access.token is not None:
            query = f"?token={access.token}"
            if not is_loopback(arguments.host):
                print(f"On your phone: {_address(_network_host(arguments.host), port)}{query}")
                print(
                    "Connections are not encrypted: whoever can read your network can read the "
                    "token, so open the table in a network that you trust"
                )
            page += query
        print(f"German Whist: {page}")
        print(
            "Ctrl-C ends it" + ("; what is under way is kept." if store.persistent else "."),
            flush=True,
        )
        server = Server(make_app(store, opponents, access))
        if not arguments.no_browser and _has_screen():
            # The socket already listens, so a page that is faster than the server waits.
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    print("The table is closed.")
    return 0


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port < 2**16:
        raise ValueError(f"port is {port}: it has to be from 0 to {2**16 - 1}")
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = infos[0]
        listening = socket.create_server(address[:2], family=family, backlog=128)
        # Without it the body of a response waits some 40 ms for the acknowledgement of its head;
        # asyncio sets it only on sockets that were made with the protocol's number.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OSError(
                f"port {port} of {host} is taken, perhaps by a table that is open already: name "
                "another with --port, or 0 for any that is free"
            ) from error
        raise OSError(
            f"cannot listen on {host}, port {port} ({error.strerror or error}): name an address "
            "of this machine with --host, and a port above 1023 with --port"
        ) from error


def _network_host(host: str) -> str:
    """This machine's address on the network, where it listens on all of its addresses."""
    if host not in _OWN:
        return host
    family, elsewhere = (
        (socket.AF_INET6, "2001:db8::1") if host == "::" else (socket.AF_INET, "192.0.2.1")
    )
    # Nothing is sent; the system only chooses the address that it would send from.
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((elsewhere, 9))
        return probe.getsockname()[0]
    return socket.gethostname()


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _has_screen() -> bool:
    """Whether there is a screen; without one, `webbrowser` would open a text browser."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform in ("win32", "darwin") or any(os.environ.get(name) for name in screens)
