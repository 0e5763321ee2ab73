"""The functions of the cold start comparison (docs/decisions/measuring.md).

These are schedule-payment, variants of it in Rust, JavaScript, Python and Go, and minimal functions.
"""

import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).parent.parent
PEERS = ROOT / "bench/peers"
BUILT = ROOT / "target/peers"
OURS = ROOT / "target/lambda/schedule-payment/bootstrap"
AMAZON_ROOTS = ROOT / "crates/function/roots/amazon.pem"


@dataclass
class Contestant:
    name: str
    command: list
    # The name of the environment variable that contains the path of the trusted certificates. The
    # file also contains the certificate of the fake DynamoDB.
    roots_variable: str = "SSL_CERT_FILE"
    roots: bytes = b""
    environment: dict = field(default_factory=dict)
    schedules: bool = True


def contestants(ours=OURS):
    """Returns all functions, with ours first.

    Each function trusts the same root certificates as in Lambda: our functions trust Amazon's
    certificates, Node.js trusts its built-in certificates, and the others trust the system's.
    """
    if not pathlib.Path(ours).is_file():
        sys.exit(f"{ours} is missing: run make build FUNCTIONS=schedule-payment")
    build()
    system = pathlib.Path(ssl.get_default_verify_paths().cafile or BUILT / "python/botocore/cacert.pem").read_bytes()
    packages = {"PYTHONPATH": f"{BUILT}/python:{PEERS}/python", "PYTHONPYCACHEPREFIX": f"{BUILT}/pycache"}
    return [
        Contestant("ours", [ours], roots=AMAZON_ROOTS.read_bytes()),
        Contestant("hello", [BUILT / "hello"], schedules=False),
        Contestant("connected", [BUILT / "connected"], roots=AMAZON_ROOTS.read_bytes(), schedules=False),
        Contestant("late", [BUILT / "late"], roots=AMAZON_ROOTS.read_bytes()),
        Contestant("node", ["node", BUILT / "node/main.cjs"], "NODE_EXTRA_CA_CERTS",
                   environment={"AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true"}),
        Contestant("python", [sys.executable, "-m", "awslambdaric", "schedule_payment.handler"],
                   "AWS_CA_BUNDLE", system, packages),
        Contestant("go", [BUILT / "go"], roots=system),
    ]


def build():
    """Builds the functions that are missing, and the Rust functions that have changed.

    To rebuild all functions, run `rm -r target/peers` first."""
    for tool, what in [("node", "runs the function in JavaScript"), ("npm", "installs its packages"), ("cargo", "builds the functions in Rust"), ("go", "builds the function in Go")]:
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing: it {what}")
    if not (BUILT / "node/main.cjs").exists():
        npm = ["npm", "--prefix", PEERS / "node"]
        subprocess.run([*npm, "install", "--silent", "--no-package-lock", "--no-audit", "--no-fund"], check=True)
        subprocess.run([*npm, "run", "--silent", "build"], check=True)
    if not (BUILT / "python").exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", BUILT / "python"]
        subprocess.run([*install, "--requirement", PEERS / "python/requirements.txt"], check=True)
    # The packages of Debian are in a GOPATH.
    go = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-ldflags=-s -w", "-o", BUILT / "go", "schedule_payment.go"], cwd=PEERS / "go", env=go, check=True)
    # Each function is built alone, so that cargo does not unify features.
    for name in ("hello", "connected", "late"):
        cargo(name)


def cargo(name):
    """Builds a function with our release profile."""
    profile = tomllib.loads((ROOT / "Cargo.toml").read_text())["profile"]["release"]
    settings = [f"--config=profile.release.{key}={toml(value)}" for key, value in profile.items() if key != "package"]
    target = BUILT / "cargo"
    command = ["cargo", "build", "--release", "--quiet", "--package", name, *settings]
    subprocess.run(command, cwd=PEERS, env={**os.environ, "CARGO_TARGET_DIR": str(target)}, check=True)
    # Copies the binary, as `make build` does. A copy causes fewer page faults than the file that
    # the linker wrote.
    shutil.copy(target / "release" / name, BUILT)


def toml(value):
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


if __name__ == "__main__":
    build()
