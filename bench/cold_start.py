#!/usr/bin/env python3
"""Times a Lambda binary from process start, under a Runtime API and a DynamoDB of this script's own.

DynamoDB stands behind real TLS on loopback and answers at once, so what is left is the function's own start.
Prints, over all runs and in ms: start to the first `next`, the first event to its answer, start to that
answer, the second event to its answer; and the peak of its memory in MB.

    bench/cold_start.py target/release/schedule-payment --runs 20 [--roots FILE] [--env NAME=VALUE]
"""

import argparse
import http.server
import json
import os
import pathlib
import ssl
import statistics
import subprocess
import tempfile
import threading
import time

EVENT = pathlib.Path(__file__).parent.parent / "events/bank/schedule-payment.json"


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body go out in one packet: two would wait 40 ms for each other.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, body, headers=()):
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


class DynamoDB(Quiet):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer(b"{}", [("content-type", "application/x-amz-json-1.0")])


class Runtime:
    """Hands out two events, and notes when each was asked for and answered."""

    def __init__(self):
        self.asked, self.answered, self.done = [], [], threading.Event()
        runtime, event = self, EVENT.read_bytes()

        class Handler(Quiet):
            def do_GET(self):
                runtime.asked.append(time.perf_counter())
                if len(runtime.asked) > 2:
                    runtime.done.set()
                    return
                deadline = str(int(time.time() * 1000) + 10_000)
                self.answer(event, [("lambda-runtime-aws-request-id", f"8476a536-e9f4-11e8-9739-2dfe598c3f{len(runtime.asked):02}"),
                                    ("lambda-runtime-deadline-ms", deadline), ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:1:function:f")])

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                assert body.get("statusCode") == 201, body
                runtime.answered.append(time.perf_counter())
                self.answer(b"{}")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def certificate(folder):
    """A certificate for localhost that signs itself."""
    key, pem = f"{folder}/key.pem", f"{folder}/cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", pem], check=True, capture_output=True)
    return key, pem


def dynamodb(key, pem):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), DynamoDB)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def run(binary, port, roots, extra):
    runtime = Runtime()
    environment = {
        "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{runtime.server.server_port}", "AWS_LAMBDA_FUNCTION_NAME": "schedule-payment",
        "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256", "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "SSL_CERT_FILE": roots,
        "AWS_ENDPOINT_URL_DYNAMODB": f"https://localhost:{port}", "PAYMENTS_TABLE": "t", "TRANSACTIONS_TABLE": "t",
        "WRITE_SHARDS": "5", "READ_SHARDS": "5", "DUE_INDEX": "GSI1", **extra,
    }
    start = time.perf_counter()
    process = subprocess.Popen([binary], env=environment, stdout=subprocess.DEVNULL)
    try:
        assert runtime.done.wait(60), "no answer"
    finally:
        process.kill()
        _, _, usage = os.wait4(process.pid, 0)
        runtime.server.shutdown()
    (first, second, *_), (answer, again) = runtime.asked, runtime.answered
    milliseconds = [1000 * part for part in (first - start, answer - first, answer - start, again - second)]
    return [*milliseconds, usage.ru_maxrss / 1024]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--roots", help="more certificates to trust, beside the one of this script")
    arguments.add_argument("--env", action="append", default=[], help="NAME=VALUE for the function")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        key, pem = certificate(folder)
        roots = f"{folder}/roots.pem"
        more = pathlib.Path(options.roots).read_text() if options.roots else ""
        pathlib.Path(roots).write_text(pathlib.Path(pem).read_text() + more)
        port = dynamodb(key, pem)
        extra = dict(pair.split("=", 1) for pair in options.env)
        rows = [run(options.binary, port, roots, extra) for _ in range(options.runs + 2)][2:]
    for name, column in zip(["first next", "first event", "first answer", "second event", "memory MB"], zip(*rows)):
        print(f"{name:13} median {statistics.median(column):7.2f}  least {min(column):7.2f}  most {max(column):7.2f}")


if __name__ == "__main__":
    main()
