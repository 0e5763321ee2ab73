//! Tests of imports (B12, B13): every form of file, repeated files, and crashes
//! (docs/requirements/bank.md#import-payments).

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    response::Response,
};
use function::percent_encoded;
use jobs::Job;
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use system_tests::{
    Answer, Client, assert_problem,
    bank::{import, payments, report, rows, stack, upload, without_jobs},
    dynamo,
    faults::{Fault, MOMENTS, Moment, Process, Proxy, service_at, within},
    http, send, text, until,
};

const TIME: &str = "2099-12-01T09:30:00Z";
const JOB: &str = "continue-bank-job";
const MINUTE: Duration = Duration::from_mins(1);

/// A line with an amount in cents.
fn line(id: &str, account: &str, cents: u32) -> String {
    let amount = format!("{}.{:02}", cents / 100, cents % 100);
    format!(
        "{{\"id\": \"{id}\", \"accountId\": \"{account}\", \"scheduledTime\": \"{TIME}\", \"data\": \
         {{\"amount\": \"{amount}\", \"currency\": \"USD\"}}}}\n"
    )
}

/// The numbers of an import: read, scheduled, duplicates and rejected.
fn numbers(import: &Value) -> [u64; 4] {
    ["read", "scheduled", "duplicates", "rejected"].map(|name| import[name].as_u64().expect("a number"))
}

fn total(outcome: &str, amount: &str) -> Value {
    json!({"outcome": outcome, "currency": "USD", "amount": amount})
}

#[tokio::test]
async fn lines_are_scheduled_as_requests_of_an_operator() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let done = import(&stack, "morning.jsonl", &[], line("L-1", "A-1", 1_250) + &line("L-2", "A-2", 5)).await;
    assert_eq!((text(&done, "status"), numbers(&done)), ("done", [2, 2, 0, 0]), "{done}");
    assert_eq!((&done["jobId"], &done["kind"], &done["done"]), (&json!("morning"), &json!("import"), &json!(2)));
    assert_eq!((&done["importId"], &done["totals"]), (&json!("morning"), &json!([total("scheduled", "12.55")])));
    let summary = json!({"read": 2, "scheduled": 2, "duplicates": 0, "rejected": 0, "withoutAmount": 0, "totals": [total("scheduled", "12.55")]});
    assert_eq!(report(&stack, &done), [summary]);
    let client = Client::operator(&stack);
    let listed = client.get("/bank/accounts/A-1/payments?to=2099-12-31T00:00:00Z").await.body["items"][0].clone();
    assert_eq!((text(&listed, "scheduledTime"), text(&listed, "status")), (TIME, "SCHEDULED"));
    assert_eq!(listed["data"], json!({"amount": "12.50", "currency": "USD"}));
    assert!(payments(&stack).await.iter().all(|row| row["ByOperator"] == "1"));
    // The id is the idempotency key of the account: the same request gets the same payment.
    let body = json!({"scheduledTime": TIME, "data": {"amount": "12.50", "currency": "USD"}});
    let text_of = r#"{"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": "12.50", "currency": "USD"}}"#;
    assert_eq!(serde_json::from_str::<Value>(text_of).expect("JSON"), body);
    let request = client.request("POST", "/bank/accounts/A-1/payments").header("idempotency-key", "L-1");
    let again = send(request.header("content-type", "application/json").body(text_of)).await;
    assert_eq!((again.status, &again.body["paymentId"]), (201, &listed["paymentId"]), "{}", again.body);
    stack.stop().await;
}

/// Amounts and currencies that no transaction service can pay, with the member that is wrong.
const UNPAYABLE: [(&str, &str, &str); 19] = [
    ("12,50", "USD", "amount must be greater than 0, in digits"),
    ("1,234.50", "USD", "amount must be greater than 0, in digits"),
    ("1 234.50", "USD", "amount must be greater than 0, in digits"),
    ("$5.00", "USD", "amount must be greater than 0, in digits"),
    ("705.5", "JPY", "amount must have at most 0 decimal places in JPY"),
    ("1.234", "USD", "amount must have at most 2 decimal places in USD"),
    ("0", "USD", "amount must be greater than 0"),
    ("0.00", "USD", "amount must be greater than 0"),
    ("-5", "USD", "amount must be greater than 0"),
    ("+5", "USD", "amount must be greater than 0"),
    ("", "USD", "amount must be greater than 0"),
    ("1e3", "USD", "amount must be greater than 0"),
    (".5", "USD", "amount must be greater than 0"),
    ("5.", "USD", "amount must be greater than 0"),
    ("\u{665}", "USD", "amount must be greater than 0"),
    ("999999999999999999999999999999999999999", "JPY", "amount must have at most 38 digits"),
    ("5.00", "usd", "currency must be an ISO 4217 currency in capital letters"),
    ("5.00", "XXL", "currency must be an ISO 4217 currency in capital letters"),
    ("5.00", "", "currency must be an ISO 4217 currency in capital letters"),
];

