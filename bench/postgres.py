"""Compares our ledger with a ledger in PostgreSQL (docs/decisions/ledger-costs.md)."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from measured import MEASURE, ROOT
from spread import brackets, ratios, spread, table

sys.path.append(str(ROOT / "tests"))
from local_stack import free_ports, wait_for  # noqa: E402

PEER = ROOT / "bench/peers/postgres"
# Numbers of accounts, of accounts with 100 legs, and of retried keys.
SIZES = {"accounts": 10_000, "busy": 100, "keys": 100}
ROUNDS, SECONDS, RECONCILIATIONS = 5, 1, 3
WRITERS = (1, 8, 32)
READERS = (8,)
# The operations, the script of pgbench, and the numbers of clients.
WORK = {
    "statement": ("statement", READERS),
    "list": ("list", READERS),
    "retry": ("retry", READERS),
    "transfer": ("transfer", WRITERS),
    "hot": ("pay", WRITERS),
    "grouped": ("pay", WRITERS),
}
NAMES = {
    "statement": "statement",
    "list": "status list",
    "retry": "retry of a payment",
    "transfer": "transfer",
    "hot": "payment to the merchant",
    "grouped": "payment to the merchant, grouped",
}
MERCHANTS = {"hot": SIZES["accounts"] + 1, "grouped": SIZES["accounts"] + 2}

TEXT = """\
### Ledger in PostgreSQL

The same workload runs on our ledger and on a ledger in PostgreSQL {version}, whose schema and functions are in
`bench/peers/postgres`. There are {accounts:,} accounts. In each of the {rounds} rounds, each operation runs for
{seconds} s on one database and then on the other one, with the same number of clients.

- **Ours**: the functions run in one process with the local engine, without API Gateway and the Lambda runtime. The
  engine keeps its data in memory. The daily totals and the settlements run at the same time, as deployed.
- **PostgreSQL**: the clients are those of pgbench, with prepared statements over TCP. `fsync` and `synchronous_commit`
  are on, so each commit waits until its log is on disk. Writing and flushing 8 KB takes {flush} ms on this machine.

The local engine is SQLite, not DynamoDB, and handles one call at a time. The ratios therefore do not predict the
throughput on AWS. [A decision](decisions/ledger-costs.md) explains the ratios.

{rows}
CPU is the processor time per operation, in ms. The CPU time of our ledger includes the functions, the
engine and the streams. The CPU time of PostgreSQL includes all its processes, but not pgbench.

- **Statement and status list**: the last {legs} legs of one of {busy} accounts, and a page of 100 transactions.
- **Retry**: a request that was processed before, with the same key.
- **Transfer**: a payment between two of the accounts, chosen at random.
- **Payment to the merchant**: all payments credit one account. Our ledger averaged {conflicts} conflicts per payment
  at 1, 8 and 32 clients. In PostgreSQL, a payment waits for the lock of the merchant's row.
- **Grouped**: the credits are settled later, many at once. The time ends when all payments are settled.

