"""Draws a sample of the mutants of cargo-mutants, and counts its outcomes by crate."""

import json
import random
import subprocess
from collections import Counter

import names
from copied import ROOT, lines

CRATES = ["keys", "table", "function", "jobs", "intake", "money", "bank", "cart", "lake", "ledger", "wellness"]
COUNT, LEAST = 112, 4
COMMAND = [str(ROOT / ".tools/bin/cargo-mutants"), "mutants", "--list", "--json", "--exclude", "crates/*/src/bin/**"]


def draw(file, seed):
    """Writes COUNT mutants, at least LEAST of each crate.

    The draw does not depend on files and lines.
    """
    packages = [option for crate in CRATES for option in ("--package", crate)]
    listed = subprocess.run([*COMMAND, *packages], cwd=ROOT, check=True, capture_output=True, text=True)
    functions = {crate: list(names.functions(ROOT / "crates" / crate)) for crate in CRATES}
    texts = {}
    mutants = [described(one, functions[one["package"]], texts) for one in json.loads(listed.stdout)]
    mutants = sorted((one for one in mutants if one), key=lambda one: json.dumps(one))
    chance = random.Random(seed)
    chance.shuffle(mutants)
    first, seen = [], Counter()
    for one in mutants:
        if seen[one["crate"]] < LEAST:
            seen[one["crate"]] += 1
            first.append(one)
    drawn = first + [one for one in mutants if one not in first][: COUNT - len(first)]
    drawn.sort(key=lambda one: CRATES.index(one["crate"]))
    numbers = Counter()
    for one in drawn:
        numbers[one["crate"]] += 1
        one["name"] = f"{one['crate']}-{numbers[one['crate']]:02}"
    order = ["name", "title", "crate", "function", "expression", "replacement"]
    drawn = [{field: one[field] for field in order if field in one} for one in drawn]
    version = subprocess.run([COMMAND[0], "mutants", "--version"], check=True, capture_output=True, text=True)
    content = {"seed": seed, "tool": version.stdout.strip(), "of": len(mutants), "mutants": drawn}
    file.write_text(lines(content) + "\n")
    print(f"{len(drawn)} of {len(mutants)} mutants: {dict(numbers)}")


def described(mutant, functions, texts):
    """Returns the mutant with a function and an expression instead of a file and a line.

    Returns None if the function or the expression is ambiguous.
    """
    file = ROOT / mutant["file"]
    text = texts.setdefault(file, file.read_text())
    start, end = (offset(text, mutant["span"][side]) for side in ("start", "end"))
    around = [place for place in functions if place.file == file and place.start <= start and end <= place.end]
    if not around:
        return None
    place = max(around, key=lambda place: place.start)
    name = next((name for name in shortest(place.names) if is_unique(functions, name)), None)
    found = {"title": title(mutant, text[start:end]), "crate": mutant["package"], "function": name}
    if mutant["genre"] == "FnValue":
        return name and {**found, "replacement": mutant["replacement"]}
    body = text[place.start : place.end]
    expression = widened(body, start - place.start, end - place.start, mutant["replacement"])
    return name and expression and {**found, "expression": expression[0], "replacement": expression[1]}


def title(mutant, original):
    function, replacement = mutant["function"]["function_name"], mutant["replacement"]
    if mutant["genre"] == "FnValue":
        return f"replace {function} with {replacement}"
    original = " ".join(original.split())
    original = original if len(original) <= 60 else original[:59] + "…"
    return f"replace {original} with {replacement} in {function}" if replacement else f"delete {original} in {function}"


def offset(text, at):
    """The offset of a line and a column, which start at 1."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: at["line"] - 1]) + at["column"] - 1


def shortest(full_names):
    """The ends of the names of a function, the shortest first."""
    ends = {"::".join(full.split("::")[n:]) for full in full_names for n in range(full.count("::") + 1)}
    return sorted(ends, key=lambda end: (end.count("::"), len(end), end))


def is_unique(functions, name):
    return sum(any(full == name or full.endswith("::" + name) for full in place.names) for place in functions) == 1


def widened(body, start, end, replacement):
    """Adds tokens around an expression until it is unique. Returns it and its replacement."""
    tokens = [match for match in names.TOKEN.finditer(body) if not match[0].startswith(("//", "/*"))]
    before = [match.start() for match in tokens if match.end() <= start]
    after = [match.end() for match in tokens if match.start() >= end]
    for width in range(40):
        left = before[-width] if 0 < width <= len(before) else (start if width == 0 else 0)
        right = after[min(width, len(after)) - 1] if width and after else end
        wide = body[left:right]
        if wide.strip() and len(list(names.pattern(wide).finditer(body))) == 1:
            return " ".join(wide.split()), body[left:start] + replacement + body[end:right]
    return None


def rows(mutants, outcomes):
    """The table of the sample, and the mutants that no test caught."""
    if not mutants:
        return []
    kinds = ["caught", "missed", "timed out", "unviable", "not run"]
    counts = {crate: Counter() for crate in CRATES}
    for mutant in mutants:
        counts[mutant.crate][outcomes.get(mutant.name, {"outcome": "not run"})["outcome"]] += 1
    lines = ["", f"| sample of cargo-mutants | {' | '.join(kinds)} |", "| --- |" + " ---: |" * len(kinds)]
    lines += [f"| {crate} | {' | '.join(str(count[kind]) for kind in kinds)} |" for crate, count in counts.items()]
    missed = [mutant for mutant in mutants if outcomes.get(mutant.name, {}).get("outcome") == "missed"]
    if missed:
        lines += ["", "| missed mutant of the sample | change |", "| --- | --- |"]
        lines += [f"| `{mutant.name}` | `{mutant.title.replace('|', chr(92) + '|')}` |" for mutant in missed]
    return lines