/// A CSV file with payments of these amounts, and three that can be paid.
fn amounts_file(more: &[&str]) -> String {
    let good = [("5.00 ", "USD", ""), (" 0012.5", " USD", ""), ("705", "JPY", "")];
    let mut file = "id,accountId,scheduledTime,creditAccountId,amount,currency\n".to_owned();
    for (number, (amount, currency, _)) in good.iter().chain(&UNPAYABLE).enumerate() {
        let _ = writeln!(file, "L-{number},A-1,{TIME},B-1,\"{amount}\",\"{currency}\"");
    }
    file + &more.concat()
}

#[tokio::test]
async fn the_ledger_gets_only_lines_that_it_can_pay() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let others = ["X-1,A-1,2099-12-01T09:30:00Z,,5.00,USD\n", "X-2,A-1,2099-12-01T09:30:00Z,A-1,5.00,USD\n"];
    let done = import(&stack, "amounts.csv", &[("expected-sum", "27.50 USD, 705 JPY")], amounts_file(&others)).await;
    let rejected = UNPAYABLE.len() + others.len();
    let expected = [rejected + 3, 3, 0, rejected].map(|number| u64::try_from(number).expect("a number"));
    assert_eq!((text(&done, "status"), numbers(&done)), ("done", expected), "{done}");
    assert_eq!(done["withoutAmount"], 0);
    let report = report(&stack, &done);
    let reasons = UNPAYABLE.iter().map(|(.., reason)| *reason);
    let reasons =
        reasons.chain(["creditAccountId must not be empty", "creditAccountId must not be the account to debit"]);
    for ((number, reason), row) in (5..).zip(reasons).zip(&report) {
        assert_eq!(row["line"], number, "{row}");
        assert!(text(row, "reason").starts_with(&format!("data/{reason}")), "{row}: {reason}");
    }
    let totals = [("scheduled", "JPY", "705"), ("scheduled", "USD", "17.50"), ("rejected", "USD", "10.00")];
    let totals =
        totals.map(|(outcome, currency, amount)| json!({"outcome": outcome, "currency": currency, "amount": amount}));
    assert_eq!(done["totals"], json!(totals));
    // In JSON Lines, an amount can be a number. Data of another form says nothing about an amount.
    let data =
        ["{\"amount\": 5.5, \"currency\": \"USD\"}", "{\"amount\": -5, \"currency\": \"USD\"}", "\"rent\"", "{}"];
    let line = |(number, data): (usize, &str)| {
        format!("{{\"id\": \"N-{number}\", \"accountId\": \"A-1\", \"scheduledTime\": \"{TIME}\", \"data\": {data}}}\n")
    };
    let lines: String = data.into_iter().enumerate().map(line).collect();
    let done = import(&stack, "numbers.jsonl", &[], lines).await;
    assert_eq!(numbers(&done), [4, 1, 0, 3], "{done}");
    stack.stop().await;
}

/// Names of files below `inbox/`, and the start of the reason for which a file is not imported.
const NAMES: [(&str, &str); 14] = [
    ("payments (1).csv", ""),
    ("PAYMENTS.CSV", ""),
    ("payments.Csv", ""),
    ("a+b & 50%25.csv", ""),
    ("Zahlungen_\u{e4}\u{65e5}.csv", ""),
    ("2026/11/payments.csv", ""),
    ("what?#1.csv", ""),
    (" spaces  inside .csv", ""),
    (".csv", ""),
    ("payments.csv.gz", "The name of the file must end with .jsonl or .csv."),
    ("payments", "The name of the file must end with .jsonl or .csv."),
    ("payments.csv ", "The name of the file must end with .jsonl or .csv."),
    ("two\nlines.csv", "The key of the file must not contain control characters"),
    ("zero\u{200b}width.csv", "The key of the file must not contain control characters"),
];

