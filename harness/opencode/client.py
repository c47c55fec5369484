"""The HTTP client of an OpenCode server on loopback."""

from __future__ import annotations

import ssl
from typing import Any

import httpx

__all__ = ["open_client"]


def open_client(password: str, **options: Any) -> httpx.Client:
    """Return a client that signs in as OpenCode's user; `options` are httpx's. The caller closes it.

    It speaks plain HTTP only: httpx's own TLS context reads every certificate authority there is, 25 ms and memory for
    each client. This one trusts none.
    """
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.Client(auth=("opencode", password), verify=nobody, trust_env=False, **options)
