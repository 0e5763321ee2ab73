//! An item that cannot be read, one of each type, against every access pattern
//! ([decision](../../../../docs/decisions/ledger-unreadable-items.md)). Lists skip it, reads by id
//! fail, and a reconciliation reports it and completes.

use aws_sdk_dynamodb::types::AttributeValue;
use ledger::patterns;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Answer, Client, assert_problem,
    ledger::audit::{DAY, RECONCILIATIONS, Rows, Shelf, account_key, at, header_key, leg_id, leg_key, reconciled},
    ledger::totals::{COUNT, insertions},
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, MERCHANTS, TRANSACTIONS, batch, hold, id, payment},
    stack, until,
};

/// A ledger with an item of each type. Transaction T3 reverses T2.
struct Scene {
    books: Books,
    rows: Rows,
    merchant: String,
    /// A transaction that was posted with the idempotency key `K`.
    keyed: String,
    /// An open hold of account B.
    hold: String,
    /// A completed reconciliation with a finding.
    reconciliation: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::of(stack().start().await.expect("a stack")).await;
        let rows = Rows::of(&books.stack);
        let mut shelf = Shelf::default();
        shelf.post("T0", 0, &[("O", -20_000), ("A", 10_000), ("B", 10_000)]);
        shelf.post("T1", DAY, &[("A", -500), ("B", 500)]);
        shelf.post("T2", DAY + 1, &[("A", -100), ("B", 100)]);
        shelf.post("T3", DAY + 2, &[("B", -100), ("A", 100)]);
        shelf.post("T4", DAY + 3, &[("B", -300), ("A", 300)]);
        shelf.open_grouped("M");
        shelf.post("T5", DAY + 4, &[("B", -200), ("M", 200)]);
        shelf.settle("M", DAY + 5);
        shelf.amend("T3", json!({"ReversesID": {"S": "T2"}, "TransactionType": {"S": "reversal"}}));
        shelf.put(&rows).await;
        let mut marker = header_key("T2");
        let attributes = json!({
            "SK": {"S": "REVERSAL#01"}, "Type": {"S": "Reversal"}, "ReversalID": {"S": "T3"},
            "Amount": {"N": "1"}, "ReversedAmount": {"N": "1"},
            "CreatedAt": {"S": at(DAY + 2)}, "Request": {"S": "x"},
        });
        marker.as_object_mut().expect("a key").extend(attributes.as_object().expect("an item").clone());
        rows.put(&[marker.to_string()]).await;
        let merchant = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
        let merchant = id(&books.operator.post_once(MERCHANTS, "M", &merchant).await, "merchantId");
        let keyed = books.operator.post_once(TRANSACTIONS, "K", &payment("A", "B", "1.00")).await;
        let keyed = id(&keyed, "transactionId");
        let hold = id(&books.hold("H", "B", "O", "2.00").await, "holdId");
        let window = json!({"from": at(0), "to": at(1)});
        let started = books.operator.post_once(RECONCILIATIONS, "J", &window).await;
        let reconciliation = started.body["reconciliationId"].as_str().expect("an id").to_owned();
        let path = format!("{RECONCILIATIONS}/{reconciliation}");
        until(&books.operator, &path, |answer| answer.body["status"] == "done").await;
        let scene = Self { books, rows, merchant, keyed, hold, reconciliation };
        scene.put_finding().await;
        scene
    }

    fn job_key(&self) -> String {
        format!("RECONCILIATION#{}", self.reconciliation)
    }

    async fn put_finding(&self) {
        let client = self.books.stack.client().expect("a client");
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let put = client.put_item().table_name(self.books.stack.table("LedgerJobs").expect("a table"));
        let put = put.item("PK", text(&self.job_key())).item("SK", text("FINDING#ACCOUNT#A"));
        let put = put.item("Type", text("Finding")).item("Step", AttributeValue::N("1".to_owned()));
        let put = put.item("Kind", text("wrong-balance")).item("AccountID", text("A"));
        put.item("Actual", text("1.00")).send().await.expect("written");
    }

    /// Sets a string attribute of an item in the job table.
    async fn set_in_jobs(&self, sort: &str, attribute: &str) {
        let update = self.books.stack.client().expect("a client").update_item();
        let update = update.table_name(self.books.stack.table("LedgerJobs").expect("a table"));
        let update = update.key("PK", AttributeValue::S(self.job_key())).key("SK", AttributeValue::S(sort.to_owned()));
        let update = update.update_expression("SET #a = :v").expression_attribute_names("#a", attribute);
        let update = update.expression_attribute_values(":v", AttributeValue::S("nonsense".to_owned()));
        update.send().await.expect("written");
    }

    /// Makes the only item of this kind unreadable.
    async fn spoil(&self, kind: &str) {
        let sort = |mut key: Value, sort: &str| {
            key["SK"]["S"] = sort.into();
            key
        };
        let merchant = json!({"PK": {"S": format!("MERCHANT#{}", self.merchant)}, "SK": {"S": "METADATA"}});
        let key = match kind {
            "nothing" => return,
            "account" => account_key("A"),
            "leg" => leg_key("T1", 1),
            "last leg" => leg_key(&self.keyed, 1),
            "header" => header_key("T1"),
            "idempotency record" => header_key(&self.keyed),
            "reversal" => sort(header_key("T2"), "REVERSAL#01"),
            "merchant" => merchant,
            "posting" => sort(header_key("T5"), &format!("POSTING#{}", leg_id("T5", 2))),
            "inbox item" => return self.rows.put(&[inbox_item().to_string()]).await,
            "hold" => json!({"PK": {"S": format!("HOLD#{}", self.hold)}, "SK": {"S": "METADATA"}}),
            "job" => return self.set_in_jobs("METADATA", "StartedAt").await,
            "task" => return self.set_in_jobs("METADATA", "Task").await,
            "progress" => return self.set_in_jobs("METADATA", "Progress").await,
            "finding" => return self.set_in_jobs("FINDING#ACCOUNT#A", "Step").await,
            other => unreachable!("{other}"),
        };
        self.rows.set(&key, json!({"CreatedAt": {"S": "nonsense"}})).await;
    }

    /// Calls every access pattern. Returns a summary of each response by pattern and request.
    async fn readers(&self) -> BTreeMap<&'static str, String> {
        let (client, job) = (&self.books.operator, format!("{RECONCILIATIONS}/{}", self.reconciliation));
        let merchant = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
        let terms = json!({"userId": "ann", "accountType": "checking", "currency": "USD"});
        let mut with_merchant = payment("B", "O", "1.00");
        with_merchant["merchantId"] = self.merchant.as_str().into();
        let window = json!({"from": at(0), "to": at(1)});
        let since = format!("{TRANSACTIONS}?since={}&until={}", at(0), at(2 * DAY));
        let account = format!("{ACCOUNTS}/A");
        let mut told = BTreeMap::new();
        let mut tell = |reader, answer: Answer| told.insert(reader, summary(&answer));
        tell("get-account", client.get(&account).await);
        tell("list-user-accounts", client.get("/ledger/users/someone/accounts").await);
        tell("get-statement", client.get(&format!("{account}/statement")).await);
        tell("get-balance", client.get(&format!("{account}/balance")).await);
        tell("get-balance, at", client.get(&format!("{account}/balance?at={}", at(DAY))).await);
        tell("get-transaction", client.get(&format!("{TRANSACTIONS}/T1")).await);
        tell("get-transaction, reversed", client.get(&format!("{TRANSACTIONS}/T2")).await);
        tell("list-transactions", client.get(&since).await);
        tell("list-transactions, idempotencyKey", client.get(&format!("{TRANSACTIONS}?idempotencyKey=K")).await);
        tell("list-merchants", client.get(MERCHANTS).await);
        let of_merchant = format!("{MERCHANTS}/{}/totals?from=2020-01-01&to=2020-01-02", self.merchant);
        tell("get-totals", client.get(&of_merchant).await);
        tell("get-trial-balance", client.get("/ledger/trial-balance?date=2020-01-02").await);
        tell("get-merchant", client.get(&format!("{MERCHANTS}/{}", self.merchant)).await);
        tell("create-merchant", client.post_once(MERCHANTS, "M", &merchant).await);
        tell("create-account", client.post(ACCOUNTS, &terms).await);
        tell("get-reconciliation", client.get(&job).await);
        tell("retry-reconciliation", client.post(&format!("{job}/retry"), &json!({})).await);
        tell("start-reconciliation", client.post_once(RECONCILIATIONS, "J", &window).await);
        let grouped = format!("{ACCOUNTS}/M");
        tell("get-account, grouped", client.get(&grouped).await);
        tell("get-statement, grouped", client.get(&format!("{grouped}/statement")).await);
        tell("get-transaction, grouped", client.get(&format!("{TRANSACTIONS}/T5")).await);
        let job = json!({"PK": {"S": "SETTLEMENT#M"}, "SK": {"S": "METADATA"}});
        let step = json!({"Records": [{"eventName": "MODIFY", "dynamodb": {"Keys": job, "SequenceNumber": "1"}}]});
        tell("settle-account", client.invoke("settle-account", &step).await);
        tell("react-to-transactions", client.invoke(COUNT, &insertions(&self.books.headers().await)).await);
        let daily = client.invoke("start-daily-reconciliation", &json!({"day": "2020-01-02"})).await;
        tell("start-daily-reconciliation", daily);
        let reconciled = reconciled(client, &at(0), &at(2 * DAY)).await;
        told.insert("reconcile", findings(&reconciled));
        let mut tell = |reader, answer: Answer| told.insert(reader, summary(&answer));
        tell("process-payment, retry", client.post_once(TRANSACTIONS, "K", &payment("A", "B", "1.00")).await);
        tell("process-payment", client.post_once(TRANSACTIONS, "L", &payment("A", "B", "1.00")).await);
        tell("process-batch", client.post(BATCH, &batch([("P", payment("B", "O", "1.00"))])).await);
        tell("process-payment, merchant", client.post_once(TRANSACTIONS, "N", &with_merchant).await);
        tell("reverse-transaction", client.post(&format!("{TRANSACTIONS}/T1/reversal"), &json!({})).await);
        tell("reverse-transaction, again", client.post(&format!("{TRANSACTIONS}/T2/reversal"), &json!({})).await);
        tell("process-payment, grouped", client.post_once(TRANSACTIONS, "G", &payment("O", "M", "1.00")).await);
        tell("reverse-transaction, grouped", client.post(&format!("{TRANSACTIONS}/T5/reversal"), &json!({})).await);
        let hold_path = format!("{HOLDS}/{}", self.hold);
        tell("get-hold", client.get(&hold_path).await);
        tell("create-hold", client.post_once(HOLDS, "I", &hold("A", "B", "1.00")).await);
        tell("create-hold, retry", client.post_once(HOLDS, "H", &hold("B", "O", "2.00")).await);
        let part = json!({"amount": "1.00"});
        tell("capture-hold", client.post_once(&format!("{hold_path}/capture"), "C", &part).await);
        tell("void-hold", client.post_once(&format!("{hold_path}/void"), "V", &json!({})).await);
        let later = json!({"detail-type": "Scheduled Event", "time": "2099-01-01T00:00:00Z"});
        tell("release-expired-holds", client.invoke("release-expired-holds", &later).await);
        tell("update-account", client.patch(&account, &json!({"status": "active"})).await);
        let closing = json!({"status": "closed", "transferTo": "B"});
        tell("update-account, transferTo", client.patch(&account, &closing).await);
        tell("update-account, grouped", client.patch(&grouped, &json!({"posting": "direct"})).await);
        told
    }
}

