//! Compares the bank's lists with an in-memory model after random operations.

use proptest::{
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, TestRunner},
};
use serde_json::Value;
use std::cell::Cell;
use system_tests::{
    Client,
    bank::{archive, ask_to_move, path, schedule},
    stack, text, texts,
};

const ACCOUNTS: [&str; 3] = ["A", "A-1", "B"];
const STATUSES: [&str; 5] = ["SCHEDULED", "PENDING", "PROCESSED", "FAILED", "CANCELLED"];
const DAYS: usize = 3;

#[derive(Debug, Clone)]
enum Operation {
    /// Schedules a payment. There are few days and seconds, so several payments have the same time.
    Schedule {
        account: usize,
        day: usize,
        second: usize,
    },
    /// Changes the status of an existing payment. There are few transaction ids, so several
    /// payments request the same id.
    Move {
        which: Index,
        status: &'static str,
        transaction: usize,
    },
    Archive {
        day: usize,
    },
    ListByDate {
        day: usize,
        status: &'static str,
        limit: usize,
    },
    ListAccount {
        account: usize,
        limit: usize,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let (account, day) = (0..ACCOUNTS.len(), 0..DAYS);
    prop_oneof![
        4 => (account.clone(), day.clone(), select(vec![0_usize, 1, 43_200, 86_399]))
            .prop_map(|(account, day, second)| Operation::Schedule { account, day, second }),
        6 => (any::<Index>(), select(&STATUSES[1..]), 0_usize..12)
            .prop_map(|(which, status, transaction)| Operation::Move { which, status, transaction }),
        1 => day.clone().prop_map(|day| Operation::Archive { day }),
        2 => (day, select(&STATUSES[..]), 1_usize..6)
            .prop_map(|(day, status, limit)| Operation::ListByDate { day, status, limit }),
        1 => (account, 1_usize..6).prop_map(|(account, limit)| Operation::ListAccount { account, limit }),
    ]
}

/// Expected state of a payment.
#[derive(Debug)]
struct Known {
    payment: Value,
    account: usize,
    day: usize,
    status: &'static str,
    transaction: Option<usize>,
    archived: bool,
}

/// Expected state of one case. Each case has its own accounts and days.
struct Model<'a> {
    client: &'a Client,
    case: usize,
    known: Vec<Known>,
}

