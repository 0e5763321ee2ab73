//! Tests that invalid requests to the bank return the right problem and write nothing. Also tests
//! unusual but valid requests.

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use system_tests::{
    Client, bank,
    bank::{schedule, stored},
    requests::{Case, SECRET, all_are_refused, sent, shortened},
    send, stack,
};

const PAYMENTS: &str = "/bank/accounts/A-1/payments";
const GOOD: &str = r#"{"scheduledTime": "2099-12-01T09:30:00Z", "data": 1}"#;

fn bodies(client: &Client) -> Vec<Case> {
    let rows: &[(&str, &str)] = &[
        ("", "/body"),
        (" ", "/body"),
        ("{", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1}}", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1,}", "/body"),
        ("{'scheduledTime': '2099-12-01T09:30:00Z', 'data': 1}", "/body"),
        ("\u{feff}{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1}", "/body"),
        ("[]", "/body"),
        ("[{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1}]", "/body"),
        ("null", "/body"),
        ("\"text\"", "/body"),
        ("5", "/body"),
        ("true", "/body"),
        ("scheduledTime=2099-12-01T09:30:00Z&data=1", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 01}", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": NaN}", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": \"a\u{0}b\"}", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": \"a\nb\"}", "/body"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"\\ud800\": 1}", "/body"),
        ("{}", "/body/scheduledTime /body/data"),
        ("{\"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\"}", "/body/data"),
        ("{\"scheduledTime\": null, \"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": 4099680000, \"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": [\"2099-12-01T09:30:00Z\"], \"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": {}, \"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\\u0000\", \"data\": 1}", "/body/scheduledTime"),
        ("{\"scheduledTime\": \"\\ud800\", \"data\": 1}", "/body/scheduledTime"),
        ("{\"ScheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1}", "/body/scheduledTime /body/ScheduledTime"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"status\": \"PROCESSED\"}", "/body/status"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"accountId\": \"A-2\"}", "/body/accountId"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"a/b~c\": 1}", "/body/a~1b~0c"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"PK\": 1, \"SK\": 2}", "/body/PK /body/SK"),
        ("{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": 1, \"data\": 2}", "/body/data"),
        ("{\"data\": 1, \"scheduledTime\": \"2099-12-01T09:30:00Z\", \"scheduledTime\": 5}", "/body/scheduledTime"),
    ];
    let case = |(body, at): &(&str, &str)| {
        Case::faults(format!("POST {}", shortened(body)), sent(client, "POST", PAYMENTS, (*body).to_owned()), at)
    };
    rows.iter().map(case).collect()
}

fn times(client: &Client) -> Vec<Case> {
    let times = [
        "",
        "tomorrow",
        "2099-12-01",
        "2099-12-01T09:30Z",
        "2099-12-01T09:30:00",
        "2099-12-01 09:30:00Z",
        "2099-12-01T09:30:00 Z",
        " 2099-12-01T09:30:00Z",
        "20991201T093000Z",
        "2099-02-29T09:30:00Z",
        "2099-02-30T09:30:00Z",
        "2099-04-31T09:30:00Z",
        "2099-13-01T09:30:00Z",
        "2099-00-01T09:30:00Z",
        "2099-12-00T09:30:00Z",
        "2099-12-32T09:30:00Z",
        "2099-12-01T24:00:00Z",
        "2099-12-01T09:60:00Z",
        "2099-12-01T09:30:61Z",
        "2099-12-01T09:30:00+24:00",
        "2099-12-01T09:30:00-25:59",
        "2099-12-01T09:30:00+12:60",
        "2099-12-01T09:30:00+99:99",
        "2099-12-01T09:30:00+0200",
        "2099-12-01T09:30:00Z[UTC]",
        "2099-12-01T09:30:00,5Z",
        "2099-12-01T09:30:00.Z",
        "2099-12-01T09:30:60Z",
        "2099-12-01T23:59:60+01:00",
        "10000-01-01T00:00:00Z",
        "-000001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00+12:00",
        "2000-01-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
    ];
    let case = |time: &str| {
        let body = json!({"scheduledTime": time, "data": 1}).to_string();
        Case::faults(format!("scheduled at {time:?}"), sent(client, "POST", PAYMENTS, body), "/body/scheduledTime")
    };
    times.into_iter().map(case).collect()
}

