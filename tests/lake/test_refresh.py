"""Follows the changes of every exported table to SQL: table, stream, exporter under faults, files, verification, state.

The services, their streams and the exporter run in the local stack. The exporter sends to a Firehose of this test, which
throttles calls, rejects single records and loses responses. The rows must equal the tables, before and after a backfill
and a compaction. Then rows are damaged on purpose, and the verification must find exactly them.
Usage: test_refresh.py <the binary `local`>
"""

import base64
import datetime
import http.server
import json
import pathlib
import random
import sys
import tempfile
import threading
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/lake"), str(ROOT / "analytics")]
import lake  # noqa: E402
import refresh  # noqa: E402
from local_stack import free_ports, wait_for  # noqa: E402
from test_lake import Api, process, shop  # noqa: E402


class Firehose(http.server.BaseHTTPRequestHandler):
    """Accepts records with faults, and writes the accepted ones to the files of the lake."""

    chance = random.Random(1)
    bucket = None
    faults = 0

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        table = next(one for one in lake.tables() if body["DeliveryStreamName"] == "local-" + "".join(word.capitalize() for word in one.changes.split("_")))
        fault = self.chance.choice([None, "throttled", "rejected", "lost"])
        Firehose.faults += fault is not None
        if fault == "throttled":
            return self.answer(503, {"__type": "ServiceUnavailableException"})
        answers = []
        for record in body["Records"]:
            if fault == "rejected" and self.chance.random() < 0.5:
                answers.append({"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."})
                continue
            self.deliver(table, base64.b64decode(record["Data"]))
            answers.append({"RecordId": "1"})
        if fault == "lost":
            return self.connection.close()
        failed = sum("ErrorCode" in one for one in answers)
        return self.answer(200, {"FailedPutCount": failed, "RequestResponses": answers})

    def deliver(self, table, data):
        folder = self.bucket / "changes" / table.folder / f"hour={refresh.now():%Y-%m-%d-%H}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "part.json").open("ab") as out:
            out.write(data)

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/x-amz-json-1.1")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def pay(api, chance):
    """Posts transactions in the ledger, and schedules, executes, cancels and archives payments."""
    account = lambda user, **more: api.call("POST", "/ledger/accounts", {"userId": user, "currency": "USD", **more})["accountId"]
    outside = account("bank", accountType="external", allowNegative=True)
    users = [account(f"user-{number}", accountType="checking") for number in range(5)]
    api.call("PATCH", f"/ledger/accounts/{users[0]}", {"posting": "grouped"})
    for number in range(30):
        debit, credit = (outside, chance.choice(users[1:])) if number < 10 else chance.sample(users[1:] + users[:1] * (number > 20), 2)
        if debit == users[0]:
            debit, credit = credit, debit
        body = {"transactionType": "payment", "debitAccountId": debit, "creditAccountId": credit, "amount": f"{chance.randrange(1, 90)}.5", "currency": "USD"}
        request = urllib.request.Request(
            f"{api.url}/ledger/transactions", json.dumps(body).encode(), {"content-type": "application/json", "idempotency-key": f"pay-{number}"}, method="POST"
        )
        try:
            urllib.request.urlopen(request, timeout=30).close()
        except urllib.error.HTTPError as refused:
            assert refused.code == 409, refused.read()
    payments = []
    for number in range(20):
        data = {"creditAccountId": users[2], "amount": f"{number + 1}.25", "currency": "USD"}
        payments.append(api.call("POST", f"/bank/accounts/{users[1]}/payments", {"scheduledTime": f"2099-12-0{1 + number % 2}T09:30:00Z", "data": data}))
    path = lambda payment: f"/bank/accounts/{payment['accountId']}/payments/{payment['paymentId']}"
    for payment in payments[:4]:
        api.call("PATCH", path(payment), {"status": "CANCELLED"})
    invoke = lambda function, event: api.call("POST", f"/_local/functions/{function}/invocations", event)
    invoke("dispatch-due-payments", {"detail-type": "Scheduled Event", "time": "2099-12-01T09:30:00Z"})
    settled = lambda: all(api.call("GET", path(payment))["status"] not in ("SCHEDULED", "PENDING") for payment in payments if payment["scheduledTime"] < "2099-12-02")
    wait_for("the payments", settled)
    invoke("archive-settled-payments", {"date": "2099-12-01"})