#[tokio::test]
async fn a_file_of_any_name_has_an_import() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    for (number, (name, reason)) in NAMES.into_iter().enumerate() {
        let file = format!("id,accountId,scheduledTime,amount,currency\nL-{number},A-1,{TIME},1.00,USD\n");
        let done = import(&stack, name, &[], file).await;
        if reason.is_empty() {
            assert_eq!((text(&done, "status"), numbers(&done)), ("done", [1, 1, 0, 0]), "{name}: {done}");
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
    let runs = |answer: &Answer| -> Vec<String> {
        let runs = answer.body["runs"].as_array().expect("runs");
        runs.iter().map(|run| text(run, "run").to_owned()).collect()
    };
    let numbered = |numbers: std::ops::RangeInclusive<u32>| -> Vec<String> {
        numbers.rev().map(|run| format!("{run:04X}")).collect()
    };
    let latest = client.get("/bank/imports/daily").await;
    assert_eq!((text(&latest.body, "run"), text(&latest.body, "earlierRun")), ("0017", "0003"), "{}", latest.body);
    assert_eq!(runs(&latest), numbered(4..=23));
    let earlier = client.get("/bank/imports/daily?run=0003").await;
    assert_eq!((text(&earlier.body, "run"), earlier.body.get("earlierRun")), ("0003", None), "{}", earlier.body);
    assert_eq!(runs(&earlier), numbered(1..=3));
    for unknown in ["FFFF", "0", "00030"] {
        assert_problem(&client.get(&format!("/bank/imports/daily?run={unknown}")).await, 404, "not-found");
    }
    assert_problem(&client.get("/bank/imports/daily?run=latest").await, 400, "invalid-request");
    // A run that cannot be read hides no other run.
    let table = dynamo(&stack).table(stack.table("BankJobs").expect("a table"));
    for run in ["0016", "0003"] {
        let key = table::Key::new(&"IMPORT#daily", &format!("RUN#{run}"));
        dynamo(&stack).write(table.update(key).set(Job::STATE, &"damaged")).await.expect("damaged");
    }
    let latest = client.get("/bank/imports/daily").await;
    assert_eq!((&latest.body["skipped"], text(&latest.body, "earlierRun")), (&json!(1), "0003"), "{}", latest.body);
    assert_eq!(runs(&latest).len(), 19);
    assert_problem(&client.get("/bank/imports/daily?run=0003").await, 500, "internal");
    stack.stop().await;
}

#[tokio::test]
async fn every_rejected_line_is_reported_with_its_number() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let long = "x".repeat(20_000);
    let cases: &[(Vec<u8>, &str)] = &[
        (line("L-1", "A-1", 1).into_bytes(), ""),
        (b"\r\n".to_vec(), ""),
        (b"{\n".to_vec(), "The line "),
        (b"[1]\n".to_vec(), "The line must be a JSON object"),
        (b"\xff\xfe\n".to_vec(), "The line is not valid UTF-8."),
        (format!("{long}\n").into_bytes(), "The line has more than 16384 bytes."),
        (line("L-1", "A-1", 1).replace("\"data\"", "\"date\"").into_bytes(), "data is missing; date is unknown"),
        (line("L 1 ", "A-1", 1).into_bytes(), "id must have single spaces"),
        (line("L-2", "A 1", 1).into_bytes(), "accountId must not contain white space"),
        (
            line("L-2", "A-1", 1).replace("2099-12-01", "2020-12-01").into_bytes(),
            "scheduledTime must not be on a day before",
        ),
        (line("L-2", "A-1", 1).replace("2099-12-01", "2099-13-01").into_bytes(), "scheduledTime "),
        (
            line("L-2", "A-1", 1).replace("USD", &"x".repeat(9_000)).into_bytes(),
            "A payment with its keys must not exceed 8 KB.",
        ),
        (line("L-2", "A-1", 1).replace("0.01", "\\ud800").into_bytes(), "data/amount has half of a surrogate pair"),
        (line("L-3", "A-1", 1).into_bytes(), ""),
        (line("L-0", "A-1", 2).into_bytes(), "The account has another payment with this id"),
        (line("L-4", "A-1", 2).trim_end().as_bytes().to_vec(), ""),
    ];
    // Two lines of one file with the same id would race.
    import(&stack, "first.jsonl", &[], line("L-0", "A-1", 1).into_bytes()).await;
    let file: Vec<u8> = cases.iter().flat_map(|(line, _)| line.clone()).collect();
    let done = import(&stack, "odd.jsonl", &[], file).await;
    assert_eq!((text(&done, "status"), numbers(&done)), ("done", [15, 3, 0, 12]), "{done}");
    assert_eq!(done["lines"], 16);
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
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let client = Client::operator(&stack);
    let csv = format!("id,accountId,scheduledTime,amount\nL-1,A-1,{TIME},1\n");
    let good = line("L-1", "A-1", 1_250);
    let before = payments(&stack).await;
    let count: &[(&str, &str)] = &[("expected-count", "2")];
    let sum: &[(&str, &str)] = &[("expected-sum", "12.49 USD"), ("expected-count", "1")];
    let cases: &[InvalidFile] = &[
        ("a.txt", &[], good.clone().into(), "The name of the file must end with .jsonl or .csv."),
        ("b.jsonl.gz", &[], b"\x1f\x8b\x08".to_vec(), "The name of the file must end with"),
        ("c.jsonl", &[], b"\x1f\x8b\x08".to_vec(), "The file is compressed with gzip."),
        ("d.jsonl", &[], Vec::new(), "The file is empty."),
        ("e.csv", &[], b"\xef\xbb\xbf".to_vec(), "The file is empty."),
        ("f.csv", &[], b"\xff\xfei\0d\0".to_vec(), "The file is in UTF-16."),
        ("g.csv", &[], b"L-1,A-1,2099-12-01T09:30:00Z\n".to_vec(), "The first line must name the columns"),
        ("h.csv", &[], csv.replace("amount", "id").into(), "The header has the column `id` more than once."),
        ("i.csv", &[], csv.replace(',', ";").into(), "The first line must name the columns"),
        ("j.csv", &[], vec![b'x'; 20_000], "The header has more than 16384 bytes."),
        ("k.csv", &[], b"id,accountId,scheduledTime,\xff\n".to_vec(), "The header is not valid UTF-8."),
        ("l.jsonl", &[("expected-count", "two")], good.clone().into(), "The metadata expected-count must be"),
        ("m.jsonl", &[("expected-sum", "12.50")], good.clone().into(), "The metadata expected-sum must have the form"),
        ("n.jsonl", count, good.clone().into(), "expected-count is 2, and the file has 1 records. Nothing"),
        ("o.jsonl", sum, good.clone().into(), "expected-sum is 12.49 USD, and the sum of the file is 12.50 USD."),
        ("p.csv", count, csv.clone().into(), "expected-count is 2, and the file has 1 records."),
        (
            "r.csv",
            &[],
            b"id\taccountId\tscheduledTime\r".to_vec(),
            "The first line must name the columns, separated by commas, not by tabs.",
        ),
        ("s.csv", &[], utf_16(&csv), "The file is in UTF-16"),
        ("t.jsonl", &[], utf_16(&good), "The file is in UTF-16"),
        ("u.csv", &[], csv.replace("amount", "ID ").into(), "The header has the column `id` more than once."),
        (
            "v.csv",
            &[],
            csv.replace("accountId", "account Id").into(),
            "The first line must name the columns, separated by commas. Missing: `accountId`. Found: `id`, `account Id`",
        ),
        (
            "w.csv",
            &[],
            csv.replace("amount", "\"amount").into(),
            "The quoted value that starts on line 1 has no closing quote.",
        ),
    ];
    for (file, metadata, content, reason) in cases {
        let failed = import(&stack, file, metadata, content.clone()).await;
        assert_eq!((text(&failed, "status"), numbers(&failed)), ("failed", [0; 4]), "{file}: {failed}");
        assert!(text(&failed, "reason").starts_with(reason), "{file}: {failed}");
        assert_eq!(failed.get("report"), None, "{file}");
        let path = format!("/bank/imports/{}/retry", text(&failed, "importId"));
        assert_problem(&retry(&client, &path).await, 409, "import-rejected");
    }
    assert_eq!(payments(&stack).await, before);
    // A file with the right totals, under the name of one that was rejected.
    let right: &[(&str, &str)] = &[("expected-count", "1"), ("expected-sum", "12.50 USD")];
    let done = import(&stack, "o.jsonl", right, good).await;
    assert_eq!((text(&done, "status"), numbers(&done)), ("done", [1, 1, 0, 0]), "{done}");
    let header = import(&stack, "q.csv", &[("expected-count", "0")], "id,accountId,scheduledTime").await;
    assert_eq!((text(&header, "status"), numbers(&header)), ("done", [0; 4]), "{header}");
    stack.stop().await;
}

