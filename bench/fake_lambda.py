"""Emulates the environment of a function: the Runtime API, and a DynamoDB that uses TLS."""

import http.server
import itertools
import json
import pathlib
import ssl
import subprocess
import threading
import time


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Sends headers and body in one packet. Two packets would cause a delay of 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def answer(self, body, headers=()):
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class DynamoDB:
    """A DynamoDB that responds immediately, is always empty, and accepts every write.

    Records each operation and its request."""

    def __init__(self, folder):
        self.calls = calls = []

        class Handler(Quiet):
            def do_POST(self):
                calls.append((self.headers["x-amz-target"].split(".")[-1], json.loads(self.body())))
                self.answer(b"{}", [("content-type", "application/x-amz-json-1.0")])

        key, self.certificate = certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self.port = serve(Handler, lambda socket: context.wrap_socket(socket, server_side=True))


def certificate(folder):
    """Creates a self-signed certificate for localhost."""
    key, pem = f"{folder}/key.pem", f"{folder}/cert.pem"
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE",
        "-keyout", key, "-out", pem,
    ], check=True, capture_output=True)
    return key, pathlib.Path(pem)


class Runtime:
    """A Runtime API that returns the events of a run.

    Records the time of each request and response."""

    def __init__(self):
        self.ids = itertools.count()
        self.begin([])
        runtime = self

        class Handler(Quiet):
            def do_GET(self):
                event = runtime.next()
                # If no event is left, do not respond. The function then waits until it is killed.
                # Lambda would freeze the function instead.
                if event is not None:
                    self.answer(event, runtime.headers())

            def do_POST(self):
                runtime.answered.append((time.perf_counter(), json.loads(self.body())))
                self.answer(b"{}")

        self.port = serve(Handler)

    def begin(self, events, at_first=lambda: None):
        """Starts a run. `at_first` runs at the first `next`, before the event is returned."""
        self.events, self.asked, self.handed, self.answered, self.done = list(events), [], [], [], threading.Event()
        self.at_first = at_first

    def next(self):
        self.asked.append(time.perf_counter())
        if len(self.asked) == 1:
            self.at_first()
        if not self.events:
            self.done.set()
            return None
        self.handed.append(time.perf_counter())
        return self.events.pop(0)

    def headers(self):
        return [
            ("content-type", "application/json"),
            # AWS's Runtime Interface Client for Python requires this header.
            ("lambda-runtime-trace-id", "Root=1-6b0e1a58-3c1f0a2b4d5e6f7a8b9c0d1e;Sampled=0"),
            ("lambda-runtime-aws-request-id", f"8476a536-e9f4-11e8-9739-{next(self.ids):012}"),
            ("lambda-runtime-deadline-ms", str(int(time.time() * 1000) + 30_000)),
            ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:123456789012:function:f"),
        ]


def serve(handler, wrap=lambda socket: socket):
    """Serves on a free loopback port and returns the port number."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.socket = wrap(server.socket)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port
