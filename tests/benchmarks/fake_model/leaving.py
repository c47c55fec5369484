"""What the fake model's close record says of clients that leave at full speed, against what they know themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from fakemodel import FakeModel, load_text, parse_script

PROGRAM = Path(__file__).parents[2] / "fakemodel" / "leaving_clients.py"
CLIENTS = 200
AT_ONCE = 8
SCRIPT = """
- say: Let me check whether the containers started.
  repeat: forever
  chunks: {size: 7}
  max_chunks: 100000000
  pace: 0
  times: 10000
"""


@dataclass(frozen=True)
class Left:
    """A client that has left: the chunks that the record counts above those that it read, and two times in ms.

    ``lag`` is the record's own, from when the server heard of the close to the end of the stream; ``since_close``
    counts from the close by the client's clock, and so holds what the system needed to run the server.
    """

    above: int
    lag: float
    since_close: float


def leave() -> list[Left]:
    """Let clients leave, each after a random chunk."""
    with FakeModel() as model:
        stage = model.open(parse_script(load_text(SCRIPT, "leaving"), ()))
        url = urlsplit(f"{stage.base_url()}/chat/completions")
        command = [sys.executable, str(PROGRAM), str(url.hostname), str(url.port), url.path, str(CLIENTS), str(AT_ONCE)]
        clients = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        records = stage.journal.wait_for(len(clients), timeout=30)
        stage.close()
    assert {record.ended_by for record in records} == {"client"}
    found = []
    for record in records:
        client = clients[int(record.request.user_text)]
        if not client["blind"]:
            above = record.chunks_sent - client["read"]
            assert record.closed_at is not None
            assert record.stop_lag is not None
            found.append(Left(above, record.stop_lag * 1000, (record.closed_at - client["left"]) * 1000))
    return found
