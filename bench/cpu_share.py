"""Limits a process to the CPU share that Lambda gives to a function with a certain memory size.

Uses a cgroup (v1 or v2)."""

import contextlib
import os
import pathlib

# AWS: 1,769 MB of memory are equivalent to one vCPU.
MB_A_PROCESSOR = 1769
# Period in microseconds. With the default of 100 ms, a process could start within the quota of one
# period, and would not be throttled.
PERIOD = 20_000
V1 = pathlib.Path("/sys/fs/cgroup/cpu")
V2 = pathlib.Path("/sys/fs/cgroup")


class NoShare(Exception):
    """The machine does not permit a cgroup with a CPU limit. The message contains the reason."""


@contextlib.contextmanager
def of_memory(megabytes):
    """Creates a cgroup with the CPU share.

    Yields a file. A process joins the cgroup when its id is written to this file."""
    quota = PERIOD * megabytes // MB_A_PROCESSOR
    is_v1 = (V1 / "cpu.cfs_quota_us").exists()
    group = (V1 if is_v1 else V2) / f"bench-{os.getpid()}"
    limits = {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quota} if is_v1 else {"cpu.max": f"{quota} {PERIOD}"}
    try:
        group.mkdir()
        for name, limit in limits.items():
            (group / name).write_text(str(limit))
    except OSError as error:
        with contextlib.suppress(OSError):
            group.rmdir()
        raise NoShare(f"cannot create a cgroup with a limit ({error}): run as root") from error
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()