fn utf_16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
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
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let forged = format!("X1,VICTIM,{TIME},THIEF,99.00,USD,y");
    // The records with their first lines, and whether they are valid.
    let mut cases: Vec<(String, bool)> = Vec::new();
    for (number, end) in ["\r\n", "\n", "\r", "\n\r\n", "\",\"\n"].into_iter().enumerate() {
        cases.push((record(&format!("L-{number}"), &format!("thanks{end}{forged}{end}bye")), true));
    }
    let repeated = |count: usize| format!("{forged}\r\n").repeat(count);
    cases.push((record("L-fits", &repeated(130)), true));
    // Longer than the maximum, and than several pieces that are read at once.
    cases.push((record("L-long", &repeated(30_000)), false));
    cases.push((format!("L-few,A-1,\"\r\n{forged}\r\n\"\r\n"), false));
    // Notes at the end of each piece.
    cases.extend((0..2_000).map(|number| (record(&format!("M-{number}"), &format!("\n{forged}\n{number}")), true)));
    let (mut line, mut rejected) = (2, Vec::new());
    for (record, is_valid) in &cases {
        if !is_valid {
            rejected.push(json!(line));
        }
        line += record.matches(['\r', '\n']).count() - record.matches("\r\n").count();
    }
    let file = HEADER.to_owned() + &cases.iter().map(|(record, _)| record.as_str()).collect::<String>();
    let metadata: &[(&str, &str)] = &[("expected-count", "2008"), ("expected-sum", "2006.00 USD")];
    let done = import(&stack, "notes.csv", metadata, file).await;
    assert_eq!((text(&done, "status"), numbers(&done)), ("done", [2_008, 2_006, 0, 2]), "{done}");
    assert_eq!(done["lines"], line - 1);
    let notes = notes(&stack).await;
    assert_eq!(notes.len(), 2_006);
    assert!(notes.iter().all(|(account, note)| account == "A-1" && note.contains(&forged)));
    let report = report(&stack, &done);
    let found: Vec<_> = report.iter().filter_map(|row| row.get("line").cloned()).collect();
    assert_eq!(found, rejected, "{report:?}");
    let last = line - 1 - 2_000 * 3 - 3;
    for (row, reason) in report.iter().zip(["The line has more than 16384 bytes.", "The line has 3 values, and"]) {
        assert!(text(row, "reason").starts_with(reason), "{row}");
    }
    assert!(text(&report[0], "reason").ends_with(&format!("The record ends on line {last}.")), "{}", report[0]);
    stack.stop().await;
}

