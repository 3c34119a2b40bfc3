"""A real server on this machine that publishes keys, and the keys that sign tokens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm


def rsa_key(number: int = 1, bits: int = 2048) -> rsa.RSAPrivateKey:
    """A key of its own for each number."""
    return _rsa_key(number, bits)


@cache
def _rsa_key(_number: int, bits: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def ec_key(number: int = 1, curve: str = "P-256") -> ec.EllipticCurvePrivateKey:
    """A key of its own for each number."""
    return _ec_key(number, curve)


@cache
def _ec_key(_number: int, curve: str) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1() if curve == "P-256" else ec.SECP384R1())


def public(key: Any, key_id: Any, **more: Any) -> dict[str, Any]:
    """How a key is published."""
    algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    told: dict[str, Any] = algorithm.to_jwk(key.public_key(), as_dict=True)
    return told | {"kid": key_id, "use": "sig"} | more


def signed(key: Any, key_id: str | None, algorithm: str, claims: dict[str, Any]) -> str:
    """A token."""
    return jwt.encode(claims, key, algorithm, headers={} if key_id is None else {"kid": key_id})


@dataclass
class Provider:
    """What it publishes can be changed; ``asked`` counts the requests; it waits for ``gate``."""

    port: int
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    gate: threading.Event = field(default_factory=threading.Event)
    came: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/keys"

    def publish(self, *keys: Any) -> None:
        self.status, self.body = 200, json.dumps({"keys": keys}).encode()


@contextmanager
def running_provider() -> Iterator[Provider]:
    """Serve until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.asked += 1
            provider.came.set()
            provider.gate.wait(10)
            self.send_response(provider.status)
            for name, value in (
                {"Content-Length": str(len(provider.body))} | provider.headers
            ).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(provider.body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(server.server_address[1])
    provider.gate.set()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        provider.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
