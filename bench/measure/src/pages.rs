//! Measures pages of due payments (B3) through the gateway, for days with different numbers of
//! payments.

use crate::{calls::timed, days::Days};
use serde_json::{Map, Value, json};
use system_tests::{Answer, Client, stack, units::consumed};

const SHARDS: usize = 5;
/// Number of payments on the smallest day. Each further day has ten times as many.
const FEWEST: usize = 1_000;
const WARM_UP: usize = 5;

/// A day, and the measured pages of the day.
struct Day {
    payments: usize,
    pages: [Page; 3],
}

struct Page {
    name: &'static str,
    path: String,
    units: Map<String, Value>,
    millis: Vec<f64>,
}

impl Page {
    fn new(name: &'static str, path: String) -> Self {
        Self { name, path, units: Map::new(), millis: Vec::new() }
    }

    async fn read(&mut self, client: &Client) {
        let (answer, millis) = timed(client.get(&self.path)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        self.units = units(&answer);
        self.millis.push(millis);
    }
}

/// Measures days with up to `most` payments. Reads each page `rounds` times.
pub(crate) async fn measure(most: usize, rounds: usize) -> Value {
    let folder = Days::new("pages");
    let stack = folder.stack(stack()).await;
    let client = Client::operator(&stack);
    let mut days = Vec::new();
    let mut payments = FEWEST;
    while payments <= most {
        let date = format!("2099-12-{:02}", days.len() + 1);
        folder.fill(&stack, &date, payments, SHARDS);
        days.push(day(&client, &date, payments).await);
        payments *= 10;
    }
    for round in 0..rounds + WARM_UP {
        for number in 0..days.len() {
            // The order of the days rotates, so that no day is always read first.
            let at = (number + round) % days.len();
            for page in &mut days[at].pages {
                page.read(&client).await;
            }
        }
    }
    stack.stop().await;
    let days: Vec<Value> = days.into_iter().map(Day::told).collect();
    json!({"shards": SHARDS, "rounds": rounds, "warm_up": WARM_UP, "days": days})
}

impl Day {
    fn told(self) -> Value {
        let page = |page: Page| (page.name.to_owned(), json!({"units": page.units, "millis": page.millis[WARM_UP..]}));
        json!({"payments": self.payments, "pages": self.pages.map(page).into_iter().collect::<Map<_, _>>()})
    }
}

async fn day(client: &Client, date: &str, payments: usize) -> Day {
    let due = format!("/bank/payments/due?date={date}");
    let middle = middle(client, &format!("{due}&limit=100"), payments).await;
    Day {
        payments,
        pages: [
            Page::new("first 50", format!("{due}&limit=50")),
            Page::new("first 100", format!("{due}&limit=100")),
            Page::new("100 in the middle", middle),
        ],
    }
}

/// Follows the cursors from the first page to the page in the middle. Returns the path of this
/// page.
async fn middle(client: &Client, path: &str, payments: usize) -> String {
    let mut page = path.to_owned();
    for _ in 0..payments / 2 / 100 {
        let answer = client.get(&page).await;
        page = format!("{path}&cursor={}", answer.body["nextCursor"].as_str().expect("more"));
    }
    page
}

fn units(answer: &Answer) -> Map<String, Value> {
    consumed(answer).into_iter().map(|(place, (read, _))| (place, json!(read.as_f64()))).collect()
}