/// After a misplaced quote, values cannot be told from records. Only the records before it are
/// scheduled, and none if the file has control totals.
#[tokio::test]
async fn nothing_after_a_misplaced_quote_is_scheduled() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let forged = format!("X1,VICTIM,{TIME},THIEF,99.00,USD,y");
    let many = format!("M,A-1,{TIME},SHOP,1.00,USD,m\r\n").repeat(3_000);
    for (number, (value, reason)) in [
        (format!("\"thanks\r\n{forged}\r\n"), "The quoted value that starts on line 4 has no closing quote."),
        (format!("\"thanks\r\n{many}{forged}\r\n"), "The quoted value that starts on line 4 has no closing quote."),
        (
            format!("\"thanks\r\n{many}M,A-1,{TIME},SHOP,1.00,USD,\"m\"\r\n{forged}\r\n"),
            "After the closing quote on line 3005, the value that starts on line 4",
        ),
        (format!("\"5\" pipe\r\n{forged}\r\n\""), "After the closing quote on line 4, the value that starts on line 4"),
        (format!(" \"thanks\r\n{forged}\r\n\""), "A value on line 4 has a quote, but does not start with one."),
        (format!("5\" pipe\r\n{forged}\r\n"), "A value on line 4 has a quote, but does not start with one."),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("L-{number}");
        let good = record(&id, "a\nb");
        let file = format!("{HEADER}{good}L-bad,A-1,{TIME},SHOP,1.00,USD,{value}\r\n");
        let failed = import(&stack, &format!("bad-{number}.csv"), &[], file.clone()).await;
        assert_eq!((text(&failed, "status"), numbers(&failed)), ("failed", [1, 1, 0, 0]), "{failed}");
        let found = text(&failed, "reason");
        assert!(found.starts_with(reason) && found.ends_with("Nothing from line 4 on was imported."), "{found}");
        let failed =
            import(&stack, &format!("bad-{number}.csv"), &[("expected-count", "2")], file.replace(&id, "L-new")).await;
        assert_eq!((text(&failed, "status"), numbers(&failed)), ("failed", [0; 4]), "{failed}");
        assert!(text(&failed, "reason").starts_with(reason), "{failed}");
    }
    assert_eq!(notes(&stack).await, [("A-1".to_owned(), "a\nb".to_owned())].into());
    assert_eq!(payments(&stack).await.len(), 6);
    stack.stop().await;
}

#[tokio::test]
async fn every_line_end_is_read_and_blank_records_are_ignored() {
    let stack = stack().stacks(["bank"]).start().await.expect("a stack");
    let csv = |id: &str| {
        format!("id,accountId,scheduledTime,amount,currency\n{id}-1,A-1,{TIME},1,USD\n{id}-2,A-1,{TIME},2,USD\n")
    };
    let json = |id: &str| line(&format!("{id}-1"), "A-1", 1) + &line(&format!("{id}-2"), "A-1", 2);
    let blank_rows = ",,,\n\"\", ,\t,\"\u{a0}\"\n\n,,,,,,\n \n\"\r\n\",,,\n";
    for (name, file) in [
        ("a.csv", csv("a").replace('\n', "\r")),
        ("b.csv", csv("b").replace('\n', "\r\n")),
        ("c.csv", csv("c").replacen('\n', "\r", 2)),
        ("d.csv", csv("d").replacen('\n', "\r", 1).replacen('\n', "\r\n", 1)),
        ("e.jsonl", json("e").replace('\n', "\r")),
        ("f.jsonl", json("f").replacen('\n', "\r", 1)),
        ("g.jsonl", json("g").replace('\n', "\r\n")),
        ("h.csv", csv("h") + blank_rows),
        ("i.csv", blank_rows.to_owned() + &csv("i").replace("1,USD\n", &format!("1,USD\n{blank_rows}"))),
        ("j.csv", csv("j") + &",,,\r".repeat(50_000)),
        ("k.jsonl", format!("\n \r\t\n\u{a0}\n{}\u{feff}\r\n", json("k"))),
    ] {
        let done = import(&stack, name, &[("expected-count", "2")], file).await;
        assert_eq!((text(&done, "status"), numbers(&done)), ("done", [2, 2, 0, 0]), "{name}: {done}");
    }
    stack.stop().await;
}

async fn retry(client: &Client, path: &str) -> Answer {
    send(client.request("POST", path)).await
}

/// The event of the stream for the import.
fn starts(import: &str, run: &str) -> Value {
    let keys = json!({"PK": {"S": format!("IMPORT#{import}")}, "SK": {"S": format!("RUN#{run}")}});
    json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]})
}

/// A proxy in front of S3. It fails all calls from a given one on.
struct S3 {
    url: String,
    state: Arc<Failing>,
    server: tokio::task::JoinHandle<()>,
}

