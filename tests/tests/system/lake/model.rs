//! Model of a cart. The model generates stream records, and the rows that the export must write for
//! these records.

use cart::{CartItem, Previous, Quantity};
use fastrand::Rng;
use jiff::Timestamp;
use keys::{
    TimestampMillis,
    cart::{CartItemSort, Status},
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of cart items in the model.
const MAX_ITEMS: usize = 200;

pub(crate) struct Cart {
    rng: Rng,
    milli: i64,
    next: u64,
    /// Cart items that customers can see, by account and id.
    items: BTreeMap<(String, String), CartItem>,
    /// Cart items with the status `REMOVED` or `JOINED`, which TTL deletes later.
    ended: Vec<CartItem>,
    pub(crate) records: Vec<Value>,
    /// Expected operations, by event id.
    pub(crate) expected: BTreeMap<String, &'static str>,
    /// Event ids that must be in the failure bucket.
    pub(crate) unsendable: BTreeSet<String>,
}

impl Cart {
    /// Creates a model, and makes random changes until it has generated `records` stream records.
    pub(crate) fn after(records: usize, seed: u64) -> Self {
        let mut cart = Self {
            rng: Rng::with_seed(seed),
            milli: 1_767_349_800_000,
            next: 0,
            items: BTreeMap::new(),
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
        let row = |cart_item: &CartItem| {
            json!({
                "sku": cart_item.sku.as_str(),
                "status": cart_item.sort.status.as_str(),
                "status_changed_at": time(cart_item.sort.since.instant()),
                "quantity": u32::from(cart_item.quantity),
                "price": cart_item.price.amount().to_string(),
                "currency": cart_item.price.currency().code(),
                "order_id": cart_item.order_id.as_ref().map(ToString::to_string),
                "added_at": time(cart_item.added_at.instant()),
                "expires_at": cart_item.expires_at.map(seconds),
                "version": cart_item.version,
            })
        };
        self.items.iter().map(|(key, cart_item)| (key.clone(), row(cart_item))).collect()
    }

    fn step(&mut self) {
        self.milli += self.rng.i64(0..3_000);
        if self.items.len() < MAX_ITEMS && self.rng.u8(0..10) < 6 {
            return self.add();
        }
        let Some((key, cart_item)) = self.any() else { return self.add() };
        match self.rng.u8(0..100) {
            0..35 if cart_item.sort.status != Status::Purchased => self.change(key, &cart_item),
            35..50 if cart_item.sort.status == Status::Active => self.moves(key, &cart_item, Status::Saved),
            35..50 if cart_item.sort.status == Status::Saved => self.moves(key, &cart_item, Status::Active),
            50..60 if cart_item.sort.status != Status::Purchased => self.moves(key, &cart_item, Status::Purchased),
            60..70 if cart_item.sort.status != Status::Purchased => self.moves(key, &cart_item, Status::Removed),
            70..78 if cart_item.sort.status == Status::Saved => self.join(key, &cart_item),
            78..86 if cart_item.sort.status == Status::Active => self.expire(&key, &cart_item),
            86..90 => self.forget(),
            90..93 => self.emit("MODIFY", Some(&cart_item), Some(&cart_item), false, None),
            93..96 => self.pointer(&cart_item),
            96 => self.bad(cart_item),
            97.. if self.items.len() > MAX_ITEMS / 2 => self.expire(&key, &cart_item),
            _ => self.add(),
        }
    }

    fn any(&mut self) -> Option<((String, String), CartItem)> {
        let place = self.rng.usize(0..self.items.len().max(1));
        self.items.iter().nth(place).map(|(key, cart_item)| (key.clone(), cart_item.clone()))
    }

    fn now(&self) -> TimestampMillis {
        TimestampMillis::containing(Timestamp::from_millisecond(self.milli).expect("a time")).expect("a time")
    }

    fn new_cart_item(&mut self) -> CartItem {
        let (account, sku) = (format!("Account{}", self.rng.u8(0..20)), format!("SKU-{}", self.rng.u16(0..500)));
        let price =
            json!({"Amount": format!("{}.{:02}", self.rng.u16(0..500), self.rng.u8(0..100)), "Currency": "USD"});
        let sort = CartItemSort {
            status: Status::Active,
            since: self.now(),
            item: format!("{:032x}", self.rng.u128(..)).parse().expect("an id"),
        };
        CartItem {
            account: account.parse().expect("an account"),
            sort,
            index_partition: Some(sku.parse().expect("a SKU")),
            index_sort: Some(sort),
            sku: sku.parse().expect("a SKU"),
            quantity: self.quantity(),
            name: "Garden chair".parse().expect("a name"),
            price: serde_json::from_value(price).expect("money"),
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
        let cart_item = self.new_cart_item();
        self.emit("INSERT", Some(&cart_item), None, false, Some("insert"));
        self.items.insert(key(&cart_item), cart_item);
    }

    fn change(&mut self, key: (String, String), cart_item: &CartItem) {
        let changed = CartItem { quantity: self.quantity(), version: cart_item.version + 1, ..cart_item.clone() };
        self.emit("MODIFY", Some(&changed), Some(cart_item), false, Some("modify"));
        self.items.insert(key, changed);
    }

    /// Changes the status. The transaction generates two stream records, in either order.
    fn moves(&mut self, key: (String, String), cart_item: &CartItem, to: Status) {
        let moved = self.moved(cart_item, to);
        let operation = if to == Status::Removed { "remove" } else { "move" };
        if self.rng.bool() {
            self.emit("REMOVE", None, Some(cart_item), false, None);
            self.emit("INSERT", Some(&moved), None, false, Some(operation));
        } else {
            self.emit("INSERT", Some(&moved), None, false, Some(operation));
            self.emit("REMOVE", None, Some(cart_item), false, None);
        }
        if to.is_listed() {
            self.items.insert(key, moved);
        } else {
            self.items.remove(&key);
            self.ended.push(moved);
        }
    }

    fn moved(&self, cart_item: &CartItem, to: Status) -> CartItem {
        let sort = CartItemSort { status: to, since: self.now(), item: cart_item.sort.item };
        let order_id = (to == Status::Purchased).then(|| format!("Order{}", self.milli).parse().expect("an order"));
        CartItem {
            sort,
            index_sort: to.is_listed().then_some(sort),
            index_partition: to.is_listed().then(|| cart_item.sku.clone()),
            order_id,
            version: cart_item.version + 1,
            previous: Some(Previous {
                status: cart_item.sort.status,
                since: cart_item.sort.since,
                quantity: cart_item.quantity,
                price: None,
            }),
            expires_at: (to != Status::Saved && to != Status::Purchased).then_some(self.milli / 1_000 + 604_800),
            ..cart_item.clone()
        }
    }

    /// Merges a saved item into an active item of the same account, and changes the quantity of the
    /// active item.
    fn join(&mut self, key: (String, String), cart_item: &CartItem) {
        let is_host = |other: &&CartItem| other.account == cart_item.account && other.sort.status == Status::Active;
        let Some(host) = self.items.values().find(is_host).cloned() else { return self.change(key, cart_item) };
        let joined = CartItem { joined_to: Some(host.sort.item), ..self.moved(cart_item, Status::Joined) };
        self.emit("INSERT", Some(&joined), None, false, Some("move"));
        self.change(self::key(&host), &host);
        self.emit("REMOVE", None, Some(cart_item), false, None);
        self.items.remove(&key);
        self.ended.push(joined);
    }

    fn expire(&mut self, key: &(String, String), cart_item: &CartItem) {
        if cart_item.sort.status == Status::Active {
            self.emit("REMOVE", None, Some(cart_item), true, Some("expire"));
            self.items.remove(key);
        }
    }

    /// Deletes a `REMOVED` or `JOINED` item, as TTL does.
    fn forget(&mut self) {
        if let Some(cart_item) = self.ended.pop() {
            self.emit("REMOVE", None, Some(&cart_item), true, None);
        }
    }

    fn pointer(&mut self, cart_item: &CartItem) {
        self.emit("INSERT", Some(cart_item), None, false, None);
        let change = &mut self.records.last_mut().expect("a record")["dynamodb"];
        let sort = json!({"S": format!("ITEM#{}", cart_item.sort.item)});
        change["Keys"]["SK"] = sort.clone();
        change["NewImage"] = json!({"PK": {"S": cart_item.account.as_str()}, "SK": sort, "Type": {"S": "CartPointer"}});
    }

    /// Generates a stream record that can never be sent. The item of this record is not in the
    /// table.
    fn bad(&mut self, cart_item: CartItem) {
        let cart_item =
            CartItem { sort: CartItemSort { item: self.new_cart_item().sort.item, ..cart_item.sort }, ..cart_item };
        self.emit("INSERT", Some(&cart_item), None, false, None);
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
        record["dynamodb"]["Keys"]["SK"] =
            json!({"S": format!("ACTIVE#{}#{}", cart_item.sort.since, cart_item.sort.item)});
        if kind == 7 {
            record["dynamodb"]["NewImage"]["SK"] = record["dynamodb"]["Keys"]["SK"].clone();
        }
        self.unsendable.insert(record["eventID"].as_str().expect("an id").to_owned());
    }

    fn emit(
        &mut self,
        name: &str,
        new: Option<&CartItem>,
        old: Option<&CartItem>,
        ttl: bool,
        operation: Option<&'static str>,
    ) {
        self.next += 1;
        let event_id = format!("{:032x}", u128::from(self.next) << 64 | 0xcafe);
        let cart_item = new.or(old).expect("an image");
        let mut change = json!({
            "ApproximateCreationDateTime": self.milli / 1_000,
            "Keys": {"PK": {"S": cart_item.account.as_str()}, "SK": {"S": cart_item.sort.to_string()}},
            "SequenceNumber": (4_421_584_500_000_000_017_450_u128 * 1_000_000 + u128::from(self.next)).to_string(),
            "SizeBytes": 512,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        });
        for (image, cart_item) in [("NewImage", new), ("OldImage", old)] {
            if let Some(cart_item) = cart_item {
                change[image] = image_of(cart_item);
            }
        }
        let mut record = json!({"eventID": event_id, "eventName": name, "eventVersion": "1.1",
            "eventSource": "aws:dynamodb", "awsRegion": "us-east-1", "dynamodb": change,
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/local-Cart/stream/2026-01-01T00:00:00.000"});
        if ttl {
            record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
        }
        self.records.push(record);
        if let Some(operation) = operation {
            self.expected.insert(event_id, operation);
        }
    }
}

fn key(cart_item: &CartItem) -> (String, String) {
    (cart_item.account.to_string(), cart_item.sort.item.to_string())
}

fn image_of(cart_item: &CartItem) -> Value {
    let image: serde_dynamo::Item = serde_dynamo::to_item(cart_item).expect("an item");
    let mut image = serde_json::to_value(image).expect("JSON");
    image["Type"] = json!({"S": "CartItem"});
    image
}

fn time(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%d %H:%M:%S%.3f").to_string()
}

/// Rebuilds the table from the rows. The rows can have any order. The row with the highest version
/// contains the current state of an item.
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
