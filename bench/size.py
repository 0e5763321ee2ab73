"""Measures the deployed size of each function, and the build time of all functions from scratch."""

import io
import os
import pathlib
import shutil
import subprocess
import time
import zipfile

from spread import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
LAMBDAS = ROOT / "target/lambda"
COLD = ROOT / "target/cold"
# The target of a zip file in bytes and of a build in minutes, and the size that the check accepts.
TARGET, TARGET_MINUTES, MOST = 3.5 * 1024 * 1024, 15, 4 * 1024 * 1024
# The limits of functions with the S3 client of the SDK.
LARGER = {
    "continue-bank-job": 4_700_000, "continue-job": 4_750_000, "execute-payment": 4_500_000, "get-export": 4_800_000,
    "get-reference": 4_800_000, "plan-refresh": 4_400_000, "reconcile": 4_450_000,
}

TEXT = """\
## Size

`make build` built all {count} functions from scratch in {minutes:.1f} minutes, on {cores} processors.
Target: at most {target_minutes} minutes. Result: {minutes_verdict}.

The deployed zip files have {smallest:.2f} to {largest:.2f} MB. Target: at most {target:.2f} MB. Result:
{size_verdict}. {over} functions are larger. Link-time optimisation makes a binary a fifth smaller, but takes most of a
minute for each, and the S3 client alone adds about 1 MB. Only some of the largest functions are therefore linked with it
([decision](decisions/profile.md)). `make bench-counts` checks a limit of {most:.1f} MB, or a higher one of functions
with the S3 client, for all functions that were built before.

{table}"""


def sizes():
    """Returns the zip size of each built function in bytes."""
    names = sorted(source.stem for source in ROOT.glob("crates/*/src/bin/*.rs"))
    binaries = {name: LAMBDAS / name / "bootstrap" for name in names}
    return {name: zipped(binary) for name, binary in binaries.items() if binary.exists()}


def zipped(binary):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(binary, "bootstrap")
    return out.tell()


def measure():
    shutil.rmtree(COLD, ignore_errors=True)
    begin = time.monotonic()
    command = ["make", "build", f"TARGET={COLD}"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "CARGO_TARGET_DIR": str(COLD)}, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    shutil.rmtree(COLD)
    return {"seconds": round(seconds), "cores": len(os.sched_getaffinity(0)), "zips": sizes()}


def faults():
    zips = sizes()
    if not zips:
        yield f"{LAMBDAS.relative_to(ROOT)} contains no functions: run make build"
    for name, size in zips.items():
        most = LARGER.get(name, MOST)
        if size > most:
            yield f"{name}: the zip file has {size / 1e6:.2f} MB, and the limit is {most / 1e6:.2f} MB"


def domain(name):
    [source] = ROOT.glob(f"crates/*/src/bin/{name}.rs")
    return source.parents[2].name


def met(holds):
    return "met" if holds else "**missed**"


def section(result):
    by_domain = {}
    for name, size in result["zips"].items():
        by_domain.setdefault(domain(name), []).append(size / 1e6)
    rows = [[of, str(len(those)), f"{min(those):.2f}", f"{max(those):.2f}"] for of, those in sorted(by_domain.items())]
    megabytes = [size / 1e6 for size in result["zips"].values()]
    return TEXT.format(
        minutes=result["seconds"] / 60, cores=result["cores"], count=len(megabytes), smallest=min(megabytes),
        largest=max(megabytes), most=MOST / 1e6, target=TARGET / 1e6, size_verdict=met(max(megabytes) <= TARGET / 1e6),
        over=sum(size > TARGET / 1e6 for size in megabytes), target_minutes=TARGET_MINUTES,
        minutes_verdict=met(result["seconds"] <= 60 * TARGET_MINUTES),
        table=table(["service", "functions", "smallest zip, MB", "largest zip, MB"], rows),
    )
