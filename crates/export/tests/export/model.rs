//! Model of a cart. It generates stream records and the rows that are expected for them.

use cart::{Line, Previous, Quantity};
use fastrand::Rng;
use jiff::Timestamp;
use keys::{
    TimestampMillis,
    cart::{LineSort, Status},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of cart items in the model.
const LINES: usize = 200;

pub(crate) struct Cart {
    rng: Rng,
    milli: i64,
    next: u64,
    /// Cart items that customers see, by account and id.
    lines: BTreeMap<(String, String), Line>,
    /// Cart items with the status `REMOVED` or `JOINED`, which TTL deletes later.
    ended: Vec<Line>,
    pub(crate) records: Vec<Value>,
    /// Expected event ids with their operations.
    pub(crate) expected: BTreeMap<String, &'static str>,
    /// Event ids that must be in the failure bucket.
    pub(crate) unsendable: BTreeSet<String>,
}

impl Cart {
    /// Creates a model that has generated `records` stream records.
    pub(crate) fn after(records: usize, seed: u64) -> Self {
        let mut cart = Self {
            rng: Rng::with_seed(seed),
            milli: 1_767_349_800_000,
            next: 0,
            lines: BTreeMap::new(),
            ended: Vec::new(),
            records: Vec::new(),
            expected: BTreeMap::new(),
            unsendable: BTreeSet::new(),
        };
        while cart.records.len() < records {
            cart.step();
        }
        cart
    }

    /// Expected content of the rebuilt table, by account and id.
    pub(crate) fn table(&self) -> BTreeMap<(String, String), Value> {
        let seconds = |at: i64| time(Timestamp::from_second(at).expect("a time"));
        let row = |line: &Line| {
            json!({
                "sku": line.sku.as_str(),
                "status": line.sort.status.as_str(),
                "status_changed_at": time(line.sort.since.instant()),
                "quantity": u32::from(line.quantity),
                "price": line.price.map(|price| price.amount().to_string()),
                "currency": line.price.map(|price| price.currency().code()),
                "order_id": line.order_id.as_ref().map(ToString::to_string),
                "added_at": time(line.added_at.instant()),
                "expires_at": line.expires_at.map(seconds),
                "version": line.version,
            })
        };
        self.lines.iter().map(|(key, line)| (key.clone(), row(line))).collect()
    }

    fn step(&mut self) {
        self.milli += self.rng.i64(0..3_000);
        if self.lines.len() < LINES && self.rng.u8(0..10) < 6 {
            return self.add();
        }
        let Some((key, line)) = self.any() else { return self.add() };
        match self.rng.u8(0..100) {
            0..35 if line.sort.status != Status::Purchased => self.change(key, &line),
            35..50 if line.sort.status == Status::Active => self.moves(key, &line, Status::Saved),
            35..50 if line.sort.status == Status::Saved => self.moves(key, &line, Status::Active),
            50..60 if line.sort.status != Status::Purchased => self.moves(key, &line, Status::Purchased),
            60..70 if line.sort.status != Status::Purchased => self.moves(key, &line, Status::Removed),
            70..78 if line.sort.status == Status::Saved => self.join(key, &line),
            78..86 if line.sort.status == Status::Active => self.expire(&key, &line),
            86..90 => self.forget(),
            90..93 => self.tell("MODIFY", Some(&line), Some(&line), false, None),
            93..96 => self.pointer(&line),
            96 => self.bad(line),
            97.. if self.lines.len() > LINES / 2 => self.expire(&key, &line),
            _ => self.add(),
        }
    }

    fn any(&mut self) -> Option<((String, String), Line)> {
        let place = self.rng.usize(0..self.lines.len().max(1));
        self.lines.iter().nth(place).map(|(key, line)| (key.clone(), line.clone()))
    }

    fn now(&self) -> TimestampMillis {
        TimestampMillis::containing(Timestamp::from_millisecond(self.milli).expect("a time")).expect("a time")
    }

    fn new_line(&mut self) -> Line {
        let (account, sku) = (format!("Account{}", self.rng.u8(0..20)), format!("SKU-{}", self.rng.u16(0..500)));
        let price =
            json!({"Amount": format!("{}.{:02}", self.rng.u16(0..500), self.rng.u8(0..100)), "Currency": "USD"});
        let sort = LineSort {
            status: Status::Active,
            since: self.now(),
            item: format!("{:032x}", self.rng.u128(..)).parse().expect("an id"),
        };
        Line {
            account: account.parse().expect("an account"),
            sort,
            index_partition: Some(sku.parse().expect("a SKU")),
            index_sort: Some(sort),
            sku: sku.parse().expect("a SKU"),
            quantity: self.quantity(),
            price: self.rng.bool().then(|| serde_json::from_value(price).expect("money")),
            added_at: self.now(),
            order_id: None,
            version: 1,
            previous: None,
            joined_to: None,
            expires_at: Some(self.milli / 1_000 + 604_800),
        }
    }

    fn quantity(&mut self) -> Quantity {
        self.rng.u32(1..=100).try_into().expect("a quantity")
    }

    fn add(&mut self) {
        let line = self.new_line();
        self.tell("INSERT", Some(&line), None, false, Some("insert"));
        self.lines.insert(key(&line), line);
    }

    fn change(&mut self, key: (String, String), line: &Line) {
        let changed = Line { quantity: self.quantity(), version: line.version + 1, ..line.clone() };
        self.tell("MODIFY", Some(&changed), Some(line), false, Some("modify"));
        self.lines.insert(key, changed);
    }

    /// Changes the status. The two stream records of the transaction can have either order.
    fn moves(&mut self, key: (String, String), line: &Line, to: Status) {
        let moved = self.moved(line, to);
        let operation = if to == Status::Removed { "remove" } else { "move" };
        if self.rng.bool() {
            self.tell("REMOVE", None, Some(line), false, None);
            self.tell("INSERT", Some(&moved), None, false, Some(operation));
        } else {
            self.tell("INSERT", Some(&moved), None, false, Some(operation));
            self.tell("REMOVE", None, Some(line), false, None);
        }
        if to.is_listed() {
            self.lines.insert(key, moved);
        } else {
            self.lines.remove(&key);
            self.ended.push(moved);
        }
    }

    fn moved(&self, line: &Line, to: Status) -> Line {
        let sort = LineSort { status: to, since: self.now(), item: line.sort.item };
        let order_id = (to == Status::Purchased).then(|| format!("Order{}", self.milli).parse().expect("an order"));
        Line {
            sort,
            index_sort: to.is_listed().then_some(sort),
            index_partition: to.is_listed().then(|| line.sku.clone()),
            order_id,
            version: line.version + 1,
            previous: Some(Previous { status: line.sort.status, since: line.sort.since, quantity: line.quantity }),
            expires_at: (to != Status::Saved && to != Status::Purchased).then_some(self.milli / 1_000 + 604_800),
            ..line.clone()
        }
    }

    /// Merges a saved item into an active item of the same account, whose quantity increases.
    fn join(&mut self, key: (String, String), line: &Line) {
        let is_host = |other: &&Line| other.account == line.account && other.sort.status == Status::Active;
        let Some(host) = self.lines.values().find(is_host).cloned() else { return self.change(key, line) };
        let joined = Line { joined_to: Some(host.sort.item), ..self.moved(line, Status::Joined) };
        self.tell("INSERT", Some(&joined), None, false, Some("move"));
        self.change(self::key(&host), &host);
        self.tell("REMOVE", None, Some(line), false, None);
        self.lines.remove(&key);
        self.ended.push(joined);
    }

    fn expire(&mut self, key: &(String, String), line: &Line) {
        if line.sort.status == Status::Active {
            self.tell("REMOVE", None, Some(line), true, Some("expire"));
            self.lines.remove(key);
        }
    }

    /// TTL deletes an item with the status `REMOVED` or `JOINED`.
    fn forget(&mut self) {
        if let Some(line) = self.ended.pop() {
            self.tell("REMOVE", None, Some(&line), true, None);
        }
    }

    fn pointer(&mut self, line: &Line) {
        self.tell("INSERT", Some(line), None, false, None);
        let change = &mut self.records.last_mut().expect("a record")["dynamodb"];
        let sort = json!({"S": format!("ITEM#{}", line.sort.item)});
        change["Keys"]["SK"] = sort.clone();
        change["NewImage"] = json!({"PK": {"S": line.account.as_str()}, "SK": sort});
    }

    /// Generates a stream record that can never be sent, for an item that is not in the table.
    fn bad(&mut self, line: Line) {
        let line = Line { sort: LineSort { item: self.new_line().sort.item, ..line.sort }, ..line };
        self.tell("INSERT", Some(&line), None, false, None);
        let kind = self.rng.u8(0..8);
        let record = self.records.last_mut().expect("a record");
        let image = &mut record["dynamodb"]["NewImage"];
        match kind {
            0..3 => image["Quantity"] = json!({"S": "many"}),
            3..5 => image["Sku"] = json!({"S": "x".repeat(390_000)}),
            5..7 => *image = Value::Null,
            // The emulator rejects this row.
            _ => image["Sku"] = json!({"S": "REFUSED"}),
        }
        if let Some(image) = image.as_object_mut() {
            image.remove("Previous");
        }
        record["dynamodb"]["Keys"]["SK"] = json!({"S": format!("ACTIVE#{}#{}", line.sort.since, line.sort.item)});
        if kind == 7 {
            record["dynamodb"]["NewImage"]["SK"] = record["dynamodb"]["Keys"]["SK"].clone();
        }
        self.unsendable.insert(record["eventID"].as_str().expect("an id").to_owned());
    }

    fn tell(&mut self, name: &str, new: Option<&Line>, old: Option<&Line>, ttl: bool, operation: Option<&'static str>) {
        self.next += 1;
        let event_id = format!("{:032x}", u128::from(self.next) << 64 | 0xcafe);
        let line = new.or(old).expect("an image");
        let mut change = json!({
            "ApproximateCreationDateTime": self.milli / 1_000,
            "Keys": {"PK": {"S": line.account.as_str()}, "SK": {"S": line.sort.to_string()}},
            "SequenceNumber": (4_421_584_500_000_000_017_450_u128 * 1_000_000 + u128::from(self.next)).to_string(),
            "SizeBytes": 512,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        });
        for (image, line) in [("NewImage", new), ("OldImage", old)] {
            if let Some(line) = line {
                change[image] = image_of(line);
            }
        }
        let mut record = json!({"eventID": event_id, "eventName": name, "eventVersion": "1.1",
            "eventSource": "aws:dynamodb", "awsRegion": "us-east-1", "dynamodb": change});
        if ttl {
            record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
        }
        self.records.push(record);
        if let Some(operation) = operation {
            self.expected.insert(event_id, operation);
        }
    }
}

fn key(line: &Line) -> (String, String) {
    (line.account.to_string(), line.sort.item.to_string())
}

fn image_of(line: &Line) -> Value {
    let image: serde_dynamo::Item = serde_dynamo::to_item(line).expect("an item");
    let mut image = serde_json::to_value(image).expect("JSON");
    image["Type"] = json!({"S": "CartLine"});
    image
}

fn time(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// Rebuilds the table from rows in any order: the highest version of an item is its current state.
pub(crate) fn rebuilt(rows: &[Value]) -> BTreeMap<(String, String), Value> {
    let mut last: BTreeMap<(String, String), &Value> = BTreeMap::new();
    let text = |row: &Value, column: &str| row[column].as_str().expect("a text").to_owned();
    for row in rows {
        let best = last.entry((text(row, "account_id"), text(row, "item_id"))).or_insert(row);
        if row["version"].as_i64() > best["version"].as_i64() {
            *best = row;
        }
    }
    let is_there = |row: &Value| row["status"].is_string() && row["status"] != "JOINED";
    let columns = [
        "sku",
        "status",
        "status_changed_at",
        "quantity",
        "price",
        "currency",
        "order_id",
        "added_at",
        "expires_at",
        "version",
    ];
    let image = |row: &Value| columns.iter().map(|name| ((*name).to_owned(), row[*name].clone())).collect();
    last.into_iter().filter(|(_, row)| is_there(row)).map(|(key, row)| (key, Value::Object(image(row)))).collect()
}