impl Model<'_> {
    /// Returns the date with the number `day`. The archive also moves the payments of all earlier
    /// days, so each case uses earlier days than the previous case.
    fn day(&self, day: usize) -> String {
        let start = jiff::civil::date(2099, 12, 1);
        let back = i64::try_from(self.case * DAYS).expect("a number");
        let day = i64::try_from(day).expect("a number");
        (start + jiff::SignedDuration::from_hours(24 * (day - back))).to_string()
    }

    fn account(&self, account: usize) -> String {
        format!("{}-of-{}", ACCOUNTS[account], self.case)
    }

    fn transaction(&self, transaction: usize) -> String {
        format!("T-{transaction}-of-{}", self.case)
    }

    async fn apply(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match *operation {
            Operation::Schedule { account, day, second } => {
                let time =
                    format!("{}T{:02}:{:02}:{:02}Z", self.day(day), second / 3_600, second / 60 % 60, second % 60);
                let payment = schedule(self.client, &self.account(account), &time).await;
                self.known.push(Known {
                    payment,
                    account,
                    day,
                    status: "SCHEDULED",
                    transaction: None,
                    archived: false,
                });
                Ok(())
            }
            Operation::Move { .. } if self.known.is_empty() => Ok(()),
            Operation::Move { which, status, transaction } => {
                self.move_one(which.index(self.known.len()), status, transaction).await
            }
            Operation::Archive { day } => self.archive(day).await,
            Operation::ListByDate { day, status, limit } => self.check_date(day, status, limit).await,
            Operation::ListAccount { account, limit } => self.check_account(account, limit).await,
        }
    }

    async fn move_one(&mut self, which: usize, status: &'static str, transaction: usize) -> Result<(), TestCaseError> {
        let used = self.known.iter().any(|known| known.transaction == Some(transaction));
        let name = self.transaction(transaction);
        let known = &mut self.known[which];
        let wanted = match (known.archived, known.status, status) {
            (true, _, _) => 404,
            (false, "SCHEDULED", "PENDING" | "CANCELLED") | (false, "PENDING", "FAILED") => 200,
            (false, "PENDING", "PROCESSED") if !used => 200,
            _ => 409,
        };
        let answer = ask_to_move(self.client, &known.payment, status, &name).await;
        prop_assert_eq!(answer.status, wanted, "{:?} to {}: {}", known, status, answer.body);
        if wanted == 200 {
            known.status = status;
            known.transaction = (status == "PROCESSED").then_some(transaction);
        }
        Ok(())
    }

    async fn archive(&mut self, day: usize) -> Result<(), TestCaseError> {
        let is_settled = |status| matches!(status, "PROCESSED" | "FAILED" | "CANCELLED");
        let due = |known: &&mut Known| !known.archived && is_settled(known.status) && known.day <= day;
        let moved = self.known.iter_mut().filter(due).map(|known| known.archived = true).count();
        prop_assert_eq!(archive(self.client, &self.day(day)).await, moved as u64);
        Ok(())
    }

    /// Checks that the list contains exactly the payments for which `is_in` is true, in order of
    /// scheduled time.
    async fn check(&self, list: String, is_in: impl Fn(&Known) -> bool) -> Result<(), TestCaseError> {
        let mut wanted: Vec<_> = self.known.iter().filter(|known| is_in(known)).collect();
        wanted.sort_by_key(|known| text(&known.payment, "paymentId"));
        let (items, _) = self.client.all(&list).await;
        let found: Vec<_> = texts(&items, "paymentId").into_iter().zip(texts(&items, "status")).collect();
        let wanted: Vec<_> = wanted.iter().map(|known| (text(&known.payment, "paymentId"), known.status)).collect();
        prop_assert_eq!(found, wanted, "{}", list);
        Ok(())
    }

    async fn check_date(&self, day: usize, status: &str, limit: usize) -> Result<(), TestCaseError> {
        let query = format!("date={}&status={status}&limit={limit}", self.day(day));
        let of_date = |known: &Known| known.day == day && known.status == status;
        self.check(format!("/bank/payments/due?{query}"), |known| of_date(known) && !known.archived).await?;
        self.check(format!("/bank/transactions?{query}"), |known| of_date(known) && known.archived).await
    }

    async fn check_account(&self, account: usize, limit: usize) -> Result<(), TestCaseError> {
        let path = format!("/bank/accounts/{}", self.account(account));
        let (from, to) = (self.day(0), self.day(DAYS));
        let query = format!("from={from}T00:00:00Z&to={to}T00:00:00Z&limit={limit}");
        let of_account = |known: &Known| known.account == account;
        self.check(format!("{path}/payments?{query}"), |known| of_account(known) && !known.archived).await?;
        self.check(format!("{path}/transactions?limit={limit}"), |known| of_account(known) && known.archived).await
    }

    async fn check_everything(&self) -> Result<(), TestCaseError> {
        for (day, status) in (0..DAYS).flat_map(|day| STATUSES.map(|status| (day, status))) {
            self.check_date(day, status, 7).await?;
        }
        for account in 0..ACCOUNTS.len() {
            self.check_account(account, 7).await?;
        }
        for known in &self.known {
            let found = self.client.get(&path(&known.payment)).await;
            prop_assert_eq!((found.status, text(&found.body, "status")), (200, known.status));
            let Some(transaction) = known.transaction else { continue };
            let found = self.client.get(&format!("/bank/transactions/{}", self.transaction(transaction))).await;
            let wanted = if known.archived { &known.payment["paymentId"] } else { &Value::Null };
            prop_assert_eq!(&found.body["paymentId"], wanted);
        }
        Ok(())
    }
}

fn check_random_operations(projection: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stack = stack().parameter("IndexProjection", projection);
    let stack = stack.parameter("WriteShards", "3").parameter("ReadShards", "3");
    let stack = runtime.block_on(stack.start()).expect("a stack");
    let client = Client::operator(&stack);
    let config = Config { cases: 16, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let case = Cell::new(0);
    let run = |operations: Vec<Operation>| {
        case.set(case.get() + 1);
        let mut model = Model { client: &client, case: case.get(), known: Vec::new() };
        runtime.block_on(async {
            for operation in &operations {
                model.apply(operation).await?;
            }
            model.check_everything().await
        })
    };
    let operations = prop::collection::vec(operation(), 1..40);
    let result = TestRunner::new(config).run(&operations, run);
    assert!(result.is_ok(), "{}", result.err().map(|error| error.to_string()).unwrap_or_default());
    runtime.block_on(stack.stop());
}

#[test]
fn lists_match_the_model_with_keys_only_projection() {
    check_random_operations("KEYS_ONLY");
}

#[test]
fn lists_match_the_model_with_all_projection() {
    check_random_operations("ALL");
}
