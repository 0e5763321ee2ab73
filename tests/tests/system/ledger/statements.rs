//! Statements of a period, as JSON and CSV, and balances at a past time.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use system_tests::{
    Answer, Client, assert_problem,
    clock::{MILLISECOND, time},
    ledger::{ACCOUNTS, Books, MERCHANTS, TRANSACTIONS, audit::Rows, audit::leg_key, id, legs, payment},
    send,
};

/// The description of the payments. It would be a formula in a spreadsheet.
const FORMULA: &str = "=HYPERLINK(\"http://a.example\",\"b\")";
const PAYMENTS: i64 = 6;

fn start() -> Timestamp {
    time("2099-01-01T00:00:00Z")
}

/// The time of a payment.
fn hour(number: i64) -> Timestamp {
    start() + SignedDuration::from_hours(number)
}

/// An account of Ann that receives 10.00 at the hour 0, and pays 1.00 to a shop in each further
/// hour.
struct Scene {
    books: Books,
    account: String,
    shop: String,
    merchant: String,
    /// The transactions by hour.
    posted: Vec<String>,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let (account, shop) = (books.account("ann").await, books.account("shop").await);
        let merchant = json!({"name": "Coffee Shop Inc", "category": "Restaurant"});
        let merchant = id(&books.operator.post(MERCHANTS, &merchant).await, "merchantId");
        let mut posted = Vec::new();
        for number in 0..=PAYMENTS {
            let mut body = match number {
                0 => payment(&books.outside, &account, "10.00"),
                _ => payment(&account, &shop, "1.00"),
            };
            (body["description"], body["merchantId"]) = (FORMULA.into(), merchant.as_str().into());
            body["reference"] = format!("order {number}").into();
            let answer = books.at(hour(number)).post_once(TRANSACTIONS, &format!("P-{number}"), &body).await;
            posted.push(id(&answer, "transactionId"));
        }
        Self { books, account, shop, merchant, posted }
    }

    /// The balance after all legs at or before the time.
    fn balance(at: Timestamp) -> String {
        let hours = (0..=PAYMENTS).filter(|number| hour(*number) <= at);
        let balance = hours.map(|number| if number == 0 { 10 } else { -1 }).sum::<i64>();
        format!("{balance}.00")
    }

    fn path(&self, rest: &str) -> String {
        format!("{ACCOUNTS}/{}/{rest}", self.account)
    }

    async fn csv(&self, client: &Client, rest: &str) -> (Vec<Vec<String>>, Answer) {
        let request = client.request("GET", &self.path(rest)).header("accept", "text/csv");
        let answer = send(request).await;
        let text = answer.body.as_str().expect("CSV");
        (parsed(text), answer)
    }
}

/// Parses CSV (RFC 4180).
fn parsed(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut is_quoted, mut characters) = (false, text.chars().peekable());
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}

#[tokio::test]
async fn a_balance_is_the_balance_after_the_last_leg_of_its_time() {
    let scene = Scene::start().await;
    let later = scene.books.at(hour(100));
    let mut times = vec![hour(-1000), hour(50), hour(100)];
    for number in 0..=PAYMENTS {
        times.extend([hour(number) - MILLISECOND, hour(number), hour(number) + MILLISECOND]);
    }
    for at in times {
        let answer = later.get(&scene.path(&format!("balance?at={at}"))).await;
        assert_eq!((answer.status, &answer.body["balance"]), (200, &json!(Scene::balance(at))), "{at}");
        assert_eq!((&answer.body["at"], &answer.body["currency"]), (&json!(format!("{at:.3}")), &json!("USD")));
    }
    let now = later.get(&scene.path("balance")).await;
    assert_eq!((&now.body["balance"], &now.body["accountId"]), (&json!("4.00"), &json!(scene.account)));
    let future = hour(100) + MILLISECOND;
    let answer = later.get(&scene.path(&format!("balance?at={future}"))).await;
    assert_problem(&answer, 400, "invalid-request");
    assert_eq!(answer.body["errors"][0]["pointer"], "/query/at");
    scene.books.stack.stop().await;
}

