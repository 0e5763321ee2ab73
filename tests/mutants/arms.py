"""Plants bugs in one build. The variable PLANTED has the name of the active bug at run time.

The body of a function with bugs becomes a `match` with the original body, and with the body of each
bug.
"""

import json
import sys

import copied
import names
from copied import ROOT

# A process appends the names of the bugs to the file REACHED when it first calls their function.
HEAD = """{{ static PLANTED: std::sync::LazyLock<std::string::String> = std::sync::LazyLock::new(|| {{
if let Ok(file) = std::env::var("REACHED") {{
let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
std::io::Write::write_all(&mut file, b"{names}\\n").unwrap(); }}
std::env::var("PLANTED").unwrap_or_default() }});
match PLANTED.as_str() {{
_ if ![{quoted}].contains(&PLANTED.as_str()) => """


def arms(old, bugs):
    """The parts of a function with its bugs: their text, and the bugs that an error in them concerns."""
    body = names.body_offset(old)
    quoted = ", ".join(f'"{bug.name}"' for bug in bugs)
    yield old[:body] + HEAD.format(names=" ".join(bug.name for bug in bugs), quoted=quoted) + old[body:], bugs
    for bug in bugs:
        yield f'"{bug.name}" => {bug.text[body:]}', [bug]
    yield "_ => unreachable!() } }", bugs


def planted(bugs):
    """The texts of the files with all bugs, and the first and last line of each part of a function."""
    texts, lines, functions = {}, {}, {}
    for bug in bugs:
        functions.setdefault(bug.place.file, {}).setdefault(bug.place.start, []).append(bug)
    for file, places in functions.items():
        text, new, end = file.read_text(), "", 0
        for start, chosen in sorted(places.items()):
            new += text[end:start]
            for part, concerned in arms(text[start : chosen[0].place.end], chosen):
                first = new.count("\n") + 1
                new += part + "\n"
                lines.setdefault(str(file.relative_to(ROOT)), []).append((first, new.count("\n"), concerned))
            end = chosen[0].place.end
        texts[file] = new + text[end:]
    return texts, lines


def is_apart(bug, bugs):
    """Whether an arm cannot have the bug: it changes the signature, or is inside a function with bugs."""
    place, body = bug.place, names.body_offset(bug.text)
    others = [one.place for one in bugs if one.place.file == place.file]
    is_inside = any(other.start < place.start < other.end for other in others)
    return is_inside or bug.text[:body] != place.file.read_text()[place.start :][:body]


def check():
    """Checks that the copy compiles. Returns the result of cargo."""
    return copied.cargo("check", "--package", "system-tests", "--lib", "--keep-going", "--message-format=json")


def plant(bugs, apart, checked):
    """Plants the bugs that compile together. Adds the others to `apart`. Returns the texts.

    The copy with the digest `checked` compiles.
    """
    apart |= {bug.name for bug in bugs if is_apart(bug, bugs)}
    while True:
        texts, lines = planted([bug for bug in bugs if bug.name not in apart])
        if copied.sync(texts) == checked or (done := check()).returncode == 0:
            return texts
        messages = [json.loads(line).get("message") for line in done.stdout.splitlines()]
        errors = [message for message in messages if message and message["level"] == "error"]
        wrong = {bug.name for error in errors for bug in concerned(error, lines)}
        if not wrong:
            sys.exit("\n".join(["the copy does not compile", *(error["rendered"] for error in errors), done.stderr]))
        print(f"do not compile with the others: {', '.join(sorted(wrong))}", flush=True)
        apart |= wrong


def concerned(error, lines):
    """The bugs in whose part of a function an error is."""
    for span in sorted(error["spans"], key=lambda span: not span["is_primary"]):
        while span:
            for first, last, bugs in lines.get(span["file_name"], []):
                if first <= span["line_start"] <= last:
                    return bugs
            span = span["expansion"] and span["expansion"]["span"]
    return []
