"""Runs the local stack. Restarts it when a source file changes and the build succeeds.

If the first start fails, such as because of a data file of another version, ends with its exit code.

Usage: dev.py <port> <command that runs the stack>
"""

import contextlib
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [ROOT / name for name in ("Cargo.toml", "Cargo.lock", "template.yaml")]
BUILD = ["cargo", "build", "--quiet", "--bin", "local"]
MAX_WAIT_SECONDS = 60
POLL_SECONDS = 0.2


def sources():
    """Returns the modification time of each source file. Ignores files that disappear while an editor replaces them."""
    times = {}
    for path in [*FILES, *(ROOT / "stacks").glob("*.yaml"), *(path for path in (ROOT / "crates").rglob("*") if path.suffix != ".py")]:
        with contextlib.suppress(OSError):
            times[path] = path.stat().st_mtime_ns
    return times


def serves(port):
    with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/_local/health", timeout=5):
        return True
    return False


def stop(running):
    if running:
        running.terminate()
        running.wait(MAX_WAIT_SECONDS)


def wait_until_it_serves(running, port):
    end = time.monotonic() + MAX_WAIT_SECONDS
    while running.poll() is None and time.monotonic() < end:
        if serves(port):
            return True
        time.sleep(0.02)
    return False


def main(port, *command):
    # Shells start background jobs with SIGINT ignored. Handle SIGINT in that case as well.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    running, built = None, None
    try:
        while True:
            now, saved = sources(), time.monotonic()
            if now == built:
                time.sleep(POLL_SECONDS)
                continue
            is_first, built = built is None, now
            # The old stack keeps serving until the build succeeds.
            if subprocess.run(BUILD, cwd=ROOT).returncode == 0:
                stop(running)
                running = subprocess.Popen(command, cwd=ROOT)
                if not wait_until_it_serves(running, port):
                    if is_first and running.poll() is not None:
                        return running.returncode
                    print("dev: the stack failed to start; dev tries again after the next change", flush=True)
                elif not is_first:
                    print(f"dev: restarted with the change after {time.monotonic() - saved:.1f} seconds", flush=True)
    except KeyboardInterrupt:
        pass
    finally:
        stop(running)
    return 0


sys.exit(main(*sys.argv[1:]))
