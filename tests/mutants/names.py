"""Finds functions of a crate and resources of a template by their names, and changes an expression.

A function is named by the end of its path, such as `must_own`, `Caller::must_own`,
`lists::of_date` or `Display for Key::fmt`. A name and an expression survive a move of the code. A
patch would not.
"""

import re
from dataclasses import dataclass

# Comments, raw strings, strings, characters, lifetimes, words, and single characters.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^\\'])'|'\w+|\w+|[^\w\s]""", re.S
)
SKIPPED = re.compile(r"(^|/)(tests?|bin)(/|\.rs$)")


@dataclass
class Place:
    """A function, or a resource of a template: its names, file and extent."""

    names: set
    file: object
    start: int
    end: int


def functions(crate):
    """The functions of a crate, without its tests and binaries."""
    source = crate / "src"
    for file in sorted(source.rglob("*.rs")):
        path = file.relative_to(source)
        if not SKIPPED.search(str(path)):
            modules = [part for part in path.with_suffix("").parts if part not in ("lib", "mod")]
            yield from functions_of(file, file.read_text(), modules)


def functions_of(file, text, modules):
    tokens = [match for match in TOKEN.finditer(text) if not match[0].startswith(("//", "/*"))]
    words = [match[0] for match in tokens]
    # Each open brace: the names of its scope, and where its function starts.
    scopes, header, at = [], None, 0
    while at < len(words):
        word = words[at]
        if word == "fn" and re.match(r"\w", words[at + 1]):
            start, body = at, body_of(words, at)
            header = (words[at + 1], words[at + 1], start) if words[body] == "{" else None
            at = body
            continue
        if word in ("impl", "trait", "mod") and header is None and not words[at - 1 : at] == [":"]:
            end = next(n for n in range(at, len(words)) if words[n] in "{;")
            if words[end] == "{":
                is_test = word == "mod" and words[max(0, at - 7) : at] == ["#", "[", "cfg", "(", "test", ")", "]"]
                header = (None if is_test else header_of(text[tokens[at].end() : tokens[end].start()]), None, None)
                header = (header[0], self_type(header[0]), None) if header[0] else (None, None, None)
                if is_test:
                    return
            at = end
            continue
        if word == "{":
            scopes.append(header)
            header = None
        elif word == "}":
            scope = scopes.pop()
            if scope and scope[2] is not None:
                outer = [one for one in scopes if one and one[0]]
                names = {"::".join([*modules, *(one[n] for one in outer), scope[0]]) for n in (0, 1)}
                yield Place(names, file, tokens[scope[2]].start(), tokens[at].end())
        at += 1


def body_of(words, at):
    """Returns the index of the brace that opens the body, or of the semicolon that ends it."""
    depth = 0
    while words[at] not in "{;" or depth:
        depth += (words[at] in "([") - (words[at] in ")]")
        at += 1
    return at


def header_of(text):
    """Returns `Display for Key<T>` for `<T> Display for Key<T> where T: Display`."""
    text = " ".join(text.split())
    if text.startswith("<"):
        depth = 0
        for at, character in enumerate(text):
            depth += (character == "<") - (character == ">" and text[at - 1] != "-")
            if depth == 0:
                break
        text = text[at + 1 :]
    return re.sub(r" where .*", "", text).strip()


def self_type(header):
    return re.sub(r"<.*", "", header.rsplit(" for ", 1)[-1]).strip("&' ")


def resources(template):
    """The resources of a template."""
    text = template.read_text()
    section = text.index("\nResources:\n")
    found = list(re.finditer(r"^  (\w+):\n(?:(?:    .*| *|  #.*)\n)+", text[section:], re.M))
    return [Place({match[1]}, template, section + match.start(), section + match.end()) for match in found]


def named(places, name):
    """Returns the place with this name. Raises LookupError for no place, or for several."""
    places = [place for place in places if any(full == name or full.endswith("::" + name) for full in place.names)]
    if len(places) != 1:
        where = "; ".join(f"{place.file.name} {min(place.names)}" for place in places) or "no function or resource"
        raise LookupError(f"{name} must name one place: {where}")
    return places[0]


def pattern(expression):
    """Matches an expression with any white space between its tokens."""
    tokens = re.findall(r"\w+|[^\w\s]", expression)
    parts = [re.escape(tokens[0])]
    for before, token in zip(tokens, tokens[1:]):
        parts += [r"\s+" if re.match(r"\w", before[-1]) and re.match(r"\w", token) else r"\s*", re.escape(token)]
    start, end = (r"(?<!\w)" if re.match(r"\w", tokens[0]) else ""), (r"(?!\w)" if re.match(r"\w", tokens[-1]) else "")
    return re.compile(start + "".join(parts) + end)


def mutated(place, expression, replacement):
    """Returns the text of the place with the replacement."""
    old = place.file.read_text()[place.start : place.end]
    if expression is None:
        return old[: body_offset(old)] + "{ " + replacement + " }"
    found = list(pattern(expression).finditer(old))
    if len(found) != 1:
        raise LookupError(f"{min(place.names)} has {len(found)} times: {expression}")
    return old[: found[0].start()] + replacement + old[found[0].end() :]


def body_offset(text):
    """The offset of the brace that opens the body of a function."""
    tokens = [match for match in TOKEN.finditer(text) if not match[0].startswith(("//", "/*"))]
    return tokens[body_of([match[0] for match in tokens], 0)].start()