/// An unreadable credit in the inbox of account M.
fn inbox_item() -> Value {
    json!({
        "PK": {"S": "ACCOUNT#M#INBOX#0"}, "SK": {"S": format!("CREATED#{}#X-02", at(DAY))},
        "Type": {"S": "InboxItem"}, "CreatedAt": {"S": "nonsense"},
    })
}

fn summary(answer: &Answer) -> String {
    let skipped = answer.body.get("skipped").map_or(String::new(), |skipped| format!(" skipped {skipped}"));
    let found = answer.body.get("findings").map_or(String::new(), |found| format!(" {}", listed(found)));
    format!("{}{skipped}{found}", answer.status)
}

/// Returns the kind and the key of each finding.
fn listed(findings: &Value) -> String {
    let finding = |finding: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text(&finding["kind"]), text(&finding["key"]["PK"]), text(&finding["key"]["SK"]))
    };
    let mut found: Vec<_> = findings.as_array().expect("a list").iter().map(finding).collect();
    found.sort();
    found.join(" ")
}

/// Returns the findings of a completed reconciliation.
fn findings(body: &Value) -> String {
    format!("done {}", listed(&body["discrepancies"])).trim_end().to_owned()
}

/// The responses if every item can be read.
const HEALTHY: [(&str, &str); 42] = [
    ("get-account", "200"),
    ("list-user-accounts", "200"),
    ("get-statement", "200"),
    ("get-balance", "200"),
    ("get-balance, at", "200"),
    ("get-transaction", "200"),
    ("get-transaction, reversed", "200"),
    ("list-transactions", "200"),
    ("list-transactions, idempotencyKey", "200"),
    ("list-merchants", "200"),
    ("get-totals", "200"),
    ("get-trial-balance", "200"),
    ("get-merchant", "200"),
    ("create-merchant", "201"),
    ("create-account", "201"),
    ("get-reconciliation", "200"),
    ("retry-reconciliation", "409"),
    ("start-reconciliation", "202"),
    ("settle-account", "200"),
    ("react-to-transactions", "200"),
    ("start-daily-reconciliation", "200"),
    ("reconcile", "done"),
    ("process-payment, retry", "201"),
    ("process-payment", "201"),
    ("process-batch", "200"),
    ("process-payment, merchant", "201"),
    ("reverse-transaction", "201"),
    ("reverse-transaction, again", "409"),
    ("get-hold", "200"),
    ("create-hold", "201"),
    ("create-hold, retry", "201"),
    ("capture-hold", "201"),
    ("void-hold", "200"),
    ("release-expired-holds", "200"),
    ("update-account", "200"),
    ("update-account, transferTo", "200"),
    ("get-account, grouped", "200"),
    ("get-statement, grouped", "200"),
    ("get-transaction, grouped", "200"),
    ("process-payment, grouped", "201"),
    ("reverse-transaction, grouped", "201"),
    ("update-account, grouped", "200"),
];

