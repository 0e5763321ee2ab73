//! Holds: what they reserve, who may end them, and that each ends once
//! ([requirement](../../../../docs/requirements/ledger.md#holds)).

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, assert_problem,
    clock::time,
    ledger::audit::{DAY, Rows, account_key, at, reconciled},
    ledger::model::Stored,
    ledger::{ACCOUNTS, Books, HOLDS, TRANSACTIONS, hold, id, payment},
    text,
};

/// A payer with 100.00, a payee and their ledger.
struct Scene {
    books: Books,
    payer: String,
    payee: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let payer = books.funded("ann", "100.00").await;
        Self { payee: books.account("shop").await, books, payer }
    }

    /// Opens a hold as the payer, and returns its path.
    async fn hold(&self, key: &str, amount: &str) -> String {
        let body = hold(&self.payer, &self.payee, amount);
        path_of(&self.books.user("ann").post_once(HOLDS, key, &body).await)
    }

    /// Opens a hold that expires at `expires`, one hour before [`later`].
    async fn expiring(&self, key: &str, amount: &str) -> String {
        let mut body = hold(&self.payer, &self.payee, amount);
        body["expiresAt"] = json!(expires().to_string());
        path_of(&self.books.at(now()).post_once(HOLDS, key, &body).await)
    }

    /// Captures as the payee.
    async fn capture(&self, path: &str, key: &str, amount: Option<&str>) -> Answer {
        let body = amount.map_or_else(|| json!({}), |amount| json!({"amount": amount}));
        self.books.user("shop").post_once(&format!("{path}/capture"), key, &body).await
    }

    async fn void(&self, path: &str, key: &str) -> Answer {
        self.books.user("shop").post_once(&format!("{path}/void"), key, &json!({})).await
    }

    async fn pay(&self, key: &str, amount: &str) -> Answer {
        self.books.pay(key, &self.payer, &self.payee, amount).await
    }

    /// Asserts the balance, the reserved amount and the available amount of the payer.
    async fn assert_payer(&self, wanted: [&str; 3]) {
        let body = self.books.operator.get(&format!("{ACCOUNTS}/{}", self.payer)).await.body;
        assert_eq!([&body["balance"], &body["held"], &body["available"]], wanted.map(Value::from).each_ref());
    }

    async fn assert_hold(&self, path: &str, wanted: [&str; 4]) {
        let body = self.books.operator.get(path).await.body;
        assert_eq!(members(&body), wanted.map(Value::from).each_ref(), "{body}");
    }

    async fn stop(self) {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        self.books.stack.stop().await;
    }
}

fn members(body: &Value) -> [&Value; 4] {
    [&body["status"], &body["amount"], &body["captured"], &body["remaining"]]
}

fn path_of(opened: &Answer) -> String {
    format!("{HOLDS}/{}", id(opened, "holdId"))
}

fn now() -> Timestamp {
    time("2099-01-01T00:00:00Z")
}

fn expires() -> Timestamp {
    time("2099-01-01T01:00:00Z")
}

fn schedule(now: Timestamp) -> Value {
    json!({"detail-type": "Scheduled Event", "time": now.to_string()})
}

#[tokio::test]
async fn a_hold_reserves_its_amount_until_it_is_captured_in_parts() {
    let scene = Scene::start().await;
    let path = scene.hold("H", "60.00").await;
    scene.assert_payer(["100.00", "60.00", "40.00"]).await;
    scene.assert_hold(&path, ["held", "60.00", "0.00", "60.00"]).await;
    assert_problem(&scene.pay("too much", "40.01").await, 409, "insufficient-funds");
    assert_eq!(scene.pay("all of it", "40.00").await.status, 201);
    scene.assert_payer(["60.00", "60.00", "0.00"]).await;
    let second = hold(&scene.payer, &scene.payee, "0.01");
    let refused = scene.books.user("ann").post_once(HOLDS, "H-2", &second).await;
    assert_problem(&refused, 409, "insufficient-funds");
    assert_problem(&scene.capture(&path, "C-0", Some("60.01")).await, 409, "hold-exceeded");
    for (key, amount, rest) in [("C-1", Some("25.00"), "35.00"), ("C-2", None, "0.00")] {
        let captured = scene.capture(&path, key, amount).await;
        assert_eq!((captured.status, &captured.body["transactionType"]), (201, &json!("capture")), "{}", captured.body);
        scene.assert_payer([rest, rest, "0.00"]).await;
        assert_eq!(scene.capture(&path, key, amount).await.body, captured.body, "a retry gets the first capture");
        scene.assert_payer([rest, rest, "0.00"]).await;
    }
    scene.assert_hold(&path, ["captured", "60.00", "60.00", "0.00"]).await;
    assert_problem(&scene.capture(&path, "C-1", Some("1.00")).await, 422, "idempotency-key-reused");
    assert_problem(&scene.capture(&path, "C-3", Some("0.01")).await, 409, "hold-closed");
    assert_problem(&scene.void(&path, "V").await, 409, "hold-closed");
    assert_eq!(scene.books.balance(&scene.payee).await, "100.00");
    scene.stop().await;
}

