"""Measures queries of current cart items on the states of the lake, and on all changes (docs/decisions/lake-refresh.md)."""

import datetime
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "analytics"))

from spread import spread, table  # noqa: E402

CHANGES = 10_000_000
CHANGES_OF_AN_ITEM = 10
HOURS = 2_400
ROUNDS = 5
# The requirement: queries of the current items are ten times faster.
LEAST = 10
START = datetime.datetime(2026, 3, 1)
QUERIES = {
    "items by status": "SELECT status, count(*), sum(quantity) FROM cart_items GROUP BY status ORDER BY status",
    "items of one account": "SELECT item_id, sku, quantity FROM cart_items WHERE account_id = 'Account77' ORDER BY item_id",
    "the ten products in most carts": "SELECT sku, count(*) AS items FROM cart_items WHERE status = 'ACTIVE' GROUP BY sku ORDER BY items DESC, sku LIMIT 10",
}

TEXT = """\
## Current items of the lake

The lake has {changes:,} changes of {items:,} cart items, in {files} Parquet files with {bytes:.0f}
bytes per change. A state has the newest row of each item, in {state:.0f} MB. It took {compacted:.1f}
seconds to make the state. "Changes" is the time of a query that ranks all changes. "State" is the time of
the same query on the state and on the changes since then, {tail:,} of them. The requirement is a
ratio of {least} ([decision](decisions/lake-refresh.md)).

{times}"""


def rows(changes):
    """Returns a SELECT of the changes. The versions of an item are spread over the hours."""
    items = changes // CHANGES_OF_AN_ITEM
    return f"""
        SELECT
            md5(item || '-' || version) AS event_id,
            CASE WHEN version = 1 THEN 'insert' WHEN version = {CHANGES_OF_AN_ITEM} AND item % 10 = 0 THEN 'remove' ELSE 'modify' END AS operation,
            CAST(100000000000000000000 + version * {items}::hugeint + item AS varchar) AS sequence_number,
            moment AS changed_at,
            'Account' || (item % ({items} / 5 + 1)) AS account_id,
            md5(CAST(item AS varchar)) AS item_id,
            'SKU-' || (item * 7 % 20000) AS sku,
            version,
            TIMESTAMP '{START}' AS added_at,
            CASE WHEN gone THEN NULL WHEN version % 4 = 3 THEN 'SAVED' ELSE 'ACTIVE' END AS status,
            CASE WHEN gone THEN NULL ELSE moment END AS status_changed_at,
            CASE WHEN gone THEN NULL ELSE CAST(version AS integer) END AS quantity,
            CASE WHEN gone THEN NULL ELSE CAST(item % 500 + 0.99 AS decimal(20,4)) END AS price,
            CASE WHEN gone THEN NULL ELSE 'USD' END AS currency,
            CASE WHEN gone THEN NULL ELSE moment + interval '30' day END AS expires_at,
            CASE WHEN version > 1 THEN 'ACTIVE' END AS old_status,
            CASE WHEN version > 1 THEN CAST(version - 1 AS integer) END AS old_quantity,
            strftime(moment, '%Y-%m-%d-%H') AS hour
        FROM (
            SELECT
                item,
                version,
                version = {CHANGES_OF_AN_ITEM} AND item % 10 = 0 AS gone,
                TIMESTAMP '{START}' + (((version - 1) * {HOURS} / {CHANGES_OF_AN_ITEM} + item * 7919 % {HOURS // CHANGES_OF_AN_ITEM})::bigint) * interval '1' hour AS moment
            FROM range({items}) AS i(item), range(1, {CHANGES_OF_AN_ITEM + 1}) AS v(version)
        )"""


def write(database, bucket, changes):
    folder = pathlib.Path(bucket, "changes/cart-items")
    folder.mkdir(parents=True)
    database.execute(f"COPY ({rows(changes)}) TO '{folder}' (FORMAT parquet, COMPRESSION snappy, PARTITION_BY (hour))")


def timed(database, text):
    begun = time.perf_counter()
    found = database.execute(text).fetchall()
    return time.perf_counter() - begun, found


def measure(changes=CHANGES, rounds=ROUNDS):
    """Measures the part "state" of the results."""
    import lake
    import refresh

    [cart] = [one for one in lake.tables() if one.items == "cart_items"]
    with tempfile.TemporaryDirectory() as bucket:
        opened = refresh.Refresh(bucket)
        write(opened.database, bucket, changes)
        opened.open()
        alone = {name: [timed(opened.database, text) for _ in range(rounds)] for name, text in QUERIES.items()}
        begun = time.perf_counter()
        opened.compact(cart, START + datetime.timedelta(hours=HOURS))
        compacted = time.perf_counter() - begun
        opened.open()
        since = opened.lake.state(cart)["since"]
        [(tail,)] = opened.database.execute(f"SELECT count(*) FROM cart_changes WHERE hour >= '{since}'").fetchall()
        state = {name: [timed(opened.database, text) for _ in range(rounds)] for name, text in QUERIES.items()}
        for name in QUERIES:
            assert alone[name][0][1] == state[name][0][1], name
        files = [path.stat().st_size for path in pathlib.Path(bucket, "changes").rglob("*.parquet")]
        size = sum(path.stat().st_size for path in pathlib.Path(bucket, "state").rglob("*.parquet"))
    times = lambda runs: [seconds for seconds, _ in runs]
    return {
        "changes": changes, "items": changes // CHANGES_OF_AN_ITEM, "files": len(files), "bytes": sum(files), "state": size,
        "compacted": compacted, "tail": tail,
        "queries": {name: {"alone": spread(times(alone[name])), "state": spread(times(state[name])),
                           "ratio": statistics.median(times(alone[name])) / statistics.median(times(state[name]))} for name in QUERIES},
    }


def section(result):
    lines = []
    for name, of in result["queries"].items():
        verdict = "met" if of["ratio"] >= LEAST else "**missed**"
        lines.append([name, f"{of['alone']['median']:.2f}", f"{of['state']['median']:.2f}", f"{of['ratio']:.1f}", verdict])
    return TEXT.format(
        **{name: result[name] for name in ("changes", "items", "files", "compacted", "tail")}, least=LEAST, bytes=result["bytes"] / result["changes"],
        state=result["state"] / 1e6, times=table(["query", "changes, s", "state, s", "ratio", "requirement"], lines),
    )


if __name__ == "__main__":
    print(section(measure(int(sys.argv[1]) if len(sys.argv) > 1 else CHANGES)))
