//! Tests of imports (B12, B13): the forms of files, their reports, and repeated files
//! (docs/requirements/bank.md#import-payments).

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use function::{Service, percent_encoded};
use jobs::Job;
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem,
    bank::{import, inserted, payments, put_run, report, stack, upload, without_jobs},
    dynamo,
    faults::{Fault, Moment, Process, Proxy, service_at, within},
    http, send, text, until,
};

const TIME: &str = "2099-12-01T09:30:00Z";
const MINUTE: Duration = Duration::from_mins(1);

/// A line with an amount in cents.
fn line(id: &str, account: &str, cents: u32) -> String {
    let data = json!({"amount": format!("{}.{:02}", cents / 100, cents % 100), "currency": "USD"});
    json!({"id": id, "accountId": account, "scheduledTime": TIME, "data": data}).to_string() + "\n"
}

/// The state of an import, and its numbers: read, scheduled, duplicates and rejected.
fn outcome(import: &Value) -> (&str, [u64; 4]) {
    (text(import, "status"), numbers(import))
}

fn numbers(import: &Value) -> [u64; 4] {
    ["read", "scheduled", "duplicates", "rejected"].map(|name| import[name].as_u64().expect("a number"))
}

fn total(outcome: &str, currency: &str, amount: &str) -> Value {
    json!({"outcome": outcome, "currency": currency, "amount": amount})
}

#[tokio::test]
async fn lines_are_scheduled_as_requests_of_an_operator() {
    let stack = stack().start().await.expect("a stack");
    let done = import(&stack, "morning.jsonl", &[], line("L-1", "A-1", 1_250) + &line("L-2", "A-2", 5)).await;
    assert_eq!(outcome(&done), ("done", [2, 2, 0, 0]), "{done}");
    assert_eq!((&done["jobId"], &done["kind"], &done["done"]), (&json!("morning"), &json!("import"), &json!(2)));
    let totals = json!([total("scheduled", "USD", "12.55")]);
    let summary =
        json!({"read": 2, "scheduled": 2, "duplicates": 0, "rejected": 0, "withoutAmount": 0, "totals": totals});
    assert_eq!((&done["totals"], report(&stack, &done)), (&totals, vec![summary]));
    // The id is the idempotency key of the account: the same request gets the same payment.
    let body = json!({"scheduledTime": TIME, "data": {"amount": "12.50", "currency": "USD"}});
    let again = Client::operator(&stack).post_once("/bank/accounts/A-1/payments", "L-1", &body).await;
    assert_eq!((again.status, &again.body["data"]), (201, &body["data"]), "{}", again.body);
    let rows = payments(&stack).await;
    assert!(rows.len() == 2 && rows.iter().all(|row| row["ByOperator"] == "1"), "{rows:?}");
    stack.stop().await;
}

/// Amounts and currencies that no transaction service can pay, with the member that is wrong.
const UNPAYABLE: [(&str, &str, &str); 5] = [
    ("12,50", "USD", "amount must be greater than 0, in digits"),
    ("-5", "USD", "amount must be greater than 0"),
    ("705.5", "JPY", "amount must have at most 0 decimal places in JPY"),
    ("999999999999999999999999999999999999999", "JPY", "amount must have at most 38 digits"),
    ("5.00", "usd", "currency must be an ISO 4217 currency in capital letters"),
];