#[tokio::test]
async fn a_void_releases_the_rest_once_per_key() {
    let scene = Scene::start().await;
    let path = scene.hold("H", "60.00").await;
    assert_eq!(scene.capture(&path, "C", Some("20.00")).await.status, 201);
    let voided = scene.void(&path, "V").await;
    assert_eq!(members(&voided.body), ["voided", "60.00", "20.00", "0.00"].map(Value::from).each_ref());
    assert_eq!((scene.void(&path, "V").await.status, voided.status), (200, 200));
    assert_problem(&scene.void(&path, "V-2").await, 409, "hold-closed");
    assert_problem(&scene.capture(&path, "C-2", None).await, 409, "hold-closed");
    scene.assert_payer(["80.00", "0.00", "80.00"]).await;
    scene.stop().await;
}

#[tokio::test]
async fn only_the_payer_opens_a_hold_and_only_the_payee_ends_it() {
    let scene = Scene::start().await;
    let body = hold(&scene.payer, &scene.payee, "10.00");
    for user in ["shop", "eve"] {
        assert_problem(&scene.books.user(user).post_once(HOLDS, user, &body).await, 403, "forbidden");
    }
    let path = scene.hold("H", "10.00").await;
    for (user, status) in [("ann", 200), ("shop", 200), ("eve", 403)] {
        assert_eq!(scene.books.user(user).get(&path).await.status, status, "{user}");
    }
    for user in ["ann", "eve"] {
        for end in ["capture", "void"] {
            let ended = scene.books.user(user).post_once(&format!("{path}/{end}"), end, &json!({})).await;
            assert_problem(&ended, 403, "forbidden");
        }
    }
    scene.stop().await;
}

/// The open holds in a list, as pairs of the hold and its remaining amount.
fn open_holds(list: &[Value]) -> BTreeSet<(&str, &str)> {
    assert!(list.iter().all(|hold| hold["status"] == "held"), "{list:?}");
    assert!(list.is_sorted_by_key(|hold| text(hold, "expiresAt")), "{list:?}");
    list.iter().map(|hold| (text(hold, "holdId"), text(hold, "remaining"))).collect()
}

#[tokio::test]
async fn the_payer_lists_the_open_holds_on_the_account_by_expiry() {
    let scene = Scene::start().await;
    let (kept, part) = (scene.hold("H-1", "10.00").await, scene.hold("H-2", "20.00").await);
    let (whole, void) = (scene.hold("H-3", "5.00").await, scene.hold("H-4", "6.00").await);
    assert_eq!(scene.capture(&part, "C-1", Some("7.50")).await.status, 201);
    assert_eq!(scene.capture(&whole, "C-2", None).await.status, 201);
    assert_eq!(scene.void(&void, "V").await.status, 200);
    let soon = scene.expiring("H-5", "1.00").await;
    let (ann, path) = (scene.books.user("ann"), format!("{ACCOUNTS}/{}/holds", scene.payer));
    let (list, pages) = ann.all(&format!("{path}?limit=1")).await;
    let ids = [&kept, &part, &soon].map(|path| &path[HOLDS.len() + 1..]);
    assert_eq!(open_holds(&list), BTreeSet::from([(ids[0], "10.00"), (ids[1], "12.50"), (ids[2], "1.00")]));
    assert!(pages >= 3, "{pages}");
    for shown in &list {
        let hold = ann.get(&format!("{HOLDS}/{}", text(shown, "holdId"))).await.body;
        assert_eq!(shown, &hold);
    }
    // No function has released the expired holds yet.
    for (at, wanted) in [(expires() - SignedDuration::from_millis(1), 1), (expires(), 0)] {
        assert_eq!(scene.books.at(at).all(&path).await.0.len(), wanted, "{at}");
    }
    assert_problem(&scene.books.user("shop").get(&path).await, 403, "forbidden");
    let of_payee = format!("{ACCOUNTS}/{}/holds", scene.payee);
    assert_eq!(scene.books.user("shop").get(&of_payee).await.body, json!({"items": []}));
    scene.stop().await;
}