def damage(bucket, chance):
    """Drops the newest row of an item of each table, and repeats another row. Returns the expected differences."""
    expected = {}
    for table in lake.tables():
        [path] = (bucket / "changes" / table.folder).rglob("part.json")
        lines = list(dict.fromkeys(path.read_text().splitlines()))
        rows = [json.loads(line) for line in lines]
        item = lambda row: " ".join(row[name] for name in table.key)
        newest = {}
        for row in rows:
            if row["version"] >= newest.get(item(row), row)["version"]:
                newest[item(row)] = row
        existing = [row for row in newest.values() if row["operation"] not in ("remove", "expire") and row.get("status") != "JOINED"]
        lost, altered, doubled = chance.sample(existing, 3) if len(existing) > 2 else (existing * 3)[:3]
        kind = "behind" if any(item(row) == item(lost) and row["version"] < lost["version"] for row in rows) else "missing"
        expected[table.items] = {(kind, item(lost), lost["version"]), ("repeated", item(doubled), doubled["version"])}
        column = next(name for name in ("currency", "sku", "transaction_id", "status") if altered.get(name) is not None and name not in table.key)
        expected[table.items].add(("different", item(altered), altered["version"]))
        changed = [json.dumps({**row, column: "altered"} if row is altered else row) for row in rows if row is not lost]
        path.write_text("".join(line + "\n" for line in [*changed, json.dumps(doubled)]))
    return expected


def main(local):
    chance = random.Random(3)
    with tempfile.TemporaryDirectory() as folder:
        ports = free_ports(3)
        bucket = pathlib.Path(folder, "lake", "local-lake-lake")
        Firehose.bucket = bucket
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(ports[2])), Firehose)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, dynamodb = (f"http://127.0.0.1:{port}" for port in ports[:2])
        command = [local, "run", "--port", ports[0], "--dynamodb-port", ports[1], "--lake", str(bucket.parent), "--firehose-endpoint", f"http://127.0.0.1:{ports[2]}"]
        with process(command, {}, folder) as log:
            wait_for("the stack", lambda: "Ctrl-C" in log.read_text(), 120)
            api = Api(url)
            shop(api)
            for account in ("Ann", "Dea"):
                api.call("POST", f"/cart/accounts/{account}/checkout")
            pay(api, chance)
            wait_for("the export", api.exported, 120)
            check(refresh.Refresh(bucket.parent, url, dynamodb), bucket, chance)
        server.shutdown()


def check(opened, bucket, chance):
    assert Firehose.faults > 2, Firehose.faults
    at = refresh.now() + datetime.timedelta(minutes=3)
    exports = {source: opened.export(source, at) for source in dict.fromkeys(table.source for table in lake.tables())}
    verify = lambda table: [one for one in opened.verify(table, exports[table.source], at) if one[0] != "repeated"]
    states = {}
    for step in ("changes", "backfill", "state"):
        for table in lake.tables():
            if step == "backfill":
                opened.backfill(table, exports[table.source], at - datetime.timedelta(minutes=3))
            elif step == "state":
                opened.compact(table, at)
        opened.open()
        for table in lake.tables():
            assert verify(table) == [], (step, table.items, verify(table)[:5])
            columns = ", ".join(name for name in table.columns if name not in ("event_id", "operation", "sequence_number", "changed_at") and not name.startswith("old_"))
            found = sorted(map(str, opened.database.execute(f"SELECT {columns} FROM {table.items}").fetchall()))
            wanted = sorted(map(str, opened.database.execute(f"SELECT {columns} FROM {opened.snapshot(table, exports[table.source])}").fetchall()))
            assert found == wanted, (step, table.items)
            states[table.items] = len(found)
    assert all(states.values()), states
    for table in lake.tables():
        for part in (opened.lake.folder("state", table).glob("*"), opened.lake.folder("changes", table).rglob("snapshot-*")):
            for path in part:
                path.rename(path.with_name("." + path.name)) if path.is_file() else None
    expected = damage(bucket, chance)
    opened.open()
    for table in lake.tables():
        found = {one[:3] for one in opened.verify(table, exports[table.source], at)}
        assert found == expected[table.items], (table.items, found ^ expected[table.items])
    print(f"{states} items equal the tables after {Firehose.faults} faults of Firehose. The verification found exactly the damaged rows.")


if __name__ == "__main__":
    main(sys.argv[1])
