#!/usr/bin/env python3
"""Backfills, verifies and compacts the lake of a local stack, with the SQL that Athena runs on AWS.

    python analytics/refresh.py {backfill,verify,compact} [--lake lake] [--url http://127.0.0.1:3000] [--dynamodb http://127.0.0.1:8000]

backfill (K1) scans the tables, writes their items in the format of an export to S3, and lets the function convert-export
convert them. verify (K2) compares such an export with the lake. compact (K3) writes the current state of each table as
Parquet (docs/lake.md#refresh).
"""

import argparse
import datetime
import gzip
import json
import pathlib
import shutil
import sys
import urllib.request
import uuid

import duckdb

from lake import FIRST_HOUR, Lake, relation, tables

# The local stack accepts every signature.
SIGNED = {
    "content-type": "application/x-amz-json-1.0",
    "x-amz-date": "20261201T000000Z",
    "authorization": "AWS4-HMAC-SHA256 Credential=local/20261201/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
}
ITEMS_OF_A_FILE = 1_000
# Firehose retries a delivery for a day. A state has every change that arrived two days before it.
LATEST = datetime.timedelta(days=2)
# Repeated rows are harmless, because every query counts an event once.
HARMLESS = {"repeated", "late"}


def now():
    return datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None, microsecond=0)


def call(url, body, headers=None):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json", **(headers or {})}, method="POST")
    with urllib.request.urlopen(request, timeout=120) as answer:
        if answer.headers.get("x-amz-function-error"):
            sys.exit(f"{url}: {answer.read().decode()}")
        return json.loads(answer.read())


def scan(dynamodb, table):
    """Yields every item of the table, in DynamoDB JSON."""
    request = {"TableName": table, "ConsistentRead": True}
    while True:
        page = call(dynamodb, request, {**SIGNED, "x-amz-target": "DynamoDB_20120810.Scan"})
        yield from page["Items"]
        if "LastEvaluatedKey" not in page:
            return
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def write_export(bucket, table, items, at):
    """Writes the items in the format of ExportTableToPointInTime. Returns the key of the summary, and the lines of the manifest."""
    export = f"{int(at.timestamp() * 1000):014}-{uuid.uuid4().hex[:8]}"
    folder, arn = f"exports/AWSDynamoDB/{export}", f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}"
    (bucket / folder / "data").mkdir(parents=True)
    files = []
    for first in range(0, len(items), ITEMS_OF_A_FILE):
        part, key = items[first : first + ITEMS_OF_A_FILE], f"{folder}/data/{uuid.uuid4().hex[:26]}.json.gz"
        with gzip.open(bucket / key, "wt", encoding="utf-8") as out:
            out.writelines(json.dumps({"Item": item}) + "\n" for item in part)
        files.append({"itemCount": len(part), "md5Checksum": "", "etag": "", "dataFileS3Key": key})
    (bucket / folder / "manifest-files.json").write_text("".join(json.dumps(file) + "\n" for file in files))
    summary = {
        "version": "2020-06-30",
        "exportArn": f"{arn}/export/{export}",
        "tableArn": arn,
        "exportTime": f"{at.isoformat()}Z",
        "manifestFilesS3Key": f"{folder}/manifest-files.json",
        "itemCount": len(items),
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
    }
    (bucket / folder / "manifest-summary.json").write_text(json.dumps(summary))
    return export, f"{folder}/manifest-summary.json", files