/// A hold that expires between two pages is not shown.
#[tokio::test]
async fn a_later_page_omits_holds_that_have_expired() {
    let scene = Scene::start().await;
    let (_, _) = (scene.expiring("H-1", "1.00").await, scene.expiring("H-2", "2.00").await);
    let mut body = hold(&scene.payer, &scene.payee, "3.00");
    body["expiresAt"] = json!("2099-02-01T00:00:00Z");
    let last = path_of(&scene.books.at(now()).post_once(HOLDS, "H-3", &body).await);
    let path = format!("{ACCOUNTS}/{}/holds", scene.payer);
    let first = scene.books.at(now()).get(&format!("{path}?limit=1")).await.body;
    let next = format!("{path}?limit=5&cursor={}", text(&first, "nextCursor"));
    let rest = scene.books.at(expires()).get(&next).await.body;
    let rest = rest["items"].as_array().expect("items");
    assert_eq!(open_holds(rest), BTreeSet::from([(&last[HOLDS.len() + 1..], "3.00")]));
    scene.stop().await;
}

#[tokio::test]
async fn an_expired_hold_cannot_be_captured_and_the_schedule_releases_it() {
    let scene = Scene::start().await;
    let (first, second) = (scene.expiring("H-1", "30.00").await, scene.expiring("H-2", "20.00").await);
    let before = expires() - SignedDuration::from_millis(1);
    let body = json!({"amount": "5.00"});
    let captured = scene.books.at(before).post_once(&format!("{first}/capture"), "C-1", &body).await;
    assert_eq!(captured.status, 201, "{}", captured.body);
    assert_eq!(scene.books.at(before).get(&second).await.body["status"], "held");
    for (end, key) in [("capture", "C-2"), ("void", "V")] {
        let ended = scene.books.at(expires()).post_once(&format!("{second}/{end}"), key, &json!({})).await;
        assert_problem(&ended, 409, "hold-closed");
    }
    let shown = scene.books.at(expires()).get(&first).await.body;
    assert_eq!(members(&shown), ["expired", "30.00", "5.00", "0.00"].map(Value::from).each_ref());
    scene.assert_payer(["95.00", "45.00", "50.00"]).await;
    let early = scene.books.operator.invoke("release-expired-holds", &schedule(before)).await;
    assert_eq!(early.body, json!({"released": 0, "left": false}));
    for released in [2, 0] {
        let run = scene.books.operator.invoke("release-expired-holds", &schedule(expires())).await;
        assert_eq!(run.body, json!({"released": released, "left": false}));
        scene.assert_payer(["95.00", "0.00", "95.00"]).await;
    }
    // The status is stored: it no longer depends on the time.
    scene.assert_hold(&first, ["expired", "30.00", "5.00", "0.00"]).await;
    scene.stop().await;
}

