"""Gives a process the part of a processor that a Lambda of so much memory has, by a cgroup of version 1 or 2."""

import contextlib
import os
import pathlib

# AWS: 1,769 MB of memory come with one processor.
MB_A_PROCESSOR = 1769
# Shorter than the usual 100 ms: a start that fits into one period's quota would never be held back.
PERIOD = 20_000
V1 = pathlib.Path("/sys/fs/cgroup/cpu")
V2 = pathlib.Path("/sys/fs/cgroup")


class NoShare(Exception):
    """The machine lets us make no such group; the words say why."""


@contextlib.contextmanager
def of_memory(megabytes):
    """A group with the share; gives the file that a process writes its id into. What it starts stays in the group."""
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
        raise NoShare(f"no cgroup with a limit can be made ({error}): be root") from error
    try:
        yield group / "cgroup.procs"
    finally:
        group.rmdir()
