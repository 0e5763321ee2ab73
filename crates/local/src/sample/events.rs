//! Objects that the GET events of `events` read. Other events create them.
//!
//! Most ids contain a time and random bits. Here both are fixed, so that every stack has the
//! objects whose ids are in the events.
use std::time::Duration;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::SampleError;
use crate::{Stack, events::expand};

/// Number of times that a GET event is repeated while jobs run, and the pause between them.
const LOOKS: usize = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// A time in the past. Payments and orders of this time need no more attention.
const PAST: &str = "2020-12-01T09:30:00Z";
/// A time in the far future, for objects that expire.
const FUTURE: &str = "2099-12-01T09:30:00Z";

/// Lines of an order that a job moves: one more than a transaction can.
const LINES: usize = 33;

/// An event: its function and its JSON text.
type Event = (&'static str, &'static str);

macro_rules! file {
    ($service:literal, $name:literal) => {
        include_str!(concat!("../../../../events/", $service, "/", $name, ".json"))
    };
}

macro_rules! event {
    ($service:literal, $function:literal) => {
        ($function, file!($service, $function))
    };
}

/// An invocation with an event.
struct Step {
    event: Event,
    /// Name of a variant of the event, and the file with the variants.
    variant: Option<(&'static str, &'static str)>,
    /// Time of the request. `None` is the time of the event.
    time: Option<&'static str>,
    /// Texts of the event that are replaced.
    changes: &'static [(&'static str, &'static str)],
}

const fn step(event: Event) -> Step {
    Step { event, variant: None, time: None, changes: &[] }
}

const fn step_at(time: &'static str, event: Event) -> Step {
    Step { time: Some(time), ..step(event) }
}

impl Step {
    /// Returns the text of the event, or of its variant.
    fn text(&self) -> Result<String, SampleError> {
        let (function, base) = self.event;
        let Some((name, variants)) = self.variant else { return Ok(base.to_owned()) };
        let fail = |error: String| SampleError::Event(function, error);
        let parse = |text| serde_json::from_str::<Value>(text).map_err(|error| fail(error.to_string()));
        let variant = parse(variants)?.get(name).cloned().unwrap_or_default();
        let event = expand(parse(base)?, variant).map_err(|error| fail(format!("{name}: {error}")))?;
        Ok(event.to_string())
    }
}

/// The time of the load.
const NOW: &str = "now";

/// A GET event, and the steps that create what it reads.
struct Goal {
    service: &'static str,
    get: Event,
    steps: &'static [Step],
}

const PAYMENT: &str = "20991201T093000Z-01761da325c07529a37920af0dab831d";
const PAID: &str = "20201201T093000Z-01761da325c07281a1a99fb40165c7c4";

