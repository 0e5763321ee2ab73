"""ministack with IAM enforcement, a token issuer, and a proxy that sets the host name of an API."""

import base64
import contextlib
import http.client
import http.server
import json
import pathlib
import subprocess
import threading
import time
import urllib.request

import boto3
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from local_stack import wait_for

REGION = "us-east-1"
AUDIENCE = "api"


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextlib.contextmanager
def serving(handler):
    """Serves HTTP requests on a free port of the loopback interface. Returns the port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class Quiet(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Issuer:
    """An OpenID Connect issuer with one RS256 key."""

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.url = ""

    @contextlib.contextmanager
    def running(self):
        numbers = self.key.public_key().public_numbers()
        number = lambda value: encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
        jwks = {"keys": [{"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": number(numbers.n), "e": number(numbers.e)}]}
        issuer = self

        class Handler(Quiet):
            def do_GET(self):
                documents = {
                    "/.well-known/openid-configuration": {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/jwks.json"},
                    "/jwks.json": jwks,
                }
                document = documents.get(self.path)
                self.answer(200 if document else 404, json.dumps(document or {}).encode(), [("content-type", "application/json")])

        with serving(Handler) as port:
            self.url = f"http://127.0.0.1:{port}"
            yield self

    def token(self, *scopes, **claims):
        now = int(time.time())
        body = {"iss": self.url, "aud": AUDIENCE, "iat": now, "exp": now + 3600, "sub": "smoke", "scope": " ".join(scopes), **claims}
        parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "1", "typ": "JWT"}, body)]
        signed = ".".join(parts).encode()
        return f"{signed.decode()}.{encoded(self.key.sign(signed, padding.PKCS1v15(), hashes.SHA256()))}"


class Cloud:
    """A running ministack."""

    def __init__(self, port):
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    def service(self, name):
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        return boto3.client(name, endpoint_url=self.url, region_name=REGION, **keys)

    @contextlib.contextmanager
    def api(self, api_id):
        """Serves an HTTP API under a URL of its own. ministack finds the API by the host name."""
        upstream = self.port

        class Handler(Quiet):
            def forward(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                headers["host"] = f"{api_id}.execute-api.localhost"
                connection = http.client.HTTPConnection("127.0.0.1", upstream, timeout=60)
                connection.request(self.command, self.path, body, headers)
                found = connection.getresponse()
                body = found.read()
                skipped = ("content-length", "connection", "transfer-encoding", "date", "server")
                self.answer(found.status, body, [(name, value) for name, value in found.getheaders() if name.lower() not in skipped])
                connection.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

        with serving(Handler) as port:
            yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def running(binary, port, folder):
    """Runs ministack until the end of the block, with its files in the folder."""
    folder = pathlib.Path(folder)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AUTH": "true",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "INFO",
    }
    log = folder / "ministack.log"
    with log.open("w") as out:
        running = subprocess.Popen([binary], env=environment, stdout=out, stderr=out, cwd=folder)
        try:
            wait_for("ministack", lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/_ministack/health", timeout=5).status == 200)
            yield Cloud(port)
        except BaseException:
            print(log.read_text()[-6000:])
            raise
        finally:
            running.terminate()
            running.wait(20)