struct Failing {
    target: String,
    http: reqwest::Client,
    calls: AtomicUsize,
    /// Number of the first call that fails, starting at 1.
    from: AtomicUsize,
    /// Whether S3 executes the first call that fails.
    after: AtomicUsize,
}

impl S3 {
    async fn start(target: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let http = http();
        let state = Arc::new(Failing {
            target: target.to_owned(),
            http,
            calls: AtomicUsize::new(0),
            from: AtomicUsize::new(usize::MAX),
            after: AtomicUsize::new(0),
        });
        let router = Router::new().fallback(pass).with_state(Arc::clone(&state));
        let server = tokio::spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { url, state, server }
    }

    fn fail_from(&self, number: usize, moment: Moment) {
        self.state.calls.store(0, Ordering::SeqCst);
        self.state.from.store(number, Ordering::SeqCst);
        self.state.after.store(usize::from(moment == Moment::After), Ordering::SeqCst);
    }

    fn heal(&self) {
        self.fail_from(usize::MAX, Moment::Before);
    }

    fn calls(&self) -> usize {
        self.state.calls.load(Ordering::SeqCst)
    }
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(state): State<Arc<Failing>>, request: Request) -> Response {
    let number = state.calls.fetch_add(1, Ordering::SeqCst) + 1;
    let from = state.from.load(Ordering::SeqCst);
    let failed = || {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    };
    if number > from || number == from && state.after.load(Ordering::SeqCst) == 0 {
        return failed();
    }
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.expect("a body");
    let url = format!("{}{}", state.target, parts.uri);
    let mut headers = parts.headers;
    headers.remove("host");
    let answer = state.http.request(parts.method, url).headers(headers).body(body).send().await.expect("an answer");
    if number == from {
        return failed();
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    response.headers_mut().remove("transfer-encoding");
    let bytes = answer.bytes().await.expect("a body");
    response.map(|_| Body::from(bytes))
}

/// A scene for crashes: a file with new, repeated and rejected lines, imported by a process that
/// reaches DynamoDB and S3 only through proxies.
struct Scene {
    stack: Stack,
    client: Client,
    dynamo: Proxy,
    s3: S3,
}

const METADATA: &[(&str, &str)] = &[("expected-count", "9"), ("expected-sum", "21.23 USD")];

impl Scene {
    async fn start() -> Self {
        let stack = without_jobs().start().await.expect("a stack");
        let client = Client::operator(&stack);
        let dynamo = Proxy::start(stack.dynamo_url()).await;
        let s3 = S3::start(stack.services_url()).await;
        Self { stack, client, dynamo, s3 }
    }

    /// A file whose ids start with `name`. One record was scheduled before, and one record repeats
    /// another. Each valid record has three lines.
    async fn upload(&self, name: &str) -> String {
        let id = |number: u32| format!("{name}-{number}");
        let record = |number: u32, cents: u32| {
            format!(
                "{},A-1,{TIME},{}.{:02},USD,\"a\n{},A-2,{TIME},9.00,USD,\nb\"\n",
                id(number),
                cents / 100,
                cents % 100,
                id(9)
            )
        };
        let new = json!({"scheduledTime": TIME, "data": {
            "amount": "3.03", "currency": "USD", "note": format!("a\n{},A-2,{TIME},9.00,USD,\nb", id(9)),
        }})
        .to_string();
        let request = self.client.request("POST", "/bank/accounts/A-1/payments").header("idempotency-key", id(3));
        let before = send(request.header("content-type", "application/json").body(new)).await;
        assert_eq!(before.status, 201, "{}", before.body);
        let mut file = "id,accountId,scheduledTime,amount,currency,note\n".to_owned();
        file.extend((1..=6).map(|number| record(number, 300 + number)));
        file += &record(1, 301);
        file.extend(["\"nonsense\n", &"x\n".repeat(100_000), "\"\n,,\n"]);
        file += &record(3, 1);
        upload(&self.stack, &format!("inbox/{name}.csv"), METADATA, file).await;
        let path = format!("/bank/imports/{name}");
        let import = until(&self.client, &path, |answer| answer.status == 200).await.body;
        text(&import, "run").to_owned()
    }

    /// Invokes the job until the import has ended, and checks its result.
    async fn finish(&self, process: &Process<'_>, name: &str, run: &str, when: &str) {
        for _ in 0..20 {
            let _ = process.run(&starts(name, run), MINUTE).await;
            let import = self.client.get(&format!("/bank/imports/{name}")).await.body;
            if import["status"] != "running" {
                break;
            }
        }
        let import = self.client.get(&format!("/bank/imports/{name}")).await.body;
        assert_eq!((text(&import, "status"), numbers(&import)), ("done", [9, 5, 2, 2]), "{when}: {import}");
        let totals = [total("scheduled", "15.18"), total("duplicate", "6.04"), total("rejected", "0.01")];
        assert_eq!(import["totals"], json!(totals), "{when}");
        let report = report(&self.stack, &import);
        let found: Vec<_> = report.iter().map(|row| row["line"].as_u64()).collect();
        assert_eq!(found, [Some(23), Some(100_026), None], "{when}: {report:?}");
        let stored = payments(&self.stack).await;
        let own = rows(&self.stack, "PaymentScheduler", "IdempotencyRecord").await;
        let own: BTreeSet<_> = own
            .iter()
            .filter(|row| row["SK"].starts_with(&format!("IDEMPOTENCY#{name}-")))
            .map(|row| row["PaymentId"].clone())
            .collect();
        assert_eq!(own.len(), 6, "{when}");
        let found = stored.iter().filter(|row| own.iter().any(|id| row["SK"].ends_with(id.as_str()))).count();
        assert_eq!(found, 6, "{when}");
    }

    fn process(&self) -> Process<'_> {
        let function = bank::patterns::continue_bank_job::function();
        Process::of(service_at(&self.stack, self.dynamo.url(), &self.s3.url, JOB, &function), &self.dynamo)
    }
}

