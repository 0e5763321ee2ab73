#!/usr/bin/env python3
"""Opens DuckDB on the lake, or runs one query.

    python analytics/sql.py <duckdb> <lake> [query]

There is a view of the changes and a view of the current items for each exported table. The views are the same as in
Athena, so that a query runs on both (docs/lake.md#ad-hoc-questions).
"""

import subprocess
import sys
import tempfile

import lake


def main(duckdb, folder, query=None):
    views = lake.Lake(folder)
    statements = ["SET TimeZone = 'UTC'", *views.statements()]
    with tempfile.NamedTemporaryFile("w", suffix=".sql", encoding="utf-8") as init:
        init.write("".join(f"{statement};\n" for statement in statements))
        init.flush()
        command = [duckdb, "-init", init.name]
        if query is not None:
            command += ["-c", query]
        elif sys.stdin.isatty():
            print("Views: " + ", ".join(name for table in lake.tables() for name in (table.items, table.changes)))
        sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