#[tokio::test]
async fn the_ledger_gets_only_lines_that_it_can_pay() {
    let stack = stack().start().await.expect("a stack");
    let good = [("5.00 ", "USD"), (" 0012.5", " USD"), ("705", "JPY")];
    let rows = good.into_iter().chain(UNPAYABLE.map(|(amount, currency, _)| (amount, currency)));
    let mut file = "id,accountId,scheduledTime,creditAccountId,amount,currency\n".to_owned();
    for (number, (amount, currency)) in rows.enumerate() {
        let _ = writeln!(file, "L-{number},A-1,{TIME},B-1,\"{amount}\",\"{currency}\"");
    }
    let _ = writeln!(file, "X-1,A-1,{TIME},,5.00,USD\nX-2,A-1,{TIME},A-1,5.00,USD");
    let done = import(&stack, "amounts.csv", &[("expected-sum", "27.50 USD, 705 JPY")], file).await;
    assert_eq!((outcome(&done), &done["withoutAmount"]), (("done", [10, 3, 0, 7]), &json!(0)), "{done}");
    let others = ["creditAccountId must not be empty", "creditAccountId must not be the account to debit"];
    let reasons = UNPAYABLE.iter().map(|(.., reason)| *reason).chain(others);
    for ((number, reason), row) in (5..).zip(reasons).zip(&report(&stack, &done)) {
        assert_eq!(row["line"], number, "{row}");
        assert!(text(row, "reason").starts_with(&format!("data/{reason}")), "{row}: {reason}");
    }
    let totals = [("scheduled", "JPY", "705"), ("scheduled", "USD", "17.50"), ("rejected", "USD", "10.00")];
    assert_eq!(done["totals"], json!(totals.map(|(outcome, currency, amount)| total(outcome, currency, amount))));
    // In JSON Lines, an amount can be a number. Data of another form says nothing about an amount.
    let data = [json!({"amount": 5.5, "currency": "USD"}), json!({"amount": -5, "currency": "USD"}), json!("rent")];
    let lines = (1..).zip(data).fold(String::new(), |lines, (number, data)| {
        let line = json!({"id": format!("N-{number}"), "accountId": "A-1", "scheduledTime": TIME, "data": data});
        lines + &line.to_string() + "\n"
    });
    let done = import(&stack, "numbers.jsonl", &[], lines).await;
    assert_eq!(numbers(&done), [3, 1, 0, 2], "{done}");
    stack.stop().await;
}

/// Names of files below `inbox/`, and the start of the reason for which a file is not imported.
const NAMES: [(&str, &str); 10] = [
    ("PAYMENTS.CSV", ""),
    ("a+b & 50%25.csv", ""),
    ("Zahlungen_\u{e4}\u{65e5}.csv", ""),
    ("2026/11/payments.csv", ""),
    ("what?#1.csv", ""),
    (" spaces  inside .csv", ""),
    (".csv", ""),
    ("payments.csv.gz", "The name of the file must end with .jsonl or .csv."),
    ("two\nlines.csv", "The key of the file must not contain control characters"),
    ("zero\u{200b}width.csv", "The key of the file must not contain control characters"),
];

#[tokio::test]
async fn a_file_of_any_name_has_an_import() {
    let stack = stack().start().await.expect("a stack");
    for (number, (name, reason)) in NAMES.into_iter().enumerate() {
        let file = format!("id,accountId,scheduledTime,amount,currency\nL-{number},A-1,{TIME},1.00,USD\n");
        let done = import(&stack, name, &[], file).await;
        if reason.is_empty() {
            assert_eq!(outcome(&done), ("done", [1, 1, 0, 0]), "{name}: {done}");
            assert_eq!(report(&stack, &done).len(), 1, "{name}");
        } else {
            assert_eq!(text(&done, "status"), "failed", "{name}: {done}");
            assert!(text(&done, "reason").starts_with(reason), "{name}: {done}");
        }
    }
    let client = Client::operator(&stack);
    for unknown in ["%20", "a%2Fb", "%E2%80%8B", "%00", "%2e%2e%2fx"] {
        assert_problem(&client.get(&format!("/bank/imports/{unknown}")).await, 404, "not-found");
    }
    let long = format!("inbox/{}.csv", vec!["x".repeat(200); 5].join("/"));
    let started = client.invoke("import-payments", &created(&long, "01")).await;
    let id = text(&started.body["started"][0], "importId").to_owned();
    let path = format!("/bank/imports/{}", percent_encoded(&id));
    let failed = until(&client, &path, |answer| answer.body["status"] == "failed").await.body;
    assert_eq!(text(&failed, "reason"), "The key of the file must have at most 900 bytes.", "{failed}");
    // Retrying names the import in the same way.
    assert_problem(&retry(&client, &format!("{path}/retry")).await, 409, "import-rejected");
    stack.stop().await;
}

/// The event of an object.
fn created(key: &str, sequencer: &str) -> Value {
    let key = percent_encoded(key).to_string();
    json!({"Records": [{
        "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
        "s3": {"bucket": {"name": "local-inbox"}, "object": {"key": key, "size": 1, "eTag": "t", "sequencer": sequencer}},
    }]})
}

