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
# The maximum size of a zip file, in bytes.
MOST = 4 * 1024 * 1024
# The limits of functions with the S3 client of the SDK.
LARGER = {
    "continue-bank-job": 4_700_000, "continue-job": 4_750_000, "execute-payment": 4_500_000, "get-export": 4_800_000,
    "get-reference": 4_800_000, "plan-refresh": 4_400_000, "reconcile": 4_450_000,
}

TEXT = """\
## Size

`make build` built all {count} functions from scratch in {minutes:.1f} minutes, on {cores}
processors. The deployed zip files have {smallest:.2f} to {largest:.2f} MB. The limit is {most:.1f}
MB. `make bench-counts` checks the limit for all functions that were built before. Functions with
further SDK clients are linked with link-time optimization ([decision](decisions/profile.md)).

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


def section(result):
    by_domain = {}
    for name, size in result["zips"].items():
        by_domain.setdefault(domain(name), []).append(size / 1e6)
    rows = [[of, str(len(those)), f"{min(those):.2f}", f"{max(those):.2f}"] for of, those in sorted(by_domain.items())]
    megabytes = [size / 1e6 for size in result["zips"].values()]
    return TEXT.format(
        minutes=result["seconds"] / 60, cores=result["cores"], count=len(megabytes), smallest=min(megabytes),
        largest=max(megabytes), most=MOST / 1e6,
        table=table(["service", "functions", "smallest zip, MB", "largest zip, MB"], rows),
    )