#[tokio::test]
async fn an_import_that_loses_s3_at_any_call_continues_exactly() {
    let scene = Scene::start().await;
    let process = scene.process();
    let run = scene.upload("healthy").await;
    scene.s3.heal();
    let _ = process.run(&starts("healthy", &run), MINUTE).await;
    let calls = scene.s3.calls();
    scene.finish(&process, "healthy", &run, "healthy").await;
    assert!(calls >= 5, "{calls}");
    for (number, moment) in (1..=calls).flat_map(|number| MOMENTS.map(|moment| (number, moment))) {
        let name = format!("s{number}{moment:?}").to_lowercase();
        let run = scene.upload(&name).await;
        scene.s3.fail_from(number, moment);
        let _ = process.run(&starts(&name, &run), MINUTE).await;
        let status = scene.client.get(&format!("/bank/imports/{name}")).await.body;
        assert_eq!(text(&status, "status"), "running", "{number}: {status}");
        scene.s3.heal();
        scene.finish(&process, &name, &run, &format!("{moment:?} {number}")).await;
    }
}

#[tokio::test]
async fn a_large_report_whose_completion_was_lost_is_complete() {
    let scene = Scene::start().await;
    let process = scene.process();
    let file = "x\n".repeat(160_000);
    let mut calls = 0;
    for name in ["whole", "lost"] {
        upload(&scene.stack, &format!("inbox/{name}.jsonl"), &[], file.clone()).await;
        let path = format!("/bank/imports/{name}");
        let run = until(&scene.client, &path, |answer| answer.status == 200).await.body;
        scene.s3.heal();
        if name == "lost" {
            // The completion of the upload is the last call.
            scene.s3.fail_from(calls, Moment::After);
            let _ = process.run(&starts(name, text(&run, "run")), MINUTE).await;
            assert_eq!(text(&scene.client.get(&path).await.body, "status"), "running");
            scene.s3.heal();
        }
        for _ in 0..20 {
            let _ = process.run(&starts(name, text(&run, "run")), MINUTE).await;
            if text(&scene.client.get(&path).await.body, "status") != "running" {
                break;
            }
        }
        calls = calls.max(scene.s3.calls());
        let import = scene.client.get(&path).await.body;
        assert_eq!((text(&import, "status"), numbers(&import)), ("done", [160_000, 0, 0, 160_000]), "{name}: {import}");
        assert_eq!(report(&scene.stack, &import).len(), 160_001, "{name}");
    }
}

/// A run is delayed during a step that ends early, until its successor has written the same step
/// with more lines.
#[tokio::test]
async fn an_overtaken_run_does_not_replace_rows_of_the_report() {
    let scene = Scene::start().await;
    let content = |name: &str| {
        let lines = (1..=30).map(|number| line(&format!("{name}-{number}"), "A-1", 100)).collect::<String>();
        format!("first\n{lines}last\n")
    };
    let upload = async |name: &str| {
        upload(&scene.stack, &format!("inbox/{name}.jsonl"), &[], content(name)).await;
        let import = until(&scene.client, &format!("/bank/imports/{name}"), |answer| answer.status == 200).await.body;
        text(&import, "run").to_owned()
    };
    let rows_of = async |name: &str| -> Vec<Value> {
        let import = scene.client.get(&format!("/bank/imports/{name}")).await.body;
        assert_eq!((text(&import, "status"), numbers(&import)), ("done", [32, 30, 0, 2]), "{import}");
        report(&scene.stack, &import).iter().map(|row| row["line"].clone()).collect()
    };
    let function = bank::patterns::continue_bank_job::function();
    let (dynamo, s3) = (scene.stack.dynamo_url(), scene.stack.services_url());
    let successor = service_at(&scene.stack, dynamo, &scene.s3.url, JOB, &function);
    let run = upload("whole").await;
    scene.s3.heal();
    let done = successor.call(starts("whole", &run), within(MINUTE)).await;
    assert!(done.answer.is_ok());
    assert_eq!(rows_of("whole").await, [json!(1), json!(32), Value::Null]);
    let calls = scene.s3.calls();

    let run = upload("late").await;
    scene.dynamo.rule(|call| match call.body["Item"]["SK"]["S"].as_str() {
        Some("IDEMPOTENCY#late-8") => Fault::Held,
        Some("IDEMPOTENCY#late-9") => Fault::throttled(),
        _ => Fault::None,
    });
    let overtaken = Process::of(service_at(&scene.stack, scene.dynamo.url(), s3, JOB, &function), &scene.dynamo);
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
    assert_eq!(rows_of("late").await, [json!(1), json!(32), Value::Null]);
    scene.stack.stop().await;
}