#[tokio::test]
async fn objects_with_equal_sequencers_have_their_own_runs() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (key, run) in [("a.csv", "FF"), ("a.jsonl", "FF0"), ("a.CSV", "FF00"), ("A.CSV", "FF"), ("a.jsonl", "FF0")] {
        let started = client.invoke("import-payments", &created(&format!("inbox/{key}"), "FF")).await.body;
        let import = key.split('.').next().expect("a name");
        assert_eq!(started, json!({"started": [{"importId": import, "run": run}]}), "{key}");
    }
    let empty = client.invoke("import-payments", &created("inbox/folder/", "FF")).await.body;
    assert_eq!(empty["started"][0]["importId"], "folder/", "an object with a content is no folder");
    stack.stop().await;
}

#[tokio::test]
async fn all_runs_of_an_import_are_listed() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for run in 1..=23 {
        client.invoke("import-payments", &created("inbox/daily.csv", &format!("{run:04X}"))).await;
    }
    let get = async |query: &str| client.get(&format!("/bank/imports/daily{query}")).await;
    for (query, first, last) in [("", 23, 4), ("?run=0003", 3, 1)] {
        let import = get(query).await.body;
        let runs: Vec<&str> = import["runs"].as_array().expect("runs").iter().map(|run| text(run, "run")).collect();
        let wanted: Vec<String> = (last..=first).rev().map(|run| format!("{run:04X}")).collect();
        assert_eq!((text(&import, "run"), runs), (wanted[0].as_str(), wanted.iter().map(String::as_str).collect()));
        assert_eq!(import["earlierRun"].as_str(), (last > 1).then_some("0003"), "{import}");
    }
    for unknown in ["FFFF", "0", "00030"] {
        assert_problem(&get(&format!("?run={unknown}")).await, 404, "not-found");
    }
    assert_problem(&get("?run=latest").await, 400, "invalid-request");
    // A run that cannot be read hides no other run.
    let table = dynamo(&stack).table(stack.table("BankJobs").expect("a table"));
    for run in ["0016", "0003"] {
        let key = table::Key::new(&"IMPORT#daily", &format!("RUN#{run}"));
        dynamo(&stack).write(table.update(key).set(Job::STATE, &"damaged")).await.expect("damaged");
    }
    let latest = get("").await.body;
    assert_eq!((&latest["skipped"], text(&latest, "earlierRun")), (&json!(1), "0003"), "{latest}");
    assert_eq!(latest["runs"].as_array().map(Vec::len), Some(19));
    assert_problem(&get("?run=0003").await, 500, "internal");
    stack.stop().await;
}

#[tokio::test]
async fn the_runs_of_all_imports_are_listed_newest_first() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    // An id can be longer than a sort key. Two runs can start in the same second.
    let long = "n".repeat(900);
    for (import, started_at) in [
        ("noon", "2025-12-01T12:00:00Z"),
        (long.as_str(), "2025-12-02T12:00:00Z"),
        ("a", "2025-12-01T23:59:59Z"),
        ("b", "2025-12-01T23:59:59Z"),
        ("#c/d", "2025-12-02T00:00:00Z"),
    ] {
        put_run(&stack, import, started_at).await;
    }
    client.post("/bank/dispatches", &json!({})).await;
    let listed = async |query: &str| {
        let (mut imports, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/bank/imports?limit=1{query}{cursor}")).await.body;
            imports.extend(page["items"].as_array().expect("items").iter().map(|run| text(run, "importId").to_owned()));
            let Some(next) = page["nextCursor"].as_str() else { return imports };
            cursor = format!("&cursor={next}");
        }
    };
    let all = listed("").await;
    assert_eq!((&all[0], &all[1], &all[4]), (&long, &"#c/d".to_owned(), &"noon".to_owned()));
    assert_eq!(all[2..4].iter().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["a", "b"]));
    assert_eq!(listed("&date=2025-12-01").await, all[2..]);
    assert_eq!(listed("&date=2025-12-02").await, all[..2]);
    assert_eq!(listed("&date=2025-12-03").await, [""; 0]);
    let first = client.get("/bank/imports").await.body["items"][1].clone();
    assert_eq!(first, client.get("/bank/imports/%23c%2Fd").await.body["runs"][0], "a run of a list is the run");
    stack.stop().await;
}

