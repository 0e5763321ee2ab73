//! Fills days with payments. Imports the payments directly into the engine, because scheduling a
//! million payments over HTTP would take minutes.

use bank::Payment;
use dynoxide::{Database, ImportOptions, types::AttributeValue};
use jiff::{SignedDuration, Timestamp};
use keys::bank::{DueSort, PaymentId, PaymentSort};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};
use system_tests::bank::{scheduled_payment, second_of};

/// Maximum number of items per import.
const TOGETHER: usize = 10_000;
const SECONDS: usize = 24 * 60 * 60;

/// A folder with the data of a stack. Drop removes the folder.
pub(crate) struct Days(PathBuf);

impl Days {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("measure-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("data")
    }

    /// Starts the stack with this data.
    pub(crate) async fn stack(&self, builder: Builder) -> Stack {
        builder.data(self.file()).start().await.expect("a stack")
    }

    /// Adds `count` payments of up to 2,000 accounts, spread evenly over the day and the shards.
    pub(crate) fn fill(&self, stack: &Stack, day: &str, count: usize, shards: usize) {
        self.fill_with(stack, day, count, shards, |payment| payment);
    }

    /// Adds payments as [`Days::fill`] does, after `change`.
    pub(crate) fn fill_with(
        &self,
        stack: &Stack,
        day: &str,
        count: usize,
        shards: usize,
        change: impl Fn(Payment) -> Payment,
    ) {
        let table = stack.table("PaymentScheduler").expect("a table");
        let database = open(&self.file());
        let numbers: Vec<usize> = (0..count).collect();
        for some in numbers.chunks(TOGETHER) {
            let items = some.iter().map(|number| item(&change(one(day, *number, count, shards)))).collect();
            database.import_items(table, items, ImportOptions::default()).expect("imported");
        }
    }
}

impl Drop for Days {
    fn drop(&mut self) {
        // A leftover temporary folder does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(file: &Path) -> Database {
    let database = Database::new(file.to_str().expect("UTF-8")).expect("the data");
    database.enable_bulk_loading().expect("bulk loading is enabled");
    database
}

fn one(day: &str, number: usize, count: usize, shards: usize) -> Payment {
    let second = i64::try_from(number * SECONDS / count).expect("a second");
    let like = scheduled_payment(&format!("A-{}", number % 2_000), second_of(day, second), number % shards);
    // The payment id contains the creation time. Each payment is created a millisecond after the
    // previous payment, so that consecutive payments of one second are on different shards.
    let made = Timestamp::UNIX_EPOCH + SignedDuration::from_millis(i64::try_from(number).expect("a number"));
    let id = PaymentId::new(like.id().time(), made, &system_tests::random());
    Payment { sort: PaymentSort(id), due: DueSort { payment: id, ..like.due }, ..like }
}

/// Returns the attributes of a payment. Every attribute is a string or a number.
pub(crate) fn attributes(payment: &Payment) -> impl Iterator<Item = (String, Value)> + use<> {
    let Ok(Value::Object(attributes)) = serde_json::to_value(payment) else { unreachable!("an object") };
    attributes.into_iter().chain([(String::from("Type"), Value::from("Payment"))])
}

fn item(payment: &Payment) -> HashMap<String, AttributeValue> {
    let value = |value: Value| match value {
        Value::String(text) => AttributeValue::S(text),
        number => AttributeValue::N(number.to_string()),
    };
    attributes(payment).map(|(name, found)| (name, value(found))).collect()
}

/// Details of a payment of 8 KB. With its keys, the payment consumes eight write request units, as
/// docs/requirements/bank.md#item-size requires.
pub(crate) fn data() -> Value {
    json!({"memo": "x".repeat(7_000)})
}

/// Creates a payment of 8 KB on the given shard, without storing it.
pub(crate) fn of_8_kb(account: usize, due: Timestamp, shard: usize) -> Payment {
    let data = serde_json::from_value(data().to_string().into()).expect("data");
    Payment { data, ..scheduled_payment(&format!("Account{account}"), due, shard) }
}
