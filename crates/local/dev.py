"""Runs the local stack, and restarts it whenever a source file changes and the build passes.

Usage: dev.py <port> <command that runs the stack>
"""

import contextlib
import pathlib
import signal
import subprocess
import sys
import time
import urllib.request

from watchfiles import DefaultFilter, watch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [ROOT / name for name in ("crates", "Cargo.toml", "Cargo.lock", "template.yaml")]
BUILD = ["cargo", "build", "--quiet", "--bin", "local"]
MAX_WAIT_SECONDS = 60


class Sources(DefaultFilter):
    """What the binary or the stack is made of."""

    def __call__(self, change, path):
        return super().__call__(change, path) and path.endswith((".rs", ".toml", ".lock", ".yaml", ".json", ".pem"))


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
    # A shell that starts this in the background ignores Ctrl-C, and so would we.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)
    running, is_first = None, True
    try:
        # The first round watches already: a change during the first build is not lost.
        # Polling sees a file that an editor replaces; a watch of the file itself ends there.
        options = {"force_polling": True, "poll_delay_ms": 100, "rust_timeout": 200, "yield_on_timeout": True}
        for changes in watch(*SOURCES, watch_filter=Sources(), debounce=200, step=20, **options):
            if not (changes or is_first):
                continue
            saved = time.monotonic()
            # The stack that runs keeps serving until there is a binary to replace it.
            if subprocess.run(BUILD, cwd=ROOT).returncode == 0:
                stop(running)
                running = subprocess.Popen(command, cwd=ROOT)
                if not wait_until_it_serves(running, port):
                    print("dev: the stack does not serve; it starts again with the next change", flush=True)
                elif not is_first:
                    print(f"dev: serving the change after {time.monotonic() - saved:.1f} seconds", flush=True)
            is_first = False
    except KeyboardInterrupt:
        pass
    finally:
        stop(running)


main(*sys.argv[1:])