#[tokio::test]
async fn every_rejected_line_is_reported_with_its_number() {
    let stack = stack().start().await.expect("a stack");
    let valid = line("L-2", "A-1", 1);
    let cases: &[(Vec<u8>, &str)] = &[
        (line("L-1", "A-1", 1).into(), ""),
        (b"\r\n".to_vec(), ""),
        (b"{\n".to_vec(), "The line "),
        (b"\xff\xfe\n".to_vec(), "The line is not valid UTF-8."),
        (("x".repeat(20_000) + "\n").into(), "The line has more than 16384 bytes."),
        (valid.replace("\"data\"", "\"date\"").into(), "data is missing; date is unknown"),
        (line("L 2 ", "A-1", 1).into(), "id must have single spaces"),
        (valid.replace("2099-12-01", "2020-12-01").into(), "scheduledTime must not be on a day before"),
        (valid.replace("USD", &"x".repeat(9_000)).into(), "A payment with its keys must not exceed 8 KB."),
        (valid.replace("0.01", "\\ud800").into(), "data/amount has half of a surrogate pair"),
        (line("L-0", "A-1", 1).into(), "The account has another payment with this id"),
        (line("L-4", "A-1", 2).trim_end().into(), ""),
    ];
    // The same payment of a customer, who must not get the rights of an operator.
    let customer = Client::caller(&stack, "bank:write", &["A-1"]);
    let of_customer = json!({"scheduledTime": TIME, "data": {"amount": "0.01", "currency": "USD"}});
    assert_eq!(customer.post_once("/bank/accounts/A-1/payments", "L-0", &of_customer).await.status, 201);
    let file: Vec<u8> = cases.iter().flat_map(|(line, _)| line.clone()).collect();
    let done = import(&stack, "odd.jsonl", &[], file).await;
    assert_eq!((outcome(&done), &done["lines"]), (("done", [11, 2, 0, 9]), &json!(12)), "{done}");
    let report = report(&stack, &done);
    let rejected = cases.iter().zip(1..).filter(|((_, reason), _)| !reason.is_empty());
    for (((_, reason), number), row) in rejected.clone().zip(&report) {
        assert_eq!(row["line"], number, "{row}");
        assert!(text(row, "reason").starts_with(reason), "{row}: {reason}");
    }
    assert_eq!(report.len(), rejected.count() + 1);
    stack.stop().await;
}

/// Name, metadata and content of a file, and the start of the reason.
type InvalidFile = (&'static str, &'static [(&'static str, &'static str)], Vec<u8>, &'static str);

#[tokio::test]
async fn every_invalid_file_is_rejected_with_a_reason() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let csv = format!("id,accountId,scheduledTime,amount\nL-1,A-1,{TIME},1\n");
    let good = line("L-1", "A-1", 1_250);
    let count: &[(&str, &str)] = &[("expected-count", "2")];
    let sum: &[(&str, &str)] = &[("expected-sum", "12.49 USD"), ("expected-count", "1")];
    let quote = "The quoted value that starts on line 1 has no closing quote.";
    let cases: &[InvalidFile] = &[
        ("a.jsonl", &[], b"\x1f\x8b\x08".to_vec(), "The file is compressed with gzip."),
        ("b.jsonl", &[], Vec::new(), "The file is empty."),
        ("c.csv", &[], csv.encode_utf16().flat_map(u16::to_le_bytes).collect(), "The file is in UTF-16"),
        ("d.csv", &[], b"L-1,A-1,2099-12-01T09:30:00Z\n".to_vec(), "The first line must name the columns"),
        ("e.csv", &[], csv.replace("amount", "ID ").into(), "The header has the column `id` more than once."),
        ("f.csv", &[], csv.replace("amount", "\"amount").into(), quote),
        ("g.jsonl", &[("expected-count", "two")], good.clone().into(), "The metadata expected-count must be"),
        ("h.csv", count, csv.clone().into(), "expected-count is 2, and the file has 1 records. Nothing"),
        ("o.jsonl", sum, good.clone().into(), "expected-sum is 12.49 USD, and the sum of the file is 12.50 USD."),
    ];
    for (file, metadata, content, reason) in cases {
        let failed = import(&stack, file, metadata, content.clone()).await;
        assert_eq!((outcome(&failed), failed.get("report")), (("failed", [0; 4]), None), "{file}: {failed}");
        assert!(text(&failed, "reason").starts_with(reason), "{file}: {failed}");
        let path = format!("/bank/imports/{}/retry", text(&failed, "importId"));
        assert_problem(&retry(&client, &path).await, 409, "import-rejected");
    }
    assert_eq!(payments(&stack).await.len(), 0);
    // A file with the right totals, under the name of one that was rejected.
    let right: &[(&str, &str)] = &[("expected-count", "1"), ("expected-sum", "12.50 USD")];
    assert_eq!(outcome(&import(&stack, "o.jsonl", right, good).await), ("done", [1, 1, 0, 0]));
    let header = import(&stack, "q.csv", &[("expected-count", "0")], "id,accountId,scheduledTime").await;
    assert_eq!(outcome(&header), ("done", [0; 4]), "{header}");
    stack.stop().await;
}