In PostgreSQL, a transfer takes one call, and {wal:,.0f} bytes of the log. In our ledger, a transfer takes two calls,
as the section [Ledger](#ledger) explains.

A reconciliation of {transactions:,} transactions and all accounts takes our ledger {ours_reconciliation} s, and
PostgreSQL {theirs_reconciliation} s. The ratio is {reconciliation_ratio}. After all rounds, the reconciliations of
both databases found no discrepancy.
"""


class Cluster:
    """A private PostgreSQL cluster with the schema, the functions and the data of the workload."""

    def __init__(self, folder, port, process):
        self.folder, self.port, self.process = folder, port, process

    def connection(self):
        return ["--host", "127.0.0.1", "--port", self.port, "--username", "bench"]

    def sql(self, *arguments):
        command = [binary("psql"), *self.connection(), "--dbname", "postgres", "--quiet", "--no-align", "--tuples-only", "--no-psqlrc"]
        command += ["--set", "ON_ERROR_STOP=1", *(f"--set={name}={size}" for name, size in SIZES.items()), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def query(self, statement):
        return self.sql("--command", statement)

    def pgbench(self, script, clients, variables):
        command = [binary("pgbench"), *self.connection(), "--no-vacuum", "--protocol", "prepared", "--time", str(SECONDS)]
        command += ["--client", str(clients), "--file", PEER / f"workload/{script}.sql"]
        command += [f"--define={name}={value}" for name, value in variables.items()]
        return subprocess.Popen([*command, "postgres"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, work, clients):
        """Runs an operation. Returns the number of requests and the milliseconds."""
        script, _ = WORK[work]
        variables = SIZES | ({"merchant": MERCHANTS[work]} if work in MERCHANTS else {})
        running = [self.pgbench(script, clients, variables)]
        if work == "grouped":
            running.append(self.pgbench("settle", 1, variables))
        requests, millis = [results(process) for process in running][0]
        if work == "grouped":
            begin = time.perf_counter()
            while self.query(f"SELECT settle({MERCHANTS[work]}, 1000)") != "0":
                pass
            millis += 1000 * (time.perf_counter() - begin)
        return {"requests": requests, "ms": millis}

    def reconcile(self):
        """Reconciles all transactions. Returns the milliseconds."""
        begin = time.perf_counter()
        found = self.query("SELECT * FROM reconcile('-infinity', 'infinity')")
        millis = 1000 * (time.perf_counter() - begin)
        if found:
            sys.exit(f"PostgreSQL has discrepancies: {found}")
        return {"ms": millis}

    def written(self):
        """Returns the position in the log, in bytes."""
        return int(self.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").split(".")[0])

    def cpu(self):
        """Returns the CPU seconds of the server, with its running and its ended processes."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return cpu(self.process.pid, 4) + sum(cpu(child, 2) for child in children)


class Ours:
    """Our ledger, in the process `measure workload`."""

    def __init__(self):
        command = [MEASURE, "workload", *map(str, SIZES.values())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("measure workload ended early")
        return json.loads(line)

    def command(self, *parts):
        self.process.stdin.write(" ".join(map(str, parts)) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def run(self, work, clients):
        return self.command(work, clients, 1000 * SECONDS)

    def reconcile(self):
        return self.command("reconcile")

    def cpu(self):
        return cpu(self.process.pid, 2)

    def close(self):
        """Reconciles all transactions, and ends the process."""
        self.process.stdin.close()
        found = self.answer()["discrepancies"]
        self.process.wait(20)
        if found:
            sys.exit(f"our ledger has discrepancies: {found}")


def binary(name):
    """Returns the path of a program of the newest installed PostgreSQL. Debian does not add the server's programs to PATH."""
    found = [folder / name for folder in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (folder / name).exists()]
    return str(max(found, key=lambda path: float(path.parts[-3]))) if found else shutil.which(name) or sys.exit(f"{name} is missing")


def cpu(process, columns):
    """Returns the CPU seconds of a process. With 4 columns, they include its ended children."""
    try:
        values = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11 : 11 + columns]
    except OSError:
        return 0
    return sum(map(int, values)) / os.sysconf("SC_CLK_TCK")


def results(process):
    """Returns the number of requests of pgbench, and the milliseconds without the connection time."""
    output, errors = process.communicate()
    if process.returncode:
        sys.exit(errors)
    requests = int(re.search(r"transactions actually processed: (\d+)", output)[1])
    rate = float(re.search(r"tps = ([\d.]+)", output)[1])
    return requests, 1000 * requests / rate


def as_server():
    """Returns the prefix of a command of the server, which does not run as root."""
    return ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups"] if os.geteuid() == 0 else []


@contextlib.contextmanager
def cluster():
    """Starts a cluster in a temporary folder, and stops it at the end."""
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        options = ["--auth", "trust", "--username", "bench", "--encoding", "UTF8", "--locale", "C", "--no-instructions"]
        subprocess.run([*as_server(), binary("initdb"), "--pgdata", data, *options], check=True, cwd=folder, stdout=subprocess.DEVNULL)
        [port] = free_ports(1)
        # The default cost of a random page is that of a hard disk.
        settings = ["random_page_cost=1.1", "listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=on", "synchronous_commit=on"]
        command = [*as_server(), binary("postgres"), "-D", data, "-p", port, *(part for setting in settings for part in ("-c", setting))]
        with open(f"{folder}/log", "w") as log:
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        try:
            started = Cluster(folder, port, process)
            ready = [binary("pg_isready"), "--quiet", *started.connection()]
            wait_for("PostgreSQL", lambda: subprocess.run(ready, check=False).returncode == 0)
            for part in ("schema", "functions", "data"):
                started.sql("--file", PEER / f"{part}.sql")
            yield started
        finally:
            # A fast shutdown: it does not wait for clients.
            process.send_signal(signal.SIGINT)
            process.wait(60)


def check(database):
    """Checks that a retry returns the first outcome, that other content is refused, and that the reconciliation finds an error."""
    pay = "SELECT transaction_id FROM transfer('operator', 'retry-1', 'payment', 1, 2, {}, 'USD')"
    again = database.query(f"{pay.format('0.010')}; {pay.format('0.01')}").split()
    refused = database.query(
        f"DO $$ BEGIN PERFORM ({pay.format('0.02')}); RAISE 'posted twice'; EXCEPTION WHEN unique_violation THEN END $$; SELECT 'refused'"
    )
    found = database.query("BEGIN; UPDATE legs SET amount = 1 WHERE account_id = 1 AND entry = 9; SELECT finding FROM reconcile('-infinity', 'infinity'); ROLLBACK")
    if len(again) != 2 or len(set(again)) != 1 or refused != "refused" or len(found.split()) < 3:
        sys.exit(f"PostgreSQL does not work as expected: {again}, {refused}, {found}")


def flushes(folder):
    """Returns the milliseconds to write and flush 8 KB, several times."""
    with tempfile.TemporaryFile(dir=folder) as file:
        times = []
        for _ in range(40):
            begin = time.perf_counter()
            os.pwrite(file.fileno(), bytes(8192), 0)
            os.fdatasync(file.fileno())
            times.append(1000 * (time.perf_counter() - begin))
    return times


def both(databases, turn, run):
    """Runs one database after the other. The first one alternates."""
    names = sorted(databases, reverse=turn % 2 == 1)
    return {name: run(databases[name]) for name in names}


def measured_run(database, work, clients):
    before = database.cpu()
    result = database.run(work, clients)
    used, requests = database.cpu() - before, max(result["requests"], 1)
    return {"rate": 1000 * requests / result["ms"], "cpu": 1000 * used / requests, "conflicts": result.get("conflicts", 0) / requests}


def compare(databases, folder):
    """Runs every operation in each round. Returns a row for each operation and number of clients, and the times of flushes."""
    cases = [(work, clients) for work, (_, several) in WORK.items() for clients in several]
    found, flushed = {case: [] for case in cases}, []
    for turn in range(ROUNDS):
        flushed += flushes(folder)
        for case in cases:
            found[case].append(both(databases, turn, lambda database: measured_run(database, *case)))
    return [{"work": work, "clients": clients, **summary(found[work, clients])} for work, clients in cases], spread(flushed)


def summary(rows):
    columns = {name: {what: [row[name][what] for row in rows] for what in ("rate", "cpu", "conflicts")} for name in rows[0]}
    ratio = ratios(columns["ours"]["rate"], columns["postgres"]["rate"])
    return {"ratio": ratio, **{name: {what: spread(values) for what, values in of.items()} for name, of in columns.items()}}


def reconciliations(databases):
    rows = [both(databases, turn, lambda database: database.reconcile()) for turn in range(RECONCILIATIONS)]
    times = {name: [row[name]["ms"] / 1000 for row in rows] for name in databases}
    found = {name: spread(of) for name, of in times.items()}
    return {**found, "ratio": ratios(times["ours"], times["postgres"]), "transactions": rows[0]["ours"]["transactions"]}


def log_of_transfers(database):
    """Returns the bytes of the log for each transfer."""
    database.query("CHECKPOINT")
    # The first change of a page after a checkpoint logs the whole page, so a first run is not
    # counted.
    database.run("transfer", 8)
    before = database.written()
    requests = database.run("transfer", 8)["requests"]
    return (database.written() - before) / requests


def measure():
    """Measures the part "postgres" of the results."""
    with cluster() as postgres:
        check(postgres)
        ours = Ours()
        databases = {"ours": ours, "postgres": postgres}
        result = {"version": postgres.query("SHOW server_version").split()[0], "rounds": ROUNDS, "seconds": SECONDS}
        result["reconciliation"] = reconciliations(databases)
        for database in databases.values():
            database.run("transfer", max(WRITERS))
        result["rows"], result["flush"] = compare(databases, postgres.folder)
        result["wal"] = log_of_transfers(postgres)
        postgres.reconcile()
        ours.close()
    return {**result, **SIZES}


def section(result):
    rows = []
    for row in result["rows"]:
        ours, postgres = row["ours"], row["postgres"]
        rows.append([
            NAMES[row["work"]], str(row["clients"]), brackets(ours["rate"], 0), brackets(postgres["rate"], 0), brackets(row["ratio"], 3),
            f"{ours['cpu']['median']:.2f}", f"{postgres['cpu']['median']:.2f}",
        ])
    head = ["operation", "clients", "ours, a second", "PostgreSQL, a second", "ours ÷ PostgreSQL", "CPU, ours", "CPU, PostgreSQL"]
    conflicts = [f"{row['ours']['conflicts']['median']:.2f}" for row in result["rows"] if row["work"] == "hot"]
    reconciliation = result["reconciliation"]
    return TEXT.format(
        **{**result, "flush": brackets(result["flush"], 2), "rows": table(head, rows)}, legs=100, conflicts=f"{', '.join(conflicts[:-1])} and {conflicts[-1]}",
        transactions=reconciliation["transactions"], ours_reconciliation=brackets(reconciliation["ours"], 1),
        theirs_reconciliation=brackets(reconciliation["postgres"], 2), reconciliation_ratio=brackets(reconciliation["ratio"], 0),
    )
