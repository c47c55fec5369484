from __future__ import annotations

import ssl

from harness.opencode.client import open_client


def test_a_client_reads_no_certificates(monkeypatch):
    read: list[str] = []
    for name in ("load_verify_locations", "load_default_certs"):
        monkeypatch.setattr(ssl.SSLContext, name, lambda *_, name=name, **__: read.append(name))
    with open_client("secret", timeout=1) as client:
        assert client.timeout.connect == 1
    assert read == []
    ssl.create_default_context()
    assert read  # it would have been seen