/// The header of a CSV file of payments.
const HEADER: &str = "id,accountId,scheduledTime,creditAccountId,amount,currency,note\r\n";

/// A record of such a file.
fn record(id: &str, note: &str) -> String {
    format!("{id},A-1,{TIME},SHOP,1.00,USD,\"{}\"\r\n", note.replace('"', "\"\""))
}

/// The accounts and notes of all payments.
async fn notes(stack: &Stack) -> BTreeSet<(String, String)> {
    let note = |data: &str| text(&serde_json::from_str::<Value>(data).expect("JSON"), "note").to_owned();
    payments(stack).await.into_iter().map(|row| (row["PK"].clone(), note(&row["Data"]))).collect()
}

/// A payer chooses a note that contains a record of somebody else.
#[tokio::test]
async fn text_in_a_quoted_value_is_never_a_record() {
    let stack = stack().start().await.expect("a stack");
    let forged = format!("X1,VICTIM,{TIME},THIEF,99.00,USD,y");
    let mut file = HEADER.to_owned();
    for (number, end) in ["\r\n", "\n", "\r", "\",\"\n"].into_iter().enumerate() {
        file += &record(&format!("L-{number}"), &format!("thanks{end}{forged}{end}bye"));
    }
    // Longer than the maximum, and than several pieces that are read at once.
    file += &record("L-long", &format!("{forged}\r\n").repeat(30_000));
    file.push_str("L-few,A-1,\"\r\n");
    file.push_str(&forged);
    file.push_str("\r\n\"\r\n");
    // Notes at the end of each piece.
    file.extend((0..2_000).map(|number| record(&format!("M-{number}"), &format!("\n{forged}\n{number}"))));
    let metadata: &[(&str, &str)] = &[("expected-count", "2006"), ("expected-sum", "2004.00 USD")];
    let done = import(&stack, "notes.csv", metadata, file).await;
    assert_eq!((outcome(&done), &done["lines"]), (("done", [2_006, 2_004, 0, 2]), &json!(36_017)), "{done}");
    let notes = notes(&stack).await;
    assert_eq!(notes.len(), 2_004);
    assert!(notes.iter().all(|(account, note)| account == "A-1" && note.contains(&forged)));
    let rows = report(&stack, &done);
    let reason = |row: &Value| text(row, "reason").to_owned();
    assert_eq!((&rows[0]["line"], &rows[1]["line"], rows.len()), (&json!(14), &json!(30_015), 3), "{rows:?}");
    assert!(reason(&rows[0]).starts_with("The line has more than 16384 bytes."), "{}", rows[0]);
    assert!(reason(&rows[0]).ends_with("The record ends on line 30014."), "{}", rows[0]);
    assert!(reason(&rows[1]).starts_with("The line has 3 values, and"), "{}", rows[1]);
    stack.stop().await;
}