const GOALS: [Goal; 14] = [
    Goal {
        service: "bank",
        get: event!("bank", "get-payment"),
        steps: &[step_at(PAST, event!("bank", "schedule-payment"))],
    },
    Goal {
        service: "bank",
        get: event!("bank", "find-transaction"),
        steps: &[
            Step {
                changes: &[("rent-2099-12", "rent-2020-12"), (FUTURE, PAST)],
                ..step_at(PAST, event!("bank", "schedule-payment"))
            },
            Step {
                changes: &[(PAYMENT, PAID), (CUSTOMER, OPERATOR), ("CANCELLED", "PENDING")],
                ..step_at(PAST, event!("bank", "update-payment-status"))
            },
            Step {
                changes: &[
                    (PAYMENT, PAID),
                    (CUSTOMER, OPERATOR),
                    (r#"CANCELLED\""#, r#"PROCESSED\",\"transactionId\":\"T-2099-12-01-1\""#),
                ],
                ..step_at(PAST, event!("bank", "update-payment-status"))
            },
            Step {
                variant: Some(("archive-settled-payments.by-hand", file!("bank", "variants"))),
                changes: &[("2099-12-01", "2020-12-01")],
                ..step(event!("bank", "archive-settled-payments"))
            },
        ],
    },
    Goal {
        service: "bank",
        get: event!("bank", "get-bank-job"),
        steps: &[step_at(NOW, event!("bank", "start-dispatch"))],
    },
    Goal {
        service: "cart",
        get: event!("cart", "get-order"),
        steps: &[
            Step { changes: &[("add-72f49-1", "sample-event-item")], ..step_at(PAST, event!("cart", "add-cart-item")) },
            Step { changes: &[("order-1", "sample-event-order")], ..step_at(PAST, event!("cart", "checkout-cart")) },
        ],
    },
    Goal {
        service: "ledger",
        get: event!("ledger", "get-merchant"),
        steps: &[step_at(NOW, event!("ledger", "create-merchant"))],
    },
    Goal {
        service: "ledger",
        get: event!("ledger", "get-transaction"),
        steps: &[
            Step {
                variant: Some(("create-account.external", file!("ledger", "variants"))),
                ..step_at(NOW, event!("ledger", "create-account"))
            },
            step_at(NOW, event!("ledger", "create-account")),
            step_at(NOW, event!("ledger", "process-payment")),
        ],
    },
    Goal {
        service: "ledger",
        get: event!("ledger", "get-hold"),
        steps: &[step_at(NOW, event!("ledger", "create-hold"))],
    },
    Goal {
        service: "ledger",
        get: event!("ledger", "get-reconciliation"),
        steps: &[step(event!("ledger", "start-reconciliation"))],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-activity"),
        steps: &[step_at(PAST, event!("wellness", "create-activity"))],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-template"),
        steps: &[step_at(PAST, event!("wellness", "create-template"))],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-employee-import"),
        steps: &[step_at(FUTURE, event!("wellness", "create-employee-import"))],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-report"),
        steps: &[Step {
            changes: &[("plans/2026", "plans/2020"), (YEAR, OTHER_YEAR)],
            ..step_at(NOW, event!("wellness", "start-report"))
        }],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-export"),
        steps: &[step_at(NOW, event!("wellness", "start-export"))],
    },
    Goal {
        service: "wellness",
        get: event!("wellness", "get-erasure"),
        steps: &[step_at(NOW, event!("wellness", "start-erasure"))],
    },
];

const YEAR: &str = r#""planId": "2026""#;
const OTHER_YEAR: &str = r#""planId": "2020""#;
const CUSTOMER: &str = "bank:read bank:write";
const OPERATOR: &str = "bank:operate";

/// Creates the objects that are missing.
pub(super) async fn load(stack: &Stack) -> Result<(), SampleError> {
    let has = |service: &str| stack.template().services().contains(&service);
    for (number, goal) in (0..).zip(&GOALS).filter(|(_, goal)| has(goal.service)) {
        if is_there(stack, goal.get).await? {
            continue;
        }
        for (seed, step) in (100 * number..).zip(goal.steps) {
            let event = step.changes.iter().fold(step.text()?, |event, (old, new)| event.replace(old, new));
            send(stack, (step.event.0, &event), step.time, Some(seed)).await?;
        }
        wait(stack, goal.get).await?;
    }
    if has("cart") {
        order_many(stack).await?;
    }
    if let Some(inbox) = stack.inbox().filter(|_| has("bank") && stack.has_buckets()) {
        import(stack, inbox).await?;
    }
    Ok(())
}

/// Buys so many products at once that a job moves them.
async fn order_many(stack: &Stack) -> Result<(), SampleError> {
    let get = event!("cart", "get-cart-job");
    if is_there(stack, get).await? {
        return Ok(());
    }
    let (put, add, buy) =
        (event!("cart", "put-product"), event!("cart", "add-cart-item"), event!("cart", "checkout-cart"));
    let of_account = |text: &str| text.replace("Account1", "Wholesale").replace("order-1", "sample-wholesale");
    for number in 1..=LINES {
        let sku = format!("bulk-{number:02}");
        let of_sku = |text: &str| of_account(text).replace("72f49", &sku).replace("Garden chair", "Bulk ware");
        send(stack, (put.0, &of_sku(put.1)), Some(FUTURE), None).await?;
        send(stack, (add.0, &of_sku(add.1)), Some(FUTURE), None).await?;
    }
    send(stack, (buy.0, &of_account(buy.1)), Some(FUTURE), Some(20_000)).await?;
    wait(stack, get).await
}

/// Uploads a file of one payment.
async fn import(stack: &Stack, inbox: &str) -> Result<(), SampleError> {
    let get = event!("bank", "get-import");
    if is_there(stack, get).await? {
        return Ok(());
    }
    let payment = json!({
        "id": "rent-1", "accountId": "Account1", "scheduledTime": FUTURE, "data": {"amount": "5.00", "currency": "USD"},
    });
    let put = stack.put_object(inbox, "inbox/morning-2026-12-01.jsonl", format!("{payment}\n").as_bytes());
    put.map_err(|error| SampleError::Event(get.0, error))?;
    wait(stack, get).await
}

async fn is_there(stack: &Stack, (function, event): Event) -> Result<bool, SampleError> {
    let fail = |error: String| SampleError::Event(function, error);
    let event = serde_json::from_str(event).map_err(|error| fail(error.to_string()))?;
    let answer = stack.invoke(function, event, None).await.map_err(fail)?;
    Ok(answer["statusCode"] == StatusCode::OK.as_u16())
}

async fn wait(stack: &Stack, get: Event) -> Result<(), SampleError> {
    for _ in 0..LOOKS {
        if is_there(stack, get).await? {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
    Err(SampleError::Event(get.0, "the object does not exist".to_owned()))
}

/// Invokes a function with an event at a time. With a seed, new ids are the same on every stack.
async fn send(
    stack: &Stack,
    (function, event): (&'static str, &str),
    time: Option<&str>,
    seed: Option<u64>,
) -> Result<(), SampleError> {
    let fail = |error: String| SampleError::Event(function, error);
    let mut event: Value = serde_json::from_str(event).map_err(|error| fail(error.to_string()))?;
    if let Some(time) = time {
        let time = if time == NOW { Ok(stack.now()) } else { time.parse::<Timestamp>() };
        event["requestContext"]["timeEpoch"] = time.map_err(|error| fail(error.to_string()))?.as_millisecond().into();
    }
    for _ in 0..LOOKS {
        let answer = stack.invoke(function, event.clone(), seed).await.map_err(fail)?;
        match answer["statusCode"].as_u64() {
            // A company may run a limited number of jobs at the same time.
            Some(429) => sleep(PAUSE).await,
            Some(300..) => return Err(fail(answer.to_string())),
            _ => return Ok(()),
        }
    }
    Err(fail("the response is 429".to_owned()))
}
