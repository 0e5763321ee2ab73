"""Computes DynamoDB's charges from item sizes and AWS's rules.

Does not use the formulas that the crates declare."""

from dataclasses import dataclass

READ, WRITE = 4096, 1024


def size(item):
    """Returns the size in bytes of an item in DynamoDB JSON: attribute names and values."""
    return sum(len(name.encode()) + bytes_of(value) for name, value in item.items())


def bytes_of(value):
    [(kind, content)] = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            digits = content.lstrip("-").replace(".", "").strip("0")
            return (len(digits) + 1) // 2 + 1 + content.startswith("-")
        case "L":
            return 3 + sum(1 + bytes_of(element) for element in content)
        case "M":
            return 3 + len(content) + size(content)
        case "BOOL" | "NULL":
            return 1
    raise ValueError(f"no item here has a {kind}")


def blocks(number, block):
    return max(1, -(-number // block))


def eventual_read(items):
    """Returns the read units of one query, or of a get of one item."""
    return blocks(sum(size(item) for item in items), READ) / 2


@dataclass
class Index:
    name: str
    keys: list
    # None if the index projects all attributes.
    attributes: set | None

    def entry(self, item):
        """Returns the index entry of the item, or None if the item is not in the index."""
        if item is None or not all(key in item for key in self.keys):
            return None
        if self.attributes is None:
            return item
        return {name: value for name, value in item.items() if name in self.attributes}

    def written(self, old, new):
        old, new = self.entry(old), self.entry(new)
        if old == new:
            return 0
        sizes = [size(entry) for entry in (old, new) if entry is not None]
        if len(sizes) == 2 and all(old[key] == new[key] for key in self.keys):
            sizes = [max(sizes)]
        return sum(blocks(number, WRITE) for number in sizes)


@dataclass
class Table:
    name: str
    indexes: list

    def __init__(self, description):
        keys = names(description["KeySchema"])
        self.name = description["TableName"]
        self.indexes = [index(of, keys) for of in description.get("GlobalSecondaryIndexes", [])]


def names(schema):
    return [key["AttributeName"] for key in schema]


def index(description, table_keys):
    keys, projection = names(description["KeySchema"]), description["Projection"]
    attributes = {*table_keys, *keys, *projection.get("NonKeyAttributes", [])}
    return Index(description["IndexName"], keys, None if projection["ProjectionType"] == "ALL" else attributes)


def base_written(old, new):
    return blocks(max(size(item) for item in (old, new) if item is not None), WRITE)