/// The responses that differ because of an unreadable item.
fn different(kind: &str) -> Vec<(&'static str, &'static str)> {
    const SKIPPED: &str = "200 skipped 1";
    match kind {
        "nothing" => vec![],
        "account" => vec![
            ("get-account", "500"),
            ("list-user-accounts", SKIPPED),
            ("get-statement", "500"),
            ("get-balance", "500"),
            ("get-balance, at", "500"),
            ("reconcile", "done unreadable-item ACCOUNT#A METADATA"),
            ("process-payment", "500"),
            ("reverse-transaction", "500"),
            ("create-hold", "500"),
            ("update-account", "500"),
            ("update-account, transferTo", "500"),
        ],
        "leg" => vec![
            ("get-statement", "200 skipped 1 unreadable-item TXN#T1 LEG#T1-01"),
            ("get-balance, at", "500"),
            ("get-transaction", "500"),
            ("reconcile", "done unreadable-item TXN#T1 LEG#T1-01"),
            ("reverse-transaction", "500"),
        ],
        // The balance of the account is known, but its last leg does not confirm it.
        "last leg" => vec![
            ("get-statement", "200 skipped 1 unreadable-item TXN#keyed LEG#keyed-01"),
            ("reconcile", "done unreadable-item TXN#keyed LEG#keyed-01"),
            ("process-payment, retry", "500"),
        ],
        "header" => vec![
            ("get-statement", "200 unreadable-item TXN#T1 METADATA"),
            ("get-transaction", "500"),
            ("list-transactions", SKIPPED),
            ("reconcile", "done unreadable-item TXN#T1 METADATA"),
            ("reverse-transaction", "500"),
        ],
        "idempotency record" => vec![
            ("get-statement", "200 unreadable-item TXN#keyed METADATA"),
            ("list-transactions, idempotencyKey", SKIPPED),
            ("process-payment, retry", "500"),
        ],
        "reversal" => vec![
            ("get-statement", "200 unreadable-item TXN#T2 REVERSAL#01"),
            ("get-transaction, reversed", "500"),
            ("reconcile", "done unreadable-item TXN#T2 REVERSAL#01"),
            ("reverse-transaction, again", "500"),
        ],
        "merchant" => vec![
            ("list-merchants", SKIPPED),
            ("get-merchant", "500"),
            ("get-totals", "500"),
            ("create-merchant", "500"),
            ("process-payment, merchant", "500"),
        ],
        "hold" => vec![
            ("get-hold", "500"),
            ("create-hold, retry", "500"),
            ("capture-hold", "500"),
            ("void-hold", "500"),
            ("release-expired-holds", "200 skipped 1"),
            ("reconcile", "done unreadable-item HOLD#hold METADATA"),
        ],
        "posting" => vec![
            ("get-statement, grouped", "200 skipped 1 unreadable-item TXN#T5 POSTING#T5-02"),
            ("get-transaction, grouped", "500"),
            ("reconcile", "done unreadable-item TXN#T5 POSTING#T5-02"),
            ("reverse-transaction, grouped", "500"),
        ],
        // The settlement leaves it in the inbox, and posts the other credits.
        "inbox item" => {
            vec![("reconcile", "done unreadable-item ACCOUNT#M#INBOX#0 CREATED#2020-01-02T00:00:00.000Z#X-02")]
        }
        "job" | "task" => {
            vec![("get-reconciliation", "500"), ("retry-reconciliation", "500"), ("start-reconciliation", "500")]
        }
        "progress" => vec![("get-reconciliation", "500"), ("retry-reconciliation", "500")],
        "finding" => vec![("get-reconciliation", SKIPPED)],
        other => unreachable!("{other}"),
    }
}

