"""A stand-in for OpenCode's HTTP server on loopback: it notes what it is asked and answers what a test says."""

from __future__ import annotations

import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Talking"]


class Talking:
    """Fields: `asked` (method, path, headers, body); `answer` (status, body) of every call but the event stream.

    `/global/event` answers `greeting` and then sends what `say` gives it; with None it does not even answer.
    `hang_up` ends the stream.
    """

    def __init__(self):
        self.asked = []
        self.answer = (200, b"{}")
        self.greeting = 200
        self.lines = queue.SimpleQueue()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = False
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def say(self, *payloads, directory="/w", **envelope):
        for payload in payloads:
            self.raw(f"data: {json.dumps({'directory': directory, **envelope, 'payload': payload})}\n\n")

    def raw(self, text):
        self.lines.put(text.encode())

    def hang_up(self):
        self.lines.put(None)

    def stop(self):
        self.hang_up()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=10)


def _handler(talking):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_call(self):
            length = int(self.headers.get("content-length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            talking.asked.append((self.command, self.path, headers, body))
            if self.path == "/global/event":
                self.stream()
                return
            status, answer = talking.answer
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.send_header("connection", "close")
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = handle_call  # noqa: N815 - the base class wants these names

        def stream(self):
            self.close_connection = True
            if talking.greeting is not None:
                self.send_response(talking.greeting)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
            while (line := talking.lines.get()) is not None:
                try:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
                except OSError:
                    return

        def log_message(self, *_given):
            """Say nothing."""

    return Handler