/// After a misplaced quote, values cannot be told from records. Only the records before it are
/// scheduled, and none if the file has control totals.
#[tokio::test]
async fn nothing_after_a_misplaced_quote_is_scheduled() {
    let stack = stack().start().await.expect("a stack");
    let many = format!("X,VICTIM,{TIME},THIEF,99.00,USD,m\r\n").repeat(3_000);
    for (number, (value, reason)) in [
        (format!("\"thanks\r\n{many}"), "The quoted value that starts on line 4 has no closing quote."),
        (
            format!("\"thanks\r\n{many}X,\"m\"\r\n{many}"),
            "After the closing quote on line 3005, the value that starts on line 4",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let file = format!("{HEADER}{}L-bad,A-1,{TIME},SHOP,1.00,USD,{value}\r\n", record("L-ID", "a\nb"));
        let totals: [&[(&str, &str)]; 2] = [&[], &[("expected-count", "2")]];
        for (metadata, wanted) in totals.into_iter().zip([[1, 1, 0, 0], [0; 4]]) {
            let content = file.replace("L-ID", &format!("L-{number}-{}", metadata.len()));
            let failed = import(&stack, &format!("bad-{number}.csv"), metadata, content).await;
            assert_eq!(outcome(&failed), ("failed", wanted), "{failed}");
            let found = text(&failed, "reason");
            assert!(found.starts_with(reason) && found.ends_with("Nothing from line 4 on was imported."), "{found}");
        }
    }
    assert_eq!(notes(&stack).await, [("A-1".to_owned(), "a\nb".to_owned())].into());
    assert_eq!(payments(&stack).await.len(), 2);
    stack.stop().await;
}

async fn retry(client: &Client, path: &str) -> Answer {
    send(client.request("POST", path)).await
}

/// A proxy in front of S3. It fails all calls from a given one on.
struct S3 {
    target: String,
    http: reqwest::Client,
    /// Number of calls, number of the first call that fails, starting at 1, and when that one
    /// fails.
    state: Mutex<(usize, usize, Moment)>,
}

impl S3 {
    /// Starts the proxy. Returns its URL.
    async fn start(target: &str) -> (Arc<Self>, String) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Mutex::new((0, usize::MAX, Moment::Before));
        let s3 = Arc::new(Self { target: target.to_owned(), http: http(), state });
        let router = Router::new().fallback(pass).with_state(Arc::clone(&s3));
        tokio::spawn(async { axum::serve(listener, router).await.expect("serves") });
        (s3, url)
    }

    fn state(&self) -> MutexGuard<'_, (usize, usize, Moment)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail_from(&self, number: usize, moment: Moment) {
        *self.state() = (0, number, moment);
    }

    fn heal(&self) {
        self.fail_from(usize::MAX, Moment::Before);
    }
}

