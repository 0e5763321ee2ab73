"""Runs the commands of the README and of the tour on fresh local stacks, and checks what their comments say.

Usage: test_readme.py <the binary `local`>
"""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from local_stack import local_stack  # noqa: E402

PROBLEM = '"type":"/problems/'


def count(member, number, *others):
    """Returns a check that a member occurs so many times, and each other text at least once."""
    return lambda text: text.count(f'"{member}":') == number and all(other in text for other in others) and PROBLEM not in text


def has(*texts):
    return lambda text: all(one in text for one in texts) and PROBLEM not in text


def same(member):
    """Returns a check that two responses have the same id."""
    bodies = lambda text: [json.loads(body) for body in re.sub(r"}\s*{", "}\n{", text.strip()).split("\n")]
    return lambda text: len(found := bodies(text)) == 2 and len({one[member] for one in found}) == 1


# What the output of a command must be, by its comment.
CHECKS = {
    "twice": same("paymentId"),
    "one payment, SCHEDULED": count("paymentId", 1, '"status":"SCHEDULED"'),
    "PROCESSED": count("paymentId", 1, '"status":"PROCESSED"'),
    "the payment is the newest leg": lambda text: re.search(r'^{"items":\[{[^}]*"amount":"9.50"', text) is not None,
    "the payment": has('"paymentId"', '"status":"SCHEDULED"'),
    "the product": has('"sku":"boots-42"', '"price":"89.90"'),
    "the item": has('"itemId"', '"quantity":2'),
    "the transaction": has('"transactionId"', '"status":"completed"'),
    '"Walk 5000"': count("progressText", 1, '"name":"Walk 5000"'),
    "the coffee is the newest leg": lambda text: re.search(r'^{"items":\[{[^}]*"amount":"5.50"', text) is not None,
    "the certificate: one PROCESSED": has('"status":"closed"', '"PROCESSED":1'),
    "the archived payment": count("paymentId", 1, '"archivedAt"'),
    "201 Created": has("HTTP/1.1 201 Created"),
    "one ACTIVE item, quantity 2": count("itemId", 1, '"status":"ACTIVE"', '"quantity":2'),
    "an order with its total and lines": has('"status":"PLACED"', '"total":"179.80"', '"items":[{'),
    "the order, SHIPPED": has('"orderId"', '"status":"SHIPPED"'),
    "six activities": lambda text: text.split('"sections"')[0].count('"activityId":') == 6,
    '"Walking" and "Walk 5000"': count("progressText", 2, '"name":"Walking"', '"name":"Walk 5000"'),
    "completed": has('"status":"completed"'),
    "the awards and their sum": lambda text: sum(map(int, re.findall(r'"points":(\d+)', text))) == int(re.search(r'"total":(\d+)', text)[1]) > 0,
    "202 Accepted": has('"jobId":"ReportId-'),
    "the counts of each activity and department": has('"departments":[{', '"registered":'),
    "once": same("transactionId"),
    "409": lambda text: "HTTP/1.1 409" in text and "/problems/insufficient-funds" in text,
    "four legs, newest first": count("legId", 4),
    '"balance": "1419.50", "held": "20.00"': has('"balance":"1419.50"', '"held":"20.00"'),
    "for many payers at once": has('"posting":"grouped"'),
    "debits and credits by account type": has('"accountType":"checking"', '"debits":', '"credits":'),
    "403 Forbidden": lambda text: "HTTP/1.1 403 Forbidden" in text,
}
MARK = "\n@@ "


# The pages, each with the text before its first command and after its last one.
PAGES = {"README.md": ("## Try it", "## Deploy"), "docs/tour.md": ("## bank", "With `--auth required`")}


def script(page, url, binary):
    """Returns the commands of a page. Each comment becomes a mark in the output."""
    begin, end = PAGES[page]
    text = (ROOT / page).read_text(encoding="utf-8")
    text = "\n".join(re.findall(r"```sh\n(.*?)```", text[text.index(begin) : text.index(end)], re.DOTALL))
    text = text.replace("http://127.0.0.1:3000", url)
    text = re.sub(r"make token ARGS='([^']*)'", lambda found: f"{binary} token {found[1]}", text)
    text = re.sub(r" +# (.+)$", lambda found: f"; printf '{MARK.encode('unicode_escape').decode()}%s\\n' '{found[1]}'", text, flags=re.MULTILINE)
    return 'set -u; curl() { command curl -sS "$@"; }\n' + text


def run(page, binary):
    """Returns the comments of a page whose command did something else, and the number of comments."""
    with local_stack(binary) as url:
        done = subprocess.run(["bash", "-c", script(page, url, binary)], cwd=ROOT, capture_output=True, text=True, check=False)
    faults = [done.stderr] if done.stderr else []
    *answers, rest = re.split(r"\n@@ (.*)\n", done.stdout)
    for output, comment in zip(answers[::2], answers[1::2]):
        last = output.splitlines()[-1] if comment.endswith("newest leg") else output
        if comment not in CHECKS or not CHECKS[comment](last):
            faults.append(f"{comment}: {output}")
    if PROBLEM in rest:
        faults.append(rest)
    return [f"{page}: {fault}" for fault in faults], answers[1::2]


def main(binary):
    faults, seen = [], []
    for page in PAGES:
        wrong, comments = run(page, pathlib.Path(binary).resolve())
        faults, seen = faults + wrong, seen + comments
    faults += [f"no command has the comment: {comment}" for comment in CHECKS if comment not in seen]
    print("\n".join(faults) or f"{len(seen)} commands of {', '.join(PAGES)} did what their comments say")
    sys.exit(1 if faults else 0)


main(*sys.argv[1:])
