"""Sends requests to a stack and prints a line per check."""

import json
import pathlib
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

# The stream and the indexes of a busy stack may lag.
PATIENCE = 60


EVENTS = pathlib.Path(__file__).resolve().parents[2] / "events"


def body_of(function):
    """Returns the body of the sample event of a function."""
    [file] = EVENTS.glob(f"*/{function}.json")
    return json.loads(json.loads(file.read_text())["body"])


class Answer:
    """The response."""

    def __init__(self, status, headers, body):
        self.status, self.headers = status, headers
        self.body = json.loads(body) if body else None

    def __getitem__(self, name):
        return self.body[name]


class Contract:
    """A stack, a caller, the results of the checks and the actions of the clean-up."""

    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token
        self.held, self.failed = 0, 0
        self.run = f"smoke-{uuid.uuid4().hex[:12]}"
        self.undone, self.stays = [], []

    def send(self, method, path, body=None, key=None, token=None, kind="application/json"):
        """Sends a request. `token` replaces the caller's token, and an empty one omits the Authorization header."""
        token = self.token if token is None else token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        if key:
            headers["idempotency-key"] = f"{self.run}-{key}"
        if body is not None:
            headers["content-type"] = kind
            body = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as answer:
                return Answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as refusal:
            return Answer(refusal.code, refusal.headers, refusal.read())

    def check(self, what, holds, found=None):
        """Prints the result of a check."""
        self.held, self.failed = self.held + bool(holds), self.failed + (not holds)
        print(f"ok      {what}" if holds else f"FAILED  {what}: {found}", flush=True)

    def expect(self, status, what, method, path, **request):
        """Sends a request, checks the status and returns the response."""
        answer = self.send(method, path, **request)
        self.check(f"{what}: {status}", answer.status == status, f"{answer.status} {answer.body}")
        return answer

    def refused(self, status, name, what, method, path, faults=(), **request):
        """Sends a request and checks that the response is a problem of this type with errors at exactly these pointers."""
        answer = self.send(method, path, **request)
        kind, body = answer.headers.get_content_type(), answer.body or {}
        right = (answer.status, kind, body.get("type")) == (status, "application/problem+json", f"/problems/{name}")
        right = right and {fault["pointer"] for fault in body.get("errors", [])} == set(faults)
        self.check(f"{what}: {status} {name}", right, f"{answer.status} {body}")

    def created(self, what, path, body, key, other, status=201, location=None):
        """Sends a POST request twice, and then another body with the same key. Returns the first response.

        The `Location` must be below `location`, or below the path of the request if `location` is None."""
        first = self.expect(status, what, "POST", path, body=body, key=key)
        found = first.headers.get("location", "")
        below = f"{location or urllib.parse.urlsplit(path).path}/"
        self.check(f"{what}: its Location", found.startswith(below), found)
        again = self.send("POST", path, body=body, key=key)
        same = (again.status, again.body) == (first.status, first.body)
        self.check(f"{what}: a retry returns the same response", same, again.body)
        self.refused(422, "idempotency-key-reused", f"{what}: reject a different request with the same key", "POST", path, body=other, key=key)
        return first

    def until(self, what, path, is_so):
        """Repeats the request until the condition is true."""
        end, answer = time.monotonic() + PATIENCE, self.send("GET", path)
        while not (answer.status == 200 and is_so(answer)) and time.monotonic() < end:
            time.sleep(0.2)
            answer = self.send("GET", path)
        self.check(what, answer.status == 200 and is_so(answer), f"{answer.status} {answer.body}")
        return answer

    def paged(self, what, path, name, wanted):
        """Checks that pages of one item return all items. Repeats the requests, because the index may lag."""
        mark = "&" if "?" in path else "?"

        def ids():
            found, page = [], self.send("GET", f"{path}{mark}limit=1")
            while page.status == 200:
                found += [item[name] for item in page["items"]]
                if "nextCursor" not in page.body or len(found) > len(wanted):
                    break
                page = self.send("GET", f"{path}{mark}limit=1&cursor={page['nextCursor']}")
            return found

        end, found = time.monotonic() + PATIENCE, ids()
        while set(found) != set(wanted) and time.monotonic() < end:
            time.sleep(0.2)
            found = ids()
        self.check(f"{what}, page by page", sorted(found) == sorted(wanted), found)
        wrong = f"{path}{mark}cursor=c21va2U"
        self.refused(400, "invalid-request", f"{what}, an invalid cursor", "GET", wrong, faults=["/query/cursor"])

    def undo(self, what, method, path, statuses=(200,), **request):
        """Adds an action to the clean-up. The actions run in reverse order."""
        self.undone.append((what, method, path, statuses, request))

    def clean(self):
        """Runs the clean-up."""
        while self.undone:
            what, method, path, statuses, request = self.undone.pop()
            answer = self.send(method, path, **request)
            self.check(f"clean-up: {what}", answer.status in statuses, f"{answer.status} {answer.body}")