#[tokio::test]
async fn a_hold_with_an_invalid_amount_does_not_stop_the_others() {
    let scene = Scene::start().await;
    let (bad, _) = (scene.expiring("H-1", "30.00").await, scene.expiring("H-2", "20.00").await);
    let key = json!({"PK": {"S": bad.replace(&format!("{HOLDS}/"), "HOLD#")}, "SK": {"S": "METADATA"}});
    Rows::of(&scene.books.stack).set(&key, json!({"Amount": {"N": "30.001"}})).await;
    // A payment releases the good hold, and so does the schedule.
    let at = scene.books.at(expires());
    let paid = at.post_once(TRANSACTIONS, "P", &payment(&scene.payer, &scene.payee, "60.00")).await;
    assert_eq!(paid.status, 201, "{}", paid.body);
    scene.assert_payer(["40.00", "30.00", "10.00"]).await;
    scene.expiring("H-3", "10.00").await;
    let run = scene.books.operator.invoke("release-expired-holds", &schedule(expires())).await;
    assert_eq!(run.body, json!({"released": 1, "skipped": 1, "left": false}));
    scene.assert_payer(["40.00", "30.00", "10.00"]).await;
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_payment_that_would_be_refused_releases_expired_holds() {
    let scene = Scene::start().await;
    for number in 0..60 {
        scene.expiring(&format!("H-{number}"), "1.00").await;
    }
    let open = hold(&scene.payer, &scene.payee, "10.00");
    let kept = path_of(&scene.books.at(now()).post_once(HOLDS, "kept", &open).await);
    let pay = async |key: &str, amount: &str, now| {
        scene.books.at(now).post_once(TRANSACTIONS, key, &payment(&scene.payer, &scene.payee, amount)).await
    };
    assert_problem(&pay("early", "40.00", now()).await, 409, "insufficient-funds");
    // A payment that is covered releases nothing.
    assert_eq!(pay("covered", "30.00", expires()).await.status, 201);
    scene.assert_payer(["70.00", "70.00", "0.00"]).await;
    let paid = pay("late", "60.00", expires()).await;
    assert_eq!(paid.status, 201, "{}", paid.body);
    scene.assert_payer(["10.00", "10.00", "0.00"]).await;
    assert_problem(&pay("more", "0.01", expires()).await, 409, "insufficient-funds");
    scene.assert_hold(&kept, ["held", "10.00", "0.00", "10.00"]).await;
    scene.stop().await;
}

/// A hold and a reversal need the money of expired holds as a payment does.
#[tokio::test]
async fn a_hold_and_a_reversal_release_expired_holds() {
    let scene = Scene::start().await;
    let received = scene.books.pay("R", &scene.books.outside, &scene.payer, "50.00").await;
    scene.expiring("H-1", "150.00").await;
    let mut body = hold(&scene.payer, &scene.payee, "100.00");
    body["expiresAt"] = json!("2099-02-01T00:00:00Z");
    assert_problem(&scene.books.at(now()).post_once(HOLDS, "H-2", &body).await, 409, "insufficient-funds");
    let opened = scene.books.at(expires()).post_once(HOLDS, "H-2", &body).await;
    assert_eq!(opened.status, 201, "{}", opened.body);
    scene.assert_payer(["150.00", "100.00", "50.00"]).await;
    let voided = scene.books.at(expires()).post_once(&format!("{}/void", path_of(&opened)), "V", &json!({})).await;
    assert_eq!(voided.status, 200, "{}", voided.body);
    scene.expiring("H-3", "150.00").await;
    let path = format!("{TRANSACTIONS}/{}/reversal", id(&received, "transactionId"));
    assert_problem(&scene.books.at(now()).post(&path, &json!({})).await, 409, "insufficient-funds");
    let reversed = scene.books.at(expires()).post(&path, &json!({})).await;
    assert_eq!(reversed.status, 201, "{}", reversed.body);
    scene.assert_payer(["100.00", "0.00", "100.00"]).await;
    scene.stop().await;
}

#[tokio::test]
async fn holds_of_a_frozen_account_are_voided_but_not_captured() {
    let scene = Scene::start().await;
    let (first, second) = (scene.hold("H-1", "10.00").await, scene.hold("H-2", "20.00").await);
    let account = format!("{ACCOUNTS}/{}", scene.payer);
    let frozen = scene.books.operator.patch(&account, &json!({"status": "frozen"})).await;
    assert_eq!(frozen.status, 200);
    assert_problem(&scene.capture(&first, "C", None).await, 409, "account-unavailable");
    let by_operator = scene.books.operator.post_once(&format!("{first}/capture"), "C", &json!({})).await;
    assert_problem(&by_operator, 409, "account-frozen");
    assert_eq!(scene.void(&first, "V").await.status, 200);
    let closing = json!({"status": "closed", "transferTo": scene.payee});
    assert_problem(&scene.books.operator.patch(&account, &closing).await, 409, "holds-open");
    assert_eq!(scene.void(&second, "V-2").await.status, 200);
    assert_eq!(scene.books.operator.patch(&account, &json!({"status": "active"})).await.status, 200);
    assert_eq!(scene.books.operator.patch(&account, &closing).await.status, 200);
    scene.stop().await;
}

#[tokio::test]
async fn rejects_holds_that_cannot_be_captured() {
    let scene = Scene::start().await;
    let good = hold(&scene.payer, &scene.payee, "10.00");
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let cases = [
        (with("creditAccountId", json!(scene.payer)), 400, "invalid-request"),
        (with("expiresAt", json!("2020-01-01T00:00:00Z")), 400, "invalid-request"),
        (with("expiresAt", json!("2999-01-01T00:00:00Z")), 400, "invalid-request"),
        (with("currency", json!("EUR")), 409, "currency-mismatch"),
        (with("amount", json!("100.01")), 409, "insufficient-funds"),
        (with("creditAccountId", json!("none")), 404, "not-found"),
        (with("debitAccountId", json!("none")), 404, "not-found"),
    ];
    for (number, (body, status, problem)) in cases.iter().enumerate() {
        let refused = scene.books.operator.post_once(HOLDS, &format!("K-{number}"), body).await;
        assert_problem(&refused, *status, problem);
    }
    assert!(Stored::read(&scene.books.stack).await.holds.is_empty());
    scene.stop().await;
}

/// An account with a negative balance can reserve any amount, but its available amount must remain
/// representable.
#[tokio::test]
async fn rejects_a_hold_or_a_payment_that_makes_the_available_amount_too_large() {
    let scene = Scene::start().await;
    let (outside, operator) = (scene.books.outside.clone(), &scene.books.operator);
    let amount = format!("6{}.00", "0".repeat(35));
    let hold = |key: &'static str| scene.books.hold(key, &outside, &scene.payee, &amount);
    let path = format!("{HOLDS}/{}", id(&hold("H").await, "holdId"));
    assert_problem(&hold("I").await, 409, "balance-too-large");
    let paid = operator.post_once(TRANSACTIONS, "K", &payment(&outside, &scene.payee, &amount)).await;
    assert_problem(&paid, 409, "balance-too-large");
    let shown = operator.get(&format!("{ACCOUNTS}/{outside}")).await;
    assert_eq!((shown.status, &shown.body["held"]), (200, &json!(amount)), "{}", shown.body);
    assert_eq!(scene.capture(&path, "C", None).await.status, 201);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconciliation_finds_a_hold_without_its_reserve_and_nothing_else() {
    let scene = Scene::start().await;
    let path = scene.hold("H", "10.00").await;
    scene.hold("H-2", "2.50").await;
    assert_eq!(scene.capture(&path, "C", Some("4.00")).await.status, 201);
    let (rows, account) = (Rows::of(&scene.books.stack), account_key(&scene.payer));
    let set = async |held: &str| rows.set(&account, json!({"Held": {"N": held}})).await;
    let wrong = |expected: &str, actual: &str| json!([{"kind": "wrong-held", "accountId": scene.payer, "expected": expected, "actual": actual}]);
    let check = async || reconciled(&scene.books.operator, &at(0), &at(DAY)).await["discrepancies"].clone();
    assert_eq!(check().await, json!([]));
    set("2.5").await;
    assert_eq!(check().await, wrong("8.50", "2.50"));
    // The rest cannot be released from a reserve that lacks it.
    let later = scene.books.operator.invoke("release-expired-holds", &schedule(now())).await;
    assert_eq!(later.body, json!({"released": 0, "skipped": 2, "left": false}));
    set("8.5").await;
    assert_eq!(check().await, json!([]));
    let later = scene.books.operator.invoke("release-expired-holds", &schedule(now())).await;
    assert_eq!(later.body, json!({"released": 2, "left": false}));
    assert_eq!(check().await, json!([]));
    scene.stop().await;
}
