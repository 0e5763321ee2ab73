"""The tables of a lake as DuckDB relations: changes, states, snapshots and views of the current items.

`make lake-sql` writes the schemas and the SQL to target/lake-sql from crates/lake. The same SQL runs in Athena
(docs/decisions/lake.md).
"""

import dataclasses
import json
import pathlib
import re
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "target/lake-sql"
# DuckDB's names of the Glue types.
TYPES = {"string": "varchar", "int": "integer"}
FIRST_HOUR = "1970-01-01-00"
TEMPLATE = pathlib.Path(__file__).resolve().parent.parent / "stacks/lake.yaml"
SAVED = re.compile(
    r"^  (\w+)Query:\n    Type: AWS::Athena::NamedQuery\n    Properties:\n      Name: .*\n      Description: (.*)\n"
    r"(?:      .*\n)*?      QueryString: \|\n((?:        .*\n|\n)*)",
    re.MULTILINE,
)


def saved_queries():
    """Returns the descriptions and the SQL of the named queries in the template of the lake, by name."""
    found = SAVED.findall(TEMPLATE.read_text(encoding="utf-8"))
    snake = lambda name: re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    return {snake(name): (about.strip('"'), textwrap.dedent(sql).rstrip() + "\n") for name, about, sql in found}


@dataclasses.dataclass(frozen=True)
class Table:
    """An exported table."""

    changes: str
    items: str
    source: str
    folder: str
    key: tuple
    columns: dict

    def sql(self, name, **values):
        """Returns one of the texts, with values for its placeholders."""
        text = (FOLDER / self.items / f"{name}.sql").read_text(encoding="utf-8")
        for placeholder, value in values.items():
            text = text.replace(f"{{{placeholder}}}", value)
        return text


def tables(text=None):
    found = json.loads(text or (FOLDER / "schema.json").read_text(encoding="utf-8"))
    return [
        Table(one["changes"], one["items"], one["source"], one["folder"], tuple(one["key"]), {name: TYPES.get(kind, kind) for name, kind in one["columns"]})
        for one in found
    ]


def literal(text):
    return "'" + str(text).replace("'", "''") + "'"


def relation(columns, folder, partitions=(), since=FIRST_HOUR):
    """Returns a SELECT of the files below a folder: JSON lines of a local stack, and Parquet files of Firehose or Athena.

    Each column exists, even if no file has it: a file that was written before a column was added has null.
    Folders of hours before `since` are left out: DuckDB opens every listed file, even those that it does not read."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_")))
    files = [path for path in files if not path.parent.name.startswith("hour=") or path.parent.name >= f"hour={since}"]
    parts, names = [], ", ".join([*columns, *partitions])
    # With the partitions as columns, a query reads only the files that it needs.
    options = "hive_partitioning = false"
    if partitions:
        options = "hive_partitioning = true, hive_types = {" + ", ".join(f"{name}: VARCHAR" for name in partitions) + "}"
    kinds = "{" + ", ".join(f"{name}: '{kind}'" for name, kind in columns.items()) + "}"
    json_files = [str(path) for path in files if path.suffix != ".parquet"]
    if json_files:
        listed = ", ".join(map(literal, json_files))
        parts.append(f"SELECT {names} FROM read_json([{listed}], format = 'newline_delimited', columns = {kinds}, {options})")
    parquet = [str(path) for path in files if path.suffix == ".parquet"]
    if parquet:
        typed = ", ".join(f"NULL::{kind} AS {name}" for name, kind in columns.items())
        listed = ", ".join(map(literal, parquet))
        read = f"SELECT * FROM read_parquet([{listed}], union_by_name = true, {options})"
        parts.append(f"SELECT {names} FROM (SELECT {typed} WHERE false UNION ALL BY NAME {read})")
    if not parts:
        typed = ", ".join(f"NULL::{kind} AS {name}" for name, kind in [*columns.items(), *((name, "varchar") for name in partitions)])
        return f"SELECT {typed} WHERE false"
    return "\nUNION ALL\n".join(parts)


class Lake:
    """A folder with the objects of the lake's bucket."""

    def __init__(self, folder):
        """Finds the bucket: the folder itself, or the bucket of a local stack in the folder."""
        folder = pathlib.Path(folder)
        found = [path for path in (folder, *sorted(folder.glob("*-lake"))) if (path / "changes").is_dir()]
        self.bucket = found[0] if found else folder

    def folder(self, kind, table):
        return self.bucket / kind / table.folder

    def state(self, table):
        """Returns the name of the current state, or None. The file `current` names it, so that its replacement switches the state."""
        pointer = self.folder("state", table) / "current.json"
        return json.loads(pointer.read_text()) if pointer.exists() else None

    def statements(self):
        """Returns the statements that create a view of the changes and a view of the current items for each table."""
        for table in tables():
            yield f"CREATE OR REPLACE VIEW {table.changes} AS\n{relation(table.columns, self.folder('changes', table), ['hour'])}"
            state = self.state(table)
            if state is None:
                yield f"CREATE OR REPLACE VIEW {table.items} AS\n{table.sql('view')}"
                continue
            files = self.folder("state", table) / state["run"]
            yield f"CREATE OR REPLACE VIEW {table.items}_state AS\n{relation(table.columns, files)}"
            tail = relation(table.columns, self.folder("changes", table), ["hour"], state["since"])
            yield f"CREATE OR REPLACE VIEW {table.items}_tail AS\n{tail}"
            current = table.sql("current", state=f"{table.items}_state", since=state["since"])
            yield f"CREATE OR REPLACE VIEW {table.items} AS\n{current.replace(f'FROM {table.changes}', f'FROM {table.items}_tail')}"