/// Instructions to the ledger that it cannot pay. Data without `creditAccountId` is none.
fn instructions(client: &Client) -> Vec<Case> {
    let rows = [
        (r#"{"creditAccountId": "B", "amount": "12,50", "currency": "USD"}"#, "amount"),
        (r#"{"creditAccountId": "B", "amount": 0, "currency": "USD"}"#, "amount"),
        (r#"{"creditAccountId": "B", "amount": 7.5, "currency": "JPY"}"#, "amount"),
        (r#"{"creditAccountId": "B", "currency": "USD"}"#, "amount"),
        (r#"{"creditAccountId": "B", "amount": "5.00"}"#, "currency"),
        (r#"{"creditAccountId": "B", "amount": "5.00", "currency": "usd"}"#, "currency"),
        (r#"{"creditAccountId": "", "amount": "5.00", "currency": "USD"}"#, "creditAccountId"),
        (r#"{"creditAccountId": 7, "amount": "5.00", "currency": "USD"}"#, "creditAccountId"),
        (r#"{"creditAccountId": "A-1", "amount": "5.00", "currency": "USD"}"#, "creditAccountId"),
        (r#"{"creditAccountId": "B", "debitAccountId": "", "amount": "5.00", "currency": "USD"}"#, "debitAccountId"),
    ];
    let case = |(data, member): (&str, &str)| {
        let body = format!("{{\"scheduledTime\": \"2099-12-01T09:30:00Z\", \"data\": {data}}}");
        Case::faults(format!("data {data}"), sent(client, "POST", PAYMENTS, body), &format!("/body/data/{member}"))
    };
    rows.into_iter().map(case).collect()
}

fn contents(client: &Client) -> Vec<Case> {
    let typed = |kind: &str| client.request("POST", PAYMENTS).header("content-type", kind).body(GOOD);
    let untyped = client.request("POST", PAYMENTS).body(GOOD);
    let mut not_utf8 = GOOD.as_bytes().to_vec();
    not_utf8.splice(30..30, [0xff, 0xfe]);
    let data_of =
        |bytes: usize| json!({"scheduledTime": "2099-12-01T09:30:00Z", "data": "x".repeat(bytes)}).to_string();
    let empty = client.request("POST", PAYMENTS).header("content-type", "application/json");
    vec![
        Case::faults("no body", empty, "/body"),
        Case::faults("no body, no type", client.request("POST", PAYMENTS), "/body"),
        Case::new("no content type", untyped, 415, "unsupported-media-type"),
        Case::new("text/plain", typed("text/plain"), 415, "unsupported-media-type"),
        Case::new("form", typed("application/x-www-form-urlencoded"), 415, "unsupported-media-type"),
        Case::new("xml", typed("application/xml"), 415, "unsupported-media-type"),
        Case::new("nearly JSON", typed("application/jsonp"), 415, "unsupported-media-type"),
        Case::new("text/json", typed("text/json"), 415, "unsupported-media-type"),
        Case::new("multipart", typed("multipart/form-data; boundary=json"), 415, "unsupported-media-type"),
        Case::faults("not UTF-8", sent(client, "POST", PAYMENTS, not_utf8), "/body"),
        Case::faults("binary", sent(client, "POST", PAYMENTS, vec![0_u8; 100]), "/body"),
        Case::new("an item over 8 KB", sent(client, "POST", PAYMENTS, data_of(8 * 1024)), 413, "too-large"),
        Case::new("1 MB", sent(client, "POST", PAYMENTS, data_of(1024 * 1024)), 413, "too-large"),
        Case::new("1 MB of spaces", sent(client, "POST", PAYMENTS, " ".repeat(1024 * 1024)), 413, "too-large"),
        Case::gateway("over 10 MB", sent(client, "POST", PAYMENTS, data_of(10 * 1024 * 1024)), 413),
    ]
}

fn identifiers(client: &Client) -> Vec<Case> {
    let texts: Vec<String> =
        ["%23", "A%231", "%00", "A%0A1", "A%0D", "A%09", "A%7F", "A%C2%80", "A%C2%85", "%C2%9F", "%1B"]
            .into_iter()
            .map(str::to_owned)
            .chain([129, 10_000].map(|length| "x".repeat(length)))
            .chain(["%E2%82%AC".repeat(129)])
            .collect();
    let (post, move_) = (GOOD.to_owned(), json!({"status": "PENDING"}).to_string());
    let id = "20991201T093000Z-01a1fc5e473c78b1a1bb5371724e7a94";
    texts
        .iter()
        .flat_map(|text| {
            let payments = format!("/bank/accounts/{text}/payments");
            let requests = [
                (sent(client, "POST", &payments, post.clone()), "/path/accountId"),
                (client.request("GET", &payments), "/path/accountId"),
                (client.request("GET", &format!("/bank/accounts/{text}/transactions")), "/path/accountId"),
                (client.request("GET", &format!("{payments}/{id}")), "/path/accountId"),
                (
                    client
                        .request("PATCH", &format!("{payments}/{id}"))
                        .header("content-type", "application/json")
                        .body(move_.clone()),
                    "/path/accountId",
                ),
                (client.request("GET", &format!("/bank/transactions/{text}")), "/path/transactionId"),
                (client.request("GET", &format!("{PAYMENTS}/{text}")), "/path/paymentId"),
            ];
            let name = shortened(text);
            requests.map(|(request, at)| Case::faults(format!("id {name} at {at}"), request, at))
        })
        .collect()
}

fn payment_ids(client: &Client) -> Vec<Case> {
    let unique = "01a1fc5e473c78b1a1bb5371724e7a94";
    let ids = [
        "x".to_owned(),
        unique.to_owned(),
        format!("20991201T093000Z-{}", unique.to_uppercase()),
        format!("20991201T093000-{unique}"),
        format!("2099-12-01T09:30:00Z-{unique}"),
        format!("2099-12-01T09:30:00Z%23{unique}"),
        format!("20991301T093000Z-{unique}"),
        format!("20990229T093000Z-{unique}"),
        format!("20991201T243000Z-{unique}"),
        format!("20991201T093000Z-{unique}0"),
        format!("20991201T093000Z-{}", &unique[1..]),
        "20991201T093000Z-01a1fc5e-473c-78b1-a1bb-5371724e7a94".to_owned(),
        format!("%2020991201T093000Z-{unique}"),
        format!("020991201T093000Z-{unique}"),
        "IDEMPOTENCY%23key".to_owned(),
    ];
    let case = |id: &String| {
        Case::faults(format!("payment {id}"), client.request("GET", &format!("{PAYMENTS}/{id}")), "/path/paymentId")
    };
    ids.iter().map(case).collect()
}

fn queries(client: &Client) -> Vec<Case> {
    const LISTS: [&str; 4] = [PAYMENTS, "/bank/payments/due", "/bank/accounts/A-1/transactions", "/bank/transactions"];
    let everywhere: &[(&str, &str)] = &[
        ("limit=0", "/query/limit"),
        ("limit=-1", "/query/limit"),
        ("limit=101", "/query/limit"),
        ("limit=x", "/query/limit"),
        ("limit=1.5", "/query/limit"),
        ("limit=%2B5", "/query/limit"),
        ("limit=+5", "/query/limit"),
        ("limit=", "/query/limit"),
        ("limit", "/query/limit"),
        ("limit=18446744073709551617", "/query/limit"),
        ("limit=%EF%BC%95", "/query/limit"),
        ("limit=5&limit=6", "/query/limit"),
        ("cursor=", "/query/cursor"),
        ("cursor=x", "/query/cursor"),
        ("cursor=%23", "/query/cursor"),
        ("cursor=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "/query/cursor"),
        ("status=", "/query/status"),
        ("status=scheduled", "/query/status"),
        ("status=DONE", "/query/status"),
        ("status=SCHEDULED%23", "/query/status"),
        ("status=SCHEDULED&status=PENDING", "/query/status"),
        ("status=SCHEDULED,PENDING", "/query/status"),
        ("Limit=5", "/query/Limit"),
        ("page=2", "/query/page"),
        ("a%2Fb=1", "/query/a~1b"),
        ("limit=0&status=x&page=2", "/query/limit /query/status /query/page"),
    ];
    let of_date = [
        ("date=", "/query/date"),
        ("date=today", "/query/date"),
        ("date=2099-02-29", "/query/date"),
        ("date=2099-02-30", "/query/date"),
        ("date=2099-13-01", "/query/date"),
        ("date=2099-1-1", "/query/date"),
        ("date=20991201", "/query/date"),
        ("date=2099-12-01T00:00:00Z", "/query/date"),
        ("date=2099-12", "/query/date"),
        ("date=10000-01-01", "/query/date"),
        ("date=2099-12-01%23", "/query/date"),
        ("date=2099-12-01&date=2099-12-02", "/query/date"),
        ("from=2099-12-01T00:00:00Z", "/query/from"),
    ];
    let of_account = [
        ("from=", "/query/from"),
        ("from=2099-12-1", "/query/from"),
        ("from=2099-12-01T00:00:00", "/query/from"),
        ("from=2099-12-02&to=2099-12-01", "/query/to"),
        ("from=x&to=y", "/query/from /query/to"),
        ("to=2099-02-30T00:00:00Z", "/query/to"),
        ("to=2099-12-01T25:00:00Z", "/query/to"),
        ("to=2099-12-01T00:00:00%2B24:00", "/query/to"),
        ("to=2099-12-01T00:00:00+02:00", "/query/to"),
        ("from=2099-12-01T00:00:01Z&to=2099-12-01T00:00:00Z", "/query/to"),
        ("from=2099-12-01T00:00:00.9Z&to=2099-12-01T00:00:00.1Z", "/query/to"),
        ("from=2099-12-01T00:00:00Z&from=2099-12-01T00:00:00Z", "/query/from"),
        ("date=2099-12-01", "/query/date"),
    ];
    let case = |list: &str, (query, at): &(&str, &str)| {
        Case::faults(format!("GET {list}?{query}"), client.request("GET", &format!("{list}?{query}")), at)
    };
    let mut cases: Vec<Case> = LISTS.iter().flat_map(|list| everywhere.iter().map(|row| case(list, row))).collect();
    cases.extend([LISTS[1], LISTS[3]].iter().flat_map(|list| of_date.iter().map(|row| case(list, row))));
    cases.extend([LISTS[0], LISTS[2]].iter().flat_map(|list| of_account.iter().map(|row| case(list, row))));
    cases
}

fn moves(client: &Client, payment: &Value) -> Vec<Case> {
    let path = bank::path(payment);
    let unknown = format!("{PAYMENTS}/20991201T093000Z-01a1fc5e473c78b1a1bb5371724e7a94");
    let rows = [
        (json!({}), 400, "/body/status"),
        (json!({"status": null}), 400, "/body/status"),
        (json!({"status": 5}), 400, "/body/status"),
        (json!({"status": ["PENDING"]}), 400, "/body/status"),
        (json!({"status": "pending"}), 400, "/body/status"),
        (json!({"status": "DONE"}), 400, "/body/status"),
        (json!({"status": ""}), 400, "/body/status"),
        (json!({"status": "PENDING", "transactionId": "T-1"}), 400, "/body/transactionId"),
        (json!({"status": "FAILED", "transactionId": "T-1"}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED"}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": null}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": ""}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": "T#1"}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": "T\u{0}1"}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": "T\u{85}1"}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": "x".repeat(129)}), 400, "/body/transactionId"),
        (json!({"status": "PROCESSED", "transactionId": 7}), 400, "/body/transactionId"),
        (json!({"status": "PENDING", "expectedStatus": "scheduled"}), 400, "/body/expectedStatus"),
        (json!({"status": "PENDING", "expectedStatus": null}), 400, "/body/expectedStatus"),
        (json!({"status": "PENDING", "expectedStatus": true}), 400, "/body/expectedStatus"),
        (json!({"status": "PENDING", "data": 1}), 400, "/body/data"),
        (json!({"status": "PENDING", "scheduledTime": "2099-12-02T00:00:00Z"}), 400, "/body/scheduledTime"),
        (json!({"status": "x", "expectedStatus": "y", "z": 1}), 400, "/body/status /body/expectedStatus /body/z"),
        (json!({"status": "x", "transactionId": "#"}), 400, "/body/status /body/transactionId"),
        (json!({"status": "SCHEDULED"}), 409, "status-conflict"),
        (json!({"status": "FAILED"}), 409, "status-conflict"),
        (json!({"status": "PROCESSED", "transactionId": "T-1"}), 409, "status-conflict"),
        (json!({"status": "PENDING", "expectedStatus": "PENDING"}), 409, "status-conflict"),
        (json!({"status": "PENDING", "expectedStatus": "CANCELLED"}), 409, "status-conflict"),
    ];
    let case = |(body, status, right): (Value, u16, &str)| {
        let name = format!("PATCH {}", shortened(&body.to_string()));
        Case::new(name, client.request("PATCH", &path).json(&body), status, right)
    };
    let mut cases: Vec<Case> = rows.into_iter().map(case).collect();
    for body in [
        json!({"status": "PENDING"}),
        json!({"status": "CANCELLED"}),
        json!({"status": "PROCESSED", "transactionId": "T-9"}),
    ] {
        let request = client.request("PATCH", &unknown).json(&body);
        cases.push(Case::new(format!("PATCH of an unknown payment {body}"), request, 404, "not-found"));
    }
    let (get, found) = (client.request("GET", &unknown), client.request("GET", "/bank/transactions/T-9"));
    cases.push(Case::new("GET of an unknown payment", get, 404, "not-found"));
    cases.push(Case::new("GET of an unknown transaction", found, 404, "not-found"));
    cases
}

fn days(client: &Client, payment: &Value) -> Vec<Case> {
    const DAYS: [&str; 8] =
        ["today", "2099-02-29", "2099-13-01", "2099-1-1", "20991201", "2099-12-01T00:00:00Z", "10000-01-01", "%00"];
    let mut cases = Vec::new();
    for day in DAYS {
        for (method, path) in [("GET", format!("/bank/days/{day}")), ("POST", format!("/bank/days/{day}/close"))] {
            cases.push(Case::faults(format!("{method} {path}"), client.request(method, &path), "/path/date"));
        }
    }
    for day in ["2099-12-01", "9999-12-31"] {
        let path = format!("/bank/days/{day}/close");
        cases.push(Case::faults(format!("POST {path}"), client.request("POST", &path), "/path/date"));
    }
    let (key, close) = ("x".repeat(129), "/bank/days/2020-01-01/close");
    let bad_key = client.request("POST", close).header("idempotency-key", key);
    cases.push(Case::faults("close with a long key", bad_key, "/header/idempotency-key"));
    for (query, at) in [
        ("date=2099-12-01", "/query/date"),
        ("status=PENDING", "/query/status"),
        ("limit=0", "/query/limit"),
        ("cursor=x", "/query/cursor"),
    ] {
        let path = format!("/bank/payments/overdue?{query}");
        cases.push(Case::faults(format!("GET {path}"), client.request("GET", &path), at));
    }
    let retry = format!("{}/retry", bank::path(payment));
    cases.push(Case::new("retry of a scheduled payment", client.request("POST", &retry), 409, "status-conflict"));
    let unknown = format!("{PAYMENTS}/20991201T093000Z-01a1fc5e473c78b1a1bb5371724e7a94/retry");
    cases.push(Case::new("retry of an unknown payment", client.request("POST", &unknown), 404, "not-found"));
    let no_id = format!("{PAYMENTS}/rent/retry");
    cases.push(Case::faults("retry of no payment id", client.request("POST", &no_id), "/path/paymentId"));
    cases
}

fn headers(client: &Client) -> Vec<Case> {
    let keys = ["", "a#b", "#", &"x".repeat(129), "a\tb", "a,a", "a, a", ".."].map(str::to_owned);
    let case = |key: &String| {
        let request = sent(client, "POST", PAYMENTS, GOOD).header("idempotency-key", key);
        Case::faults(format!("Idempotency-Key {:?}", shortened(key)), request, "/header/idempotency-key")
    };
    keys.iter().map(case).collect()
}

fn together(client: &Client) -> Vec<Case> {
    let body = r##"{"scheduledTime": "soon", "transactionId": "#", "data": 1, "data": 2}"##;
    let post = sent(client, "POST", "/bank/accounts/A%231/payments", body).header("idempotency-key", "a#b");
    let at = "/header/idempotency-key /path/accountId /body/scheduledTime /body/data /body/transactionId";
    let patch =
        client.request("PATCH", "/bank/accounts/%00/payments/x").json(&json!({"status": "PROCESSED", "more": 1}));
    let late = sent(client, "POST", PAYMENTS, r#"{"scheduledTime": "2000-01-01T00:00:00Z", "data": 1}"#);
    vec![
        Case::faults("five faults of a POST", post, at),
        Case::faults("four faults of a PATCH", patch, "/path/accountId /path/paymentId /body/transactionId /body/more"),
        Case::faults("a past day with a key", late.header("idempotency-key", "late"), "/body/scheduledTime"),
        Case::faults(
            "an invalid account and an unreadable body",
            sent(client, "POST", "/bank/accounts/A%231/payments", "{"),
            "/path/accountId /body",
        ),
    ]
}

fn gateway(client: &Client) -> Vec<Case> {
    let long = format!("/bank/accounts/{}/payments", "x".repeat(10_300));
    let rows = [
        ("GET", "/bank/accounts//payments", 404),
        ("POST", "/bank/accounts//payments", 404),
        ("GET", "/bank/accounts/A-1/payments/", 404),
        ("GET", "/bank/transactions/", 404),
        ("GET", "/bank", 404),
        ("PUT", PAYMENTS, 405),
        ("DELETE", PAYMENTS, 405),
        ("GET", long.as_str(), 431),
    ];
    let case = |(method, path, status)| {
        Case::gateway(format!("{method} {}", shortened(path)), client.request(method, path), status)
    };
    rows.into_iter().map(case).collect()
}

#[tokio::test]
async fn invalid_request_returns_the_expected_problem_and_writes_nothing() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let payment = schedule(&client, "A-1", "2099-12-01T09:30:00Z").await;
    schedule(&client, SECRET, "2099-12-01T09:30:00Z").await;
    let groups: [fn(&Client) -> Vec<Case>; 10] =
        [bodies, times, instructions, contents, identifiers, payment_ids, queries, headers, together, gateway];
    let cases = groups.iter().flat_map(|cases| cases(&client)).chain(moves(&client, &payment));
    let cases: Vec<Case> = cases.chain(days(&client, &payment)).collect();
    assert!(cases.len() >= 60, "{}", cases.len());
    all_are_refused(cases, &stack.tables(), async || stored(&stack).await).await;
    stack.stop().await;
}

async fn raw(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.expect("an answer");
    (response.status().as_u16(), response.text().await.expect("a text"))
}

#[tokio::test]
async fn returns_portable_json_data_unchanged() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let deep = format!("{}1{}", "[".repeat(32), "]".repeat(32));
    let data = [
        "null",
        "false",
        "\"\"",
        "[]",
        "{}",
        "12345678901234567890123456789012345678",
        "-0.12345678901234567890123456789012345678",
        "1e308",
        "1.50",
        "-0",
        "{\"b\": 1, \"a\":  2, \"B\": 3}",
        "\"a\\u0000b\"",
        "\"\\/\\u00e9é💶\"",
        "\"{{#PK}} '; -- $(x)\"",
        deep.as_str(),
    ];
    for (second, data) in data.iter().enumerate() {
        let body = format!("{{\"data\": {data}, \"scheduledTime\": \"2099-12-01T00:00:{second:02}Z\"}}");
        let (status, created) = raw(sent(&client, "POST", PAYMENTS, body)).await;
        assert_eq!(status, 201, "{data}: {created}");
        assert!(created.contains(&format!("\"data\":{data},")), "{data} became {created}");
        let list = "2099-12-01T00:00:";
        let list = format!("{PAYMENTS}?from={list}{second:02}Z&to={list}{second:02}Z");
        assert_eq!(raw(client.request("GET", &list)).await, (200, format!("{{\"items\":[{created}]}}")));
    }
    stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_but_valid_requests() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let accounts = [("a%2523b", "a%23b"), ("%2F", "/"), ("a+b", "a+b"), ("%C3%A4%F0%9F%92%B6", "ä💶"), ("due", "due")];
    let longest = "x".repeat(128);
    for (path, account) in accounts.into_iter().chain([(longest.as_str(), longest.as_str())]) {
        let payments = format!("/bank/accounts/{path}/payments");
        let created = send(sent(&client, "POST", &payments, GOOD)).await;
        assert_eq!((created.status, &created.body["accountId"]), (201, &json!(account)), "{}", created.body);
        let location = created.headers["location"].to_str().expect("ASCII");
        assert_eq!(client.get(location).await.body, created.body);
        let list = client.get(&format!("{payments}?from=2099-12-01T00:00:00Z&to=2099-12-02T00:00:00Z")).await;
        assert_eq!(list.body["items"], json!([created.body]));
    }
    for kind in
        ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json", "application/json;"]
    {
        let taken = send(client.request("POST", PAYMENTS).header("content-type", kind).body(GOOD)).await;
        assert_eq!(taken.status, 201, "{kind}: {}", taken.body);
    }
    stack.stop().await;
}