/// A balance at a time has no row in a list where the damage could be reported, so it must not be
/// guessed.
#[tokio::test]
async fn an_unreadable_leg_hides_only_the_balances_that_need_it() {
    let scene = Scene::start().await;
    let rows = Rows::of(&scene.books.stack);
    rows.set(&leg_key(&scene.posted[2], 1), json!({"BalanceAfter": {"S": "nonsense"}})).await;
    let later = scene.books.at(hour(100));
    for (number, status) in [(1, 200), (2, 500), (3, 200)] {
        let answer = later.get(&scene.path(&format!("balance?at={}", hour(number)))).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    let statement = later.get(&scene.path(&format!("statement?from={}", hour(3)))).await.body;
    assert_eq!((statement.get("openingBalance"), &statement["closingBalance"]), (None, &json!("4.00")));
    assert_eq!(statement["findings"][0]["kind"], "unreadable-item", "{statement}");
    let statement = later.get(&scene.path(&format!("statement?to={}", hour(2)))).await.body;
    assert_eq!((&statement["openingBalance"], statement.get("closingBalance")), (&json!("0.00"), None));
    let (lines, _) = scene.csv(&scene.books.operator, "statement").await;
    let lost: Vec<_> = lines.iter().filter(|line| line[0] == "unreadable-item").collect();
    assert_eq!(lost.iter().map(|line| &line[2]).collect::<Vec<_>>(), [&scene.posted[2]], "{lines:?}");
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn each_page_of_a_period_has_its_opening_and_closing_balance() {
    let scene = Scene::start().await;
    let later = scene.books.at(hour(100));
    for (from, to) in [(0, 6), (3, 3), (-5, 2), (5, 50), (7, 9)] {
        let (from, to) = (hour(from), hour(to));
        let whole = scene.path(&format!("statement?from={from}&to={to}"));
        let all = later.all(&whole).await.0;
        let wanted: Vec<&String> = (0..=PAYMENTS)
            .rev()
            .filter(|number| (from..=to).contains(&hour(*number)))
            .map(|number| &scene.posted[usize::try_from(number).expect("a number")])
            .collect();
        assert_eq!(all.iter().map(|leg| &leg["transactionId"]).collect::<Vec<_>>(), wanted);
        let balances = [Scene::balance(from - MILLISECOND), Scene::balance(to)];
        for limit in [2, 100] {
            let (mut cursor, mut pages) = (String::new(), 0);
            loop {
                let page = later.get(&format!("{whole}&limit={limit}{cursor}")).await.body;
                assert_eq!([&page["openingBalance"], &page["closingBalance"]], balances.each_ref(), "{page}");
                assert_eq!(page["currency"], "USD");
                pages += 1;
                let Some(next) = page["nextCursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert!(pages >= all.len() / limit, "{pages} pages");
        }
    }
    // A date is a whole day. A bound that cannot be stored is no limit, or has nothing behind it.
    for (query, wanted) in [
        ("from=2099-01-01&to=2099-01-01", 7),
        ("to=9999-12-31T23:59:59Z", 7),
        ("to=9999-12-31", 7),
        ("from=0000-01-01t00:00:00.0%2B23:59", 7),
        ("from=9999-12-31T23:59:59Z", 0),
        ("to=0000-01-01T00:00:00%2B23:59", 0),
    ] {
        assert_eq!(later.all(&scene.path(&format!("statement?{query}"))).await.0.len(), wanted, "{query}");
    }
    let today = hour(100).strftime("%Y-%m-%d").to_string();
    for at in [today, hour(100).to_string()] {
        let answer = later.get(&scene.path(&format!("balance?at={at}"))).await;
        assert_eq!((answer.status, &answer.body["balance"]), (200, &json!("4.00")), "{}", answer.body);
        assert_eq!(answer.body["at"], format!("{:.3}", hour(100)));
    }
    let plain = later.get(&scene.path("statement")).await.body;
    assert_eq!((plain.get("openingBalance"), plain.get("closingBalance"), plain.get("currency")), (None, None, None));
    let turned = later.get(&scene.path(&format!("statement?from={}&to={}", hour(2), hour(1)))).await;
    assert_eq!((turned.status, &turned.body["errors"][0]["pointer"]), (400, &json!("/query/to")));
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_leg_has_the_purpose_and_the_counterparty_of_its_transaction() {
    let scene = Scene::start().await;
    let many = legs([
        ("debit", scene.account.as_str(), "0.75", "USD"),
        ("credit", scene.shop.as_str(), "0.50", "USD"),
        ("credit", scene.books.outside.as_str(), "0.25", "USD"),
    ]);
    assert_eq!(scene.books.at(hour(50)).post_once(TRANSACTIONS, "many", &many).await.status, 201);
    let of_ann = scene.books.user("ann").get(&scene.path("statement?limit=2")).await.body;
    let names = ["transactionType", "description", "merchantId", "counterpartyAccountId"];
    for (leg, wanted) in [
        [Some("journal"), None, None, None],
        [Some("payment"), Some(FORMULA), Some(scene.merchant.as_str()), Some(scene.shop.as_str())],
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(names.map(|name| of_ann["items"][leg][name].as_str()), wanted, "{of_ann}");
    }
    let of_shop = scene.books.user("shop").get(&format!("{ACCOUNTS}/{}/statement", scene.shop)).await.body;
    assert_eq!(of_shop["items"][1]["counterpartyAccountId"], json!(scene.account), "{of_shop}");
    scene.books.stack.stop().await;
}

/// The pages of a CSV statement can be concatenated. Its texts are the same as in JSON, except that
/// they are never formulas.
#[tokio::test]
async fn csv_has_the_rows_of_the_json_statement() {
    let scene = Scene::start().await;
    let ann = scene.books.user("ann");
    for period in ["", "&from=2099-01-01T01:00:00Z&to=2099-01-01T05:00:00Z"] {
        let (json, _) = ann.all(&scene.path(&format!("statement?limit=100{period}"))).await;
        for limit in [2, 100] {
            let (mut rows, mut cursor): (Vec<Vec<String>>, _) = (Vec::new(), String::new());
            loop {
                let (mut page, answer) = scene.csv(&ann, &format!("statement?limit={limit}{period}{cursor}")).await;
                assert_eq!(answer.headers["content-type"], "text/csv; charset=utf-8; header=present");
                let header = page.remove(0);
                assert_eq!((header[0].as_str(), header.len()), ("row", 15));
                assert!(page.iter().all(|row| row.len() == 15), "{page:?}");
                rows.extend(page);
                let Some(next) = answer.headers.get("next-cursor") else { break };
                cursor = format!("&cursor={}", next.to_str().expect("a cursor"));
            }
            if !period.is_empty() {
                let (first, last) = (rows.remove(0), rows.pop().expect("a row"));
                assert_eq!((first[0].as_str(), first[13].as_str()), ("closing-balance", "5.00"));
                assert_eq!((last[0].as_str(), last[13].as_str()), ("opening-balance", "10.00"));
            }
            assert_eq!(rows.len(), json.len());
            for (row, leg) in rows.iter().zip(&json) {
                let text = |name: &str| leg[name].as_str().unwrap_or_default().to_owned();
                let names = ["createdAt", "transactionId", "legId", "transactionType"];
                assert_eq!((row[0].as_str(), &row[1..5]), ("leg", &names.map(text)[..]));
                assert_eq!(row[5], format!("'{}", text("description")));
                assert_eq!(row[6], text("reference"));
                let names = ["merchantId", "counterpartyAccountId", "reversedAmount", "legType", "amount", "currency"];
                assert_eq!(&row[7..13], &names.map(text)[..]);
                assert_eq!(row[13], text("balanceAfter"));
            }
        }
    }
    let both = ann.request("GET", &scene.path("statement")).header("accept", "application/json, text/csv");
    assert!(send(both).await.body["items"].is_array());
    // A problem is always JSON.
    let problem = scene.books.user("eve").request("GET", &scene.path("statement")).header("accept", "text/csv");
    assert_problem(&send(problem).await, 403, "forbidden");
    scene.books.stack.stop().await;
}