class Refresh:
    """The lake of a local stack."""

    def __init__(self, folder, url=None, dynamodb=None):
        self.lake, self.url, self.dynamodb = Lake(folder), url, dynamodb
        self.database = duckdb.connect()
        self.database.execute("SET TimeZone = 'UTC'")

    def export(self, source, at):
        """Exports a table by a scan, and converts the export. Returns its id."""
        items = list(scan(self.dynamodb, f"local-{source}"))
        export, summary, files = write_export(self.lake.bucket, f"local-{source}", items, at)
        done = [call(f"{self.url}/_local/functions/convert-export/invocations", {"summary": summary, "file": file}) for file in files]
        skipped = sum(one["skipped"] for one in done)
        print(f"{source}: {len(items)} items exported, {sum(one['rows'] for one in done)} rows, {skipped} unreadable items")
        return export

    def open(self):
        for statement in self.lake.statements():
            self.database.execute(statement)

    def snapshot(self, table, export):
        """Creates the view of the rows of an export, and returns its name."""
        self.database.execute(f"CREATE OR REPLACE VIEW {table.items}_snapshot AS {relation(table.columns, self.lake.folder('snapshots', table) / f'export={export}')}")
        return f"{table.items}_snapshot"

    def previous(self, table):
        """Returns the previous state and the first hour that it may lack."""
        state = self.lake.state(table)
        return (f"{table.items}_state", state["since"]) if state else (table.changes, FIRST_HOUR)

    def backfill(self, table, export, at):
        """Adds the rows of an export to the changes."""
        rows = sorted((self.lake.folder("snapshots", table) / f"export={export}").glob("*.json"))
        hour = self.lake.folder("changes", table) / f"hour={at:%Y-%m-%d-%H}"
        hour.mkdir(parents=True, exist_ok=True)
        for path in rows:
            shutil.copyfile(path, hour / f"snapshot-{export}-{path.name}")

    def verify(self, table, export, at):
        """Returns the differences between an export and the lake: kind, item, version, detail, and the total of the kind."""
        state, since = self.previous(table)
        text = table.sql("verify", state=state, since=since, snapshot=self.snapshot(table, export), at=f"{at:%Y-%m-%d %H:%M:%S}")
        return self.database.execute(text).fetchall()

    def compact(self, table, at):
        """Writes the current state, and switches to it."""
        state, since = self.previous(table)
        folder, run = self.lake.folder("state", table), f"{at:%Y%m%dt%H%M%S}-{uuid.uuid4().hex[:8]}"
        (folder / run).mkdir(parents=True)
        # In the order of the key, a query of one account reads few row groups.
        rows = f"SELECT * FROM ({table.sql('compact', state=state, since=since)}) ORDER BY {', '.join(table.key)}"
        self.database.execute(f"COPY ({rows}) TO '{folder / run / 'part.parquet'}' (FORMAT parquet)")
        made = folder / f"{run}.json"
        made.write_text(json.dumps({"run": run, "since": f"{at - LATEST:%Y-%m-%d-%H}"}))
        made.replace(folder / "current.json")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["backfill", "verify", "compact"])
    parser.add_argument("--lake", default="lake", help="the folder that contains the buckets (default: lake)")
    parser.add_argument("--url", default="http://127.0.0.1:3000", help="the local stack")
    parser.add_argument("--dynamodb", default="http://127.0.0.1:8000", help="its DynamoDB")
    options = parser.parse_args(arguments)
    refresh, at, found = Refresh(options.lake, options.url, options.dynamodb), now(), 0
    exports = {} if options.action == "compact" else {source: refresh.export(source, at) for source in dict.fromkeys(table.source for table in tables())}
    refresh.open()
    for table in tables():
        if options.action == "backfill":
            refresh.backfill(table, exports[table.source], at)
        elif options.action == "compact":
            refresh.compact(table, at)
        else:
            differences = refresh.verify(table, exports[table.source], at)
            totals = {kind: total for kind, *_, total in differences}
            serious = sum(total for kind, total in totals.items() if kind not in HARMLESS)
            found += serious
            print(f"{table.items}: {serious} differences, {sum(totals.values()) - serious} repeated or late rows")
            for kind, item, version, detail, _ in differences[:20]:
                print(f"  {kind}: {item}, version {version} {detail}")
    sys.exit(f"{found} differences" if found else 0)


if __name__ == "__main__":
    main()