async fn assert_readers(kind: &str) {
    let scene = Scene::start().await;
    scene.spoil(kind).await;
    let mut wanted: BTreeMap<_, _> = HEALTHY.into_iter().collect();
    wanted.extend(different(kind));
    let told = scene.readers().await;
    for (reader, wanted) in &wanted {
        let told = told[reader].replace(&scene.keyed, "keyed").replace(&scene.hold, "hold");
        assert_eq!(told, *wanted, "{reader} with an unreadable {kind}");
    }
    let names: BTreeSet<&str> = told.keys().filter_map(|reader| reader.split(',').next()).collect();
    assert_eq!(names, patterns().iter().map(|pattern| pattern.name).collect(), "every pattern must be called");
    // Nothing is posted twice, and an item that cannot be read is never replaced.
    let under = scene.books.partition(Some("GSI2"), "IDEMPOTENCY#K").await;
    assert_eq!(under.len(), 1, "{kind}");
    scene.books.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_has_a_defined_response_to_an_unreadable_item_of_the_ledger() {
    for kind in [
        "nothing",
        "account",
        "leg",
        "last leg",
        "header",
        "idempotency record",
        "reversal",
        "merchant",
        "hold",
        "posting",
        "inbox item",
    ] {
        assert_readers(kind).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reader_has_a_defined_response_to_an_unreadable_item_of_the_job_table() {
    for kind in ["job", "task", "progress", "finding"] {
        assert_readers(kind).await;
    }
}

/// A retry of a job whose task cannot be read changes nothing, so the job can be repaired.
#[tokio::test]
async fn job_with_an_unreadable_task_remains_failed() {
    let scene = Scene::start().await;
    scene.set_in_jobs("METADATA", "Task").await;
    let client: &Client = &scene.books.operator;
    let update = scene.books.stack.client().expect("a client").update_item();
    let update = update.table_name(scene.books.stack.table("LedgerJobs").expect("a table"));
    let update = update.key("PK", AttributeValue::S(scene.job_key()));
    let update = update.key("SK", AttributeValue::S("METADATA".to_owned())).update_expression("SET #s = :s");
    let update = update.expression_attribute_names("#s", "State");
    update.expression_attribute_values(":s", AttributeValue::S("failed".to_owned())).send().await.expect("written");
    let path = format!("{RECONCILIATIONS}/{}/retry", scene.reconciliation);
    assert_eq!(client.post(&path, &json!({})).await.status, 500);
    let get = scene.books.stack.client().expect("a client").get_item();
    let get = get.table_name(scene.books.stack.table("LedgerJobs").expect("a table"));
    let get = get.key("PK", AttributeValue::S(scene.job_key())).key("SK", AttributeValue::S("METADATA".to_owned()));
    let job = get.send().await.expect("an answer").item.expect("the job");
    assert_eq!(job["State"], AttributeValue::S("failed".to_owned()));
    scene.books.stack.stop().await;
}

/// A reconciliation reads the legs of an account in pages. It completes even if no leg of a page
/// can be read.
#[tokio::test(flavor = "multi_thread")]
async fn page_of_unreadable_legs_does_not_stop_a_reconciliation() {
    const LEGS: i64 = 505;
    let stack = stack().start().await.expect("a stack");
    let (rows, operator) = (Rows::of(&stack), Client::operator(&stack));
    let mut shelf = Shelf::default();
    for number in 0..LEGS {
        shelf.post(&format!("T{number}"), DAY + number, &[("O", -100), ("A", 100)]);
    }
    shelf.put(&rows).await;
    for number in 0..LEGS {
        rows.set(&leg_key(&format!("T{number}"), 2), json!({"CreatedAt": {"S": "nonsense"}})).await;
    }
    let body = reconciled(&operator, &at(DAY), &at(2 * DAY)).await;
    let kinds: Vec<_> = body["discrepancies"].as_array().expect("a list").iter().map(|found| &found["kind"]).collect();
    assert_eq!(kinds.len(), usize::try_from(LEGS).expect("a small number"));
    assert!(kinds.iter().all(|kind| *kind == "unreadable-item"), "{kinds:?}");
    stack.stop().await;
}

/// The owner of the account sees which transaction has the unreadable leg, but no stored key. An
/// item with the key of another account can have a forged index key.
#[tokio::test]
async fn a_statement_reports_each_unreadable_item_once_without_keys_of_others() {
    let books = Books::open().await;
    let (ann, account) = (books.user("ann"), books.funded("ann", "5.00").await);
    let bobs = books.funded("bob", "7.00").await;
    let rows = Rows::of(&books.stack);
    let mut transactions = Vec::new();
    for number in 0..4 {
        let paid = books.pay(&format!("P-{number}"), &account, &bobs, "1.00").await;
        transactions.push(id(&paid, "transactionId"));
    }
    let path = format!("{ACCOUNTS}/{account}/statement");
    assert_eq!(ann.get(&path).await.body.get("findings"), None);
    for transaction in &transactions[..2] {
        rows.set(&leg_key(transaction, 1), json!({"Amount": {"S": "nonsense"}})).await;
    }
    let forged = json!({"GSI1PK": {"S": format!("ACCOUNT#{account}")}, "GSI1SK": {"S": "LEG#zzz"}});
    rows.set(&account_key(&bobs), forged).await;
    for limit in [1, 2, 100] {
        for (client, is_operator) in [(&ann, false), (&books.operator, true)] {
            let mut findings = Vec::new();
            let (mut cursor, mut skipped) = (String::new(), 0);
            loop {
                let page = client.get(&format!("{path}?limit={limit}{cursor}")).await;
                assert_eq!(page.status, 200, "{}", page.body);
                let found = page.body["findings"].as_array().cloned().unwrap_or_default();
                assert_eq!(page.body["skipped"].as_u64().unwrap_or_default(), found.len() as u64, "{}", page.body);
                skipped += found.len();
                findings.extend(found);
                let Some(next) = page.body["nextCursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(skipped, 3, "{findings:?}");
            for (finding, transaction) in findings.iter().zip([None, Some(&transactions[1]), Some(&transactions[0])]) {
                assert_eq!((&finding["kind"], &finding["accountId"]), (&json!("unreadable-item"), &json!(account)));
                assert_eq!(finding.get("transactionId"), transaction.map(|id| json!(id)).as_ref());
                assert_eq!(finding.get("key").is_some(), is_operator, "{finding}");
                assert!(is_operator || !finding.to_string().contains(&bobs), "{finding}");
            }
        }
    }
    books.stack.stop().await;
}

/// Returns the key of the account's last leg.
async fn last_leg(rows: &Rows, account: &str) -> Value {
    let account = rows.get(&account_key(account)).await;
    let text = |name: &str| account[name]["S"].as_str().expect("a text").to_owned();
    json!({
        "PK": {"S": format!("TXN#{}", text("LastTransactionID"))},
        "SK": {"S": format!("LEG#{}", text("LastLegID"))},
    })
}

/// An attribute of an unreadable item, and the value that makes it unreadable.
fn damages(item: &Value) -> Vec<(String, Value)> {
    let names = item.as_object().expect("an item").keys();
    let names = names.filter(|name| !["PK", "SK", "Type"].contains(&name.as_str()));
    // DynamoDB rejects index keys that are not strings.
    let nonsense = |name: &str| if name.starts_with("GSI") { json!({"S": "nonsense"}) } else { json!({"BOOL": true}) };
    names.map(|name| (name.clone(), nonsense(name))).collect()
}

/// Neither the owner nor an operator can close an account whose last leg is unreadable, missing or
/// differs from the balance. Otherwise the closing would hide or move money.
#[tokio::test]
async fn an_account_is_closed_only_if_its_last_leg_confirms_the_balance() {
    let books = Books::open().await;
    let rows = Rows::of(&books.stack);
    let (ann, to) = (books.user("ann"), books.account("ann").await);
    for balance in ["5.00", "0.00"] {
        let account = books.funded("ann", "5.00").await;
        if balance == "0.00" {
            assert_eq!(books.pay("empty", &account, &to, "5.00").await.status, 201);
        }
        let key = last_leg(&rows, &account).await;
        let healthy = rows.get(&key).await;
        let mut spoiled: Vec<(String, Option<Value>)> = Vec::new();
        for (name, value) in damages(&healthy) {
            let mut broken = healthy.clone();
            broken[&name] = value;
            spoiled.push((name, Some(broken)));
        }
        for (name, value) in [("BalanceAfter", json!({"N": "4.99"})), ("Currency", json!({"S": "EUR"}))] {
            let mut broken = healthy.clone();
            broken[name] = value;
            spoiled.push((format!("{name} {}", broken[name]), Some(broken)));
        }
        spoiled.push(("the whole leg".to_owned(), None));
        assert!(spoiled.len() > 10, "{spoiled:?}");
        for (name, item) in spoiled {
            match item {
                Some(item) => rows.put(&[item.to_string()]).await,
                None => rows.delete(&key).await,
            }
            let before = books.stored().await;
            for client in [&ann, &books.operator] {
                for body in [json!({"status": "closed"}), json!({"status": "closed", "transferTo": to})] {
                    let answer = client.patch(&format!("{ACCOUNTS}/{account}"), &body).await;
                    assert_problem(&answer, 409, "balance-unverified");
                    assert!(!answer.body["detail"].to_string().contains("TXN#"), "{}", answer.body);
                }
            }
            assert!(books.stored().await == before, "{name}: nothing is written");
            rows.put(&[healthy.to_string()]).await;
        }
        let closed = json!({"status": "closed", "transferTo": to});
        let closed = ann.patch(&format!("{ACCOUNTS}/{account}"), &closed).await;
        assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")), "{}", closed.body);
    }
    books.stack.stop().await;
}