/// Payments that a run has scheduled before its object was replaced stay, and so do their counts
/// and the report.
#[tokio::test]
async fn both_runs_of_a_file_that_was_replaced_are_visible() {
    let scene = Scene::start().await;
    let process = scene.process();
    let note = "x".repeat(6_000);
    let line = |number: u32| {
        line(&format!("long-{number}"), "A-9", 100).replace("USD\"", &format!("USD\", \"note\": \"{note}\""))
    };
    let content = (0..150).fold("nonsense\n".to_owned(), |text, number| text + &line(number));
    let path = "/bank/imports/long";
    upload(&scene.stack, "inbox/long.jsonl", &[], content).await;
    let run = text(&until(&scene.client, path, |answer| answer.status == 200).await.body, "run").to_owned();
    // A line is throttled, while those after it are under way.
    scene.dynamo.rule(|call| match call.body["Item"]["SK"]["S"].as_str() {
        Some("IDEMPOTENCY#long-60") => Fault::throttled(),
        _ => Fault::None,
    });
    let _ = process.run(&starts("long", &run), MINUTE).await;
    scene.dynamo.heal();
    let first = scene.client.get(path).await.body;
    assert_eq!((text(&first, "status"), numbers(&first)), ("running", [61, 60, 0, 1]), "{first}");
    upload(&scene.stack, "inbox/long.jsonl", &[], line(1_000)).await;
    let newer = until(&scene.client, path, |answer| answer.body["run"] != run.as_str()).await.body;
    for run in [run.as_str(), text(&newer, "run")] {
        let _ = process.run(&starts("long", run), MINUTE).await;
    }
    let both = scene.client.get(path).await.body;
    let [new, old] = both["runs"].as_array().expect("runs").as_slice() else { panic!("{both}") };
    assert_eq!((text(&both, "status"), numbers(&both)), ("done", [1, 1, 0, 0]), "{both}");
    assert_eq!((&new["run"], numbers(new)), (&both["run"], [1, 1, 0, 0]));
    assert_eq!((text(old, "run"), text(old, "status")), (run.as_str(), "failed"), "{old}");
    assert!(text(old, "reason").starts_with("The object was replaced"), "{old}");
    assert!([new, old].iter().all(|run| run["startedAt"].is_string()), "{both}");
    let stored = payments(&scene.stack).await.iter().filter(|row| row["PK"] == "A-9").count();
    let scheduled: u64 = [new, old].iter().filter_map(|run| run["scheduled"].as_u64()).sum();
    assert_eq!(u64::try_from(stored).ok(), Some(scheduled), "{both}");
    let [read, scheduled, _, rejected] = numbers(old);
    assert!(scheduled > 60 && (read, rejected) == (scheduled + 1, 1), "payments after the position count: {old}");
    let rows = report(&scene.stack, old);
    assert_eq!((&rows[0]["line"], &rows[1]["scheduled"]), (&json!(1), &old["scheduled"]), "{rows:?}");
    assert_eq!(rows[1]["reason"], old["reason"]);
    let alone = scene.client.get(&format!("{path}?run={run}")).await.body;
    assert_eq!((&alone["report"], alone["runs"].as_array().map(Vec::len)), (&old["report"], Some(1)), "{alone}");
    scene.stack.stop().await;
}

#[tokio::test]
async fn a_failed_import_continues_after_a_retry() {
    let scene = Scene::start().await;
    let process = scene.process();
    let run = scene.upload("retried").await;
    assert_problem(&retry(&scene.client, "/bank/imports/retried/retry").await, 409, "job-not-failed");
    scene.dynamo.heal();
    // A call that DynamoDB rejects is a defect, after which the job does not continue.
    let rejected = json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "injected"});
    scene.dynamo.rule(move |call| {
        let is_payment = call.action == "PutItem" && call.nth >= 4;
        if is_payment { Fault::Refused(StatusCode::BAD_REQUEST, rejected.clone()) } else { Fault::None }
    });
    let _ = process.run(&starts("retried", &run), MINUTE).await;
    scene.dynamo.heal();
    let failed = scene.client.get("/bank/imports/retried").await.body;
    assert_eq!((text(&failed, "status"), failed["reason"].is_string()), ("failed", true), "{failed}");
    let retried = retry(&scene.client, "/bank/imports/retried/retry").await;
    assert_eq!(
        (retried.status, &retried.headers["location"]),
        (202, &"/bank/imports/retried".parse().expect("a path"))
    );
    assert_eq!(text(&retried.body, "status"), "running", "{}", retried.body);
    scene.finish(&process, "retried", &run, "retried").await;
}