async fn pass(State(s3): State<Arc<S3>>, request: Request) -> Response {
    let (number, from, moment) = {
        let mut state = s3.state();
        state.0 += 1;
        *state
    };
    if number > from || number == from && moment == Moment::Before {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let (url, mut headers) = (format!("{}{}", s3.target, parts.uri), parts.headers);
    headers.remove("host");
    let answer = s3.http.request(parts.method, url).headers(headers).body(body).send().await.expect("an answer");
    if number == from {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    response.headers_mut().remove("transfer-encoding");
    let bytes = answer.bytes().await.expect("a body");
    response.map(|_| Body::from(bytes))
}

/// A bank whose imports the test continues, with a process that reaches DynamoDB and S3 only
/// through proxies.
struct Scene {
    stack: Stack,
    client: Client,
    dynamo: Proxy,
    s3: Arc<S3>,
    s3_url: String,
}

impl Scene {
    async fn start() -> Self {
        let stack = without_jobs().start().await.expect("a stack");
        let (client, dynamo) = (Client::operator(&stack), Proxy::start(stack.dynamo_url()).await);
        let (s3, s3_url) = S3::start(stack.services_url()).await;
        Self { stack, client, dynamo, s3, s3_url }
    }

    /// Uploads a file with a new name. Returns the run of its import.
    async fn upload(&self, file: &str, metadata: &[(&str, &str)], content: String) -> String {
        upload(&self.stack, &format!("inbox/{file}"), metadata, content).await;
        let path = format!("/bank/imports/{}", file.split('.').next().expect("a name"));
        text(&until(&self.client, &path, |answer| answer.status == 200).await.body, "run").to_owned()
    }

    async fn import(&self, name: &str) -> Value {
        self.client.get(&format!("/bank/imports/{name}")).await.body
    }

    /// The job function with other addresses of DynamoDB and S3.
    fn service(&self, dynamo: &str, s3: &str) -> Service {
        service_at(
            &self.stack,
            dynamo,
            s3,
            "continue-bank-job",
            &(bank::patterns::continue_bank_job::PATTERN.function)(),
        )
    }

    /// Continues an import once.
    async fn run(&self, name: &str, run: &str) {
        let process = Process::of(self.service(self.dynamo.url(), &self.s3_url), &self.dynamo);
        let _ = process.run(&starts(name, run), MINUTE).await;
    }

    /// Continues an import until it has ended.
    async fn finish(&self, name: &str, run: &str) -> Value {
        for _ in 0..20 {
            self.run(name, run).await;
            let import = self.import(name).await;
            if import["status"] != "running" {
                return import;
            }
        }
        unreachable!("the import {name} does not end")
    }
}

/// The event of the stream for the import.
fn starts(import: &str, run: &str) -> Value {
    inserted(&format!("IMPORT#{import}"), &format!("RUN#{run}"))
}

#[tokio::test]
async fn a_large_report_whose_completion_was_lost_is_complete() {
    let scene = Scene::start().await;
    let mut calls = 0;
    for name in ["whole", "lost"] {
        let run = scene.upload(&format!("{name}.jsonl"), &[], "x\n".repeat(160_000)).await;
        scene.s3.heal();
        if name == "lost" {
            // The completion of the upload is the last call.
            scene.s3.fail_from(calls, Moment::After);
            scene.run(name, &run).await;
            assert_eq!(scene.import(name).await["status"], "running");
            scene.s3.heal();
        }
        let import = scene.finish(name, &run).await;
        calls = calls.max(scene.s3.state().0);
        assert_eq!(outcome(&import), ("done", [160_000, 0, 0, 160_000]), "{name}: {import}");
        assert_eq!(report(&scene.stack, &import).len(), 160_001, "{name}");
    }
}

/// A run is delayed during a step that ends early, until its successor has written the same step
/// with more lines.
#[tokio::test]
async fn an_overtaken_run_does_not_replace_rows_of_the_report() {
    let scene = Scene::start().await;
    let content = |name: &str| {
        let lines: String = (1..=30).map(|number| line(&format!("{name}-{number}"), "A-1", 100)).collect();
        format!("first\n{lines}last\n")
    };
    let assert_rows = async |name: &str| {
        let import = scene.import(name).await;
        assert_eq!(outcome(&import), ("done", [32, 30, 0, 2]), "{import}");
        let rows: Vec<_> = report(&scene.stack, &import).iter().map(|row| row["line"].as_u64()).collect();
        assert_eq!(rows, [Some(1), Some(32), None], "{name}");
    };
    let successor = scene.service(scene.stack.dynamo_url(), &scene.s3_url);
    let run = scene.upload("whole.jsonl", &[], content("whole")).await;
    scene.s3.heal();
    let done = successor.call(starts("whole", &run), within(MINUTE)).await;
    assert!(done.answer.is_ok());
    assert_rows("whole").await;
    let calls = scene.s3.state().0;

    let run = scene.upload("late.jsonl", &[], content("late")).await;
    scene.dynamo.rule(|call| match call.body["Item"]["SK"]["S"].as_str() {
        Some("IDEMPOTENCY#late-8") => Fault::Held,
        Some("IDEMPOTENCY#late-9") => Fault::throttled(),
        _ => Fault::None,
    });
    let overtaken = Process::of(scene.service(scene.dynamo.url(), scene.stack.services_url()), &scene.dynamo);
    let starts = starts("late", &run);
    let follow = async {
        scene.dynamo.held(1).await;
        // The report is composed of one object with one read and one write.
        scene.s3.fail_from(calls - 1, Moment::Before);
        let _ = successor.call(starts.clone(), within(MINUTE)).await;
        scene.s3.heal();
        scene.dynamo.release();
    };
    futures::join!(overtaken.run(&starts, MINUTE), follow);
    let _ = successor.call(starts.clone(), within(MINUTE)).await;
    assert_rows("late").await;
}

/// Payments that a run has scheduled before its object was replaced stay, and so do their counts
/// and the report.
#[tokio::test]
async fn both_runs_of_a_file_that_was_replaced_are_visible() {
    let scene = Scene::start().await;
    let note = "x".repeat(6_000);
    let line = |number: u32| {
        line(&format!("long-{number}"), "A-9", 100).replace("USD\"", &format!("USD\", \"note\": \"{note}\""))
    };
    let content = (0..150).fold("nonsense\n".to_owned(), |text, number| text + &line(number));
    let path = "/bank/imports/long";
    let run = scene.upload("long.jsonl", &[], content).await;
    // A line is throttled, while those after it are under way.
    scene.dynamo.rule(|call| match call.body["Item"]["SK"]["S"].as_str() {
        Some("IDEMPOTENCY#long-60") => Fault::throttled(),
        _ => Fault::None,
    });
    scene.run("long", &run).await;
    scene.dynamo.heal();
    let first = scene.import("long").await;
    assert_eq!(outcome(&first), ("running", [61, 60, 0, 1]), "{first}");
    upload(&scene.stack, "inbox/long.jsonl", &[], line(1_000)).await;
    let newer = until(&scene.client, path, |answer| answer.body["run"] != run.as_str()).await.body;
    for run in [run.as_str(), text(&newer, "run")] {
        scene.run("long", run).await;
    }
    let both = scene.import("long").await;
    let [new, old] = both["runs"].as_array().expect("runs").as_slice() else { panic!("{both}") };
    assert_eq!((outcome(&both), outcome(new)), (("done", [1, 1, 0, 0]), ("done", [1, 1, 0, 0])), "{both}");
    assert_eq!((text(old, "run"), text(old, "status")), (run.as_str(), "failed"), "{old}");
    assert!(text(old, "reason").starts_with("The object was replaced"), "{old}");
    assert!([new, old].iter().all(|run| run["startedAt"].is_string()), "{both}");
    let [read, scheduled, _, rejected] = numbers(old);
    assert!(scheduled > 60 && (read, rejected) == (scheduled + 1, 1), "payments after the position count: {old}");
    assert_eq!(u64::try_from(payments(&scene.stack).await.len()).ok(), Some(scheduled + 1), "{both}");
    let rows = report(&scene.stack, old);
    assert_eq!((&rows[0]["line"], &rows[1]["scheduled"]), (&json!(1), &old["scheduled"]), "{rows:?}");
    assert_eq!(rows[1]["reason"], old["reason"]);
    let alone = scene.client.get(&format!("{path}?run={run}")).await.body;
    assert_eq!((&alone["report"], alone["runs"].as_array().map(Vec::len)), (&old["report"], Some(1)), "{alone}");
}

/// The file has new, repeated and rejected records of several lines.
#[tokio::test]
async fn a_failed_import_continues_after_a_retry() {
    let scene = Scene::start().await;
    let note = format!("a\nR-9,A-2,{TIME},9.00,USD,\nb");
    let before = json!({"scheduledTime": TIME, "data": {"amount": "3.03", "currency": "USD", "note": note}});
    assert_eq!(scene.client.post_once("/bank/accounts/A-1/payments", "R-3", &before).await.status, 201);
    let record = |number: u32, amount: &str| format!("R-{number},A-1,{TIME},{amount},USD,\"{note}\"\n");
    let mut file = "id,accountId,scheduledTime,amount,currency,note\n".to_owned();
    file.extend((1..=6).map(|number| record(number, &format!("3.0{number}"))));
    file += &record(1, "3.01");
    file.extend(["\"nonsense\n", &"x\n".repeat(100_000), "\"\n,,\n"]);
    file += &record(3, "0.01");
    let metadata: &[(&str, &str)] = &[("expected-count", "9"), ("expected-sum", "21.23 USD")];
    let run = scene.upload("retried.csv", metadata, file).await;
    assert_problem(&retry(&scene.client, "/bank/imports/retried/retry").await, 409, "job-not-failed");
    // A call that DynamoDB rejects is a defect, after which the job does not continue.
    let rejected = json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "injected"});
    scene.dynamo.rule(move |call| {
        let is_payment = call.action == "PutItem" && call.nth >= 4;
        if is_payment { Fault::Refused(StatusCode::BAD_REQUEST, rejected.clone()) } else { Fault::None }
    });
    scene.run("retried", &run).await;
    scene.dynamo.heal();
    let failed = scene.import("retried").await;
    assert_eq!((text(&failed, "status"), failed["reason"].is_string()), ("failed", true), "{failed}");
    let retried = retry(&scene.client, "/bank/imports/retried/retry").await;
    assert_eq!((retried.status, &retried.body["status"]), (202, &json!("running")), "{}", retried.body);
    assert_eq!(retried.headers["location"], "/bank/imports/retried");
    let done = scene.finish("retried", &run).await;
    assert_eq!(outcome(&done), ("done", [9, 5, 2, 2]), "{done}");
    let totals = [("scheduled", "15.18"), ("duplicate", "6.04"), ("rejected", "0.01")];
    assert_eq!(done["totals"], json!(totals.map(|(outcome, amount)| total(outcome, "USD", amount))), "{done}");
    let rows: Vec<_> = report(&scene.stack, &done).iter().map(|row| row["line"].as_u64()).collect();
    assert_eq!(rows, [Some(23), Some(100_026), None]);
    assert_eq!(payments(&scene.stack).await.len(), 6);
}
