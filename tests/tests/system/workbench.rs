//! Models of the deployed tables in the import format of NoSQL Workbench, one for each service
//! (docs/decisions/worlds.md). `make models` writes them.

use local::in_process::InProcess;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use system_tests::{
    root, template, template_of,
    world::{NOW, world},
};
use table::{Attribute, Key};
use template::{Table, Template};

const SERVICES: [&str; 4] = ["bank", "cart", "wellness", "ledger"];
/// Time of the worlds, as NoSQL Workbench writes it.
const CREATED: &str = "Dec 01, 2026, 09:30 AM";
/// Attribute with the kind of the item. Each kind is a facet.
const KIND: &str = Attribute::TYPE.as_str();

/// Maximum number of items of a facet.
const MAX_ITEMS: usize = 2;

type Item = BTreeMap<String, Value>;

/// Types of the attributes that no item of a table in the worlds has.
const ABSENT: [(&str, &str); 55] = [
    ("Absence", "S"),
    ("AccountType", "S"),
    ("Assigned", "BOOL"),
    ("Attempts", "N"),
    ("AttendedAt", "S"),
    ("Awards", "L"),
    ("Capacity", "N"),
    ("ChangedBy", "M"),
    ("Credits", "N"),
    ("Currency", "S"),
    ("Debits", "N"),
    ("DispatchedAt", "S"),
    ("Done", "N"),
    ("Enrolment", "S"),
    ("Execution", "S"),
    ("ExpiresAt", "N"),
    ("FailureReason", "S"),
    ("FrozenBy", "S"),
    ("GSI1PK", "S"),
    ("GSI1SK", "S"),
    ("GroupId", "S"),
    ("Hold", "S"),
    ("ID", "S"),
    ("InboxShard", "S"),
    ("InboxUntil", "S"),
    ("Incomplete", "BOOL"),
    ("JoinedTo", "S"),
    ("Kind", "S"),
    ("LastLegSettled", "BOOL"),
    ("LastTicket", "N"),
    ("MovedBy", "S"),
    ("NextAttemptAt", "S"),
    ("NudgedBy", "S"),
    ("PostedAt", "S"),
    ("Posting", "S"),
    ("Progress", "M"),
    ("Reason", "S"),
    ("RetryOf", "S"),
    ("ReversesID", "S"),
    ("Run", "S"),
    ("SettledAt", "S"),
    ("Skipped", "N"),
    ("StartedAt", "S"),
    ("State", "S"),
    ("StatusChangedAt", "S"),
    ("Step", "N"),
    ("Task", "M"),
    ("TemplateId", "S"),
    ("Ticket", "N"),
    ("Total", "N"),
    ("TransactionId", "S"),
    ("TransactionType", "S"),
    ("Transactions", "N"),
    ("UsedBy", "S"),
    ("VoidedBy", "S"),
];

/// The attributes of the items, by table. Only structs with derived attribute names are listed.
fn declared(table: &str) -> Vec<&'static [Attribute]> {
    match table {
        "PaymentScheduler" => vec![bank::Payment::ATTRIBUTES],
        "TransactionHistory" => vec![bank::Transaction::ATTRIBUTES],
        "Cart" => vec![cart::CartItem::ATTRIBUTES, cart::Order::ATTRIBUTES, cart::OrderLines::ATTRIBUTES],
        "Products" => vec![cart::Product::ATTRIBUTES],
        "Activities" => vec![
            wellness::Activity::ATTRIBUTES,
            wellness::Employee::ATTRIBUTES,
            wellness::Record::ATTRIBUTES,
            wellness::Reference::ATTRIBUTES,
            wellness::Registration::ATTRIBUTES,
        ],
        "FinancialTransactions" => vec![
            ledger::Account::ATTRIBUTES,
            ledger::Entry::ATTRIBUTES,
            ledger::Grouped::ATTRIBUTES,
            ledger::Hold::ATTRIBUTES,
            ledger::LastLeg::ATTRIBUTES,
            ledger::Leg::ATTRIBUTES,
            ledger::Transaction::ATTRIBUTES,
        ],
        "Totals" => vec![ledger::Total::ATTRIBUTES],
        "BankJobs" | "CartJobs" | "WellnessJobs" | "LedgerJobs" => vec![jobs::Job::ATTRIBUTES],
        other => unreachable!("the items of the table {other}"),
    }
}

/// The items of a table in the worlds, by key. Workbench permits one type per attribute. Jobs whose
/// task is a text are left out, as most tasks are maps. Imports with an outcome are left out, as
/// the outcome of an idempotency record is a text.
fn items(stack: &InProcess, table: &str) -> Vec<Item> {
    let items = stack
        .items(table)
        .expect("items")
        .into_iter()
        .filter(|item| item["Task"]["S"].is_null() && item["Outcome"]["M"].is_null());
    items.map(|item| serde_json::from_value(timeless(item)).expect("an item")).collect()
}

/// Replaces the entity tag of an imported file, which contains the time of the file, and the expiry
/// of a marker, which follows from the time of a stream record. Both are times of this machine.
fn timeless(mut item: Value) -> Value {
    if let Some(tag) = item.pointer_mut("/Task/M/Import/M/Tag") {
        *tag = json!({"S": "98cac2-18eba56af61298d3-cd"});
    }
    if item[KIND]["S"] == "Counted" {
        item["ExpiresAt"] = json!({"N": "1805103000"});
    }
    item
}

/// The only member of a value in DynamoDB JSON is its type.
fn type_of(value: &Value) -> &str {
    value.as_object().and_then(|value| value.keys().next()).expect("a value")
}

/// The keys of a table or an index, from its definition in the template.
fn keys(definition: &Value, types: &BTreeMap<&str, &str>) -> Value {
    let mut keys = Map::new();
    for key in definition["KeySchema"].as_array().expect("keys") {
        let part = if key["KeyType"] == "HASH" { "PartitionKey" } else { "SortKey" };
        let name = key["AttributeName"].as_str().expect("a name");
        keys.insert(part.to_owned(), attribute(name, types[name]));
    }
    keys.into()
}

fn attribute(name: &str, kind: &str) -> Value {
    json!({"AttributeName": name, "AttributeType": kind})
}

/// The items of one kind. Workbench shows each facet as a separate view of the table.
fn facet(kind: &str, items: &[&Item], is_key: impl Fn(&str) -> bool) -> Value {
    let names: BTreeSet<_> = items.iter().flat_map(|item| item.keys()).filter(|name| !is_key(name)).collect();
    json!({
        "FacetName": kind,
        "KeyAttributeAlias": {"PartitionKeyAlias": Key::PARTITION.as_str(), "SortKeyAlias": Key::SORT.as_str()},
        "NonKeyAttributes": names,
        "TableData": &items[..items.len().min(MAX_ITEMS)],
        "DataAccess": {"MySql": {}},
    })
}

fn table_model(name: &str, definition: &Value, items: &[Item]) -> Value {
    let mut types: BTreeMap<&str, &str> = BTreeMap::new();
    for declared in definition["AttributeDefinitions"].as_array().expect("attributes") {
        let of = |member: &str| declared[member].as_str().expect("a text");
        types.insert(of("AttributeName"), of("AttributeType"));
    }
    for (attribute, value) in items.iter().flatten() {
        let known = types.insert(attribute, type_of(value));
        assert!(known.is_none_or(|known| known == type_of(value)), "{name}: {attribute} has two types");
    }
    for attribute in declared(name).into_iter().flatten().map(|attribute| attribute.as_str()) {
        if !types.contains_key(attribute) {
            let absent = ABSENT.iter().find(|(known, _)| *known == attribute);
            let Some((attribute, kind)) = absent else {
                unreachable!("{name}: state the type of {attribute} in ABSENT")
            };
            types.insert(attribute, kind);
        }
    }
    let is_key = |attribute: &str| [Key::PARTITION, Key::SORT].iter().any(|key| key.as_str() == attribute);
    let mut facets: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for item in items {
        facets.entry(item[KIND]["S"].as_str().expect("a kind")).or_default().push(item);
    }
    let indexes = definition["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    let index = |index: &Value| {
        json!({
            "IndexName": index["IndexName"],
            "KeyAttributes": keys(index, &types),
            "Projection": index["Projection"],
        })
    };
    json!({
        "TableName": name,
        "KeyAttributes": keys(definition, &types),
        "NonKeyAttributes": types.iter().filter(|(name, _)| !is_key(name)).map(|(name, kind)| attribute(name, kind)).collect::<Vec<_>>(),
        "TableFacets": facets.iter().map(|(kind, items)| facet(kind, items, is_key)).collect::<Vec<_>>(),
        "GlobalSecondaryIndexes": indexes.map(index).collect::<Vec<_>>(),
        "DataAccess": {"MySql": {}},
        "BillingMode": definition["BillingMode"],
    })
}

fn model(stack: &InProcess, service: &str) -> Value {
    let file = root().join("stacks").join(service).with_extension("yaml");
    let own = Template::read(&template_of(service), &file, "local", &BTreeMap::new()).expect("a template");
    let tables = own.tables.iter().map(|Table { name, definition, .. }| {
        table_model(name.trim_start_matches("local-"), definition, &items(stack, name))
    });
    let tables: Vec<_> = tables.collect();
    json!({
        "ModelName": service,
        "ModelMetadata": {
            "Author": "",
            "DateCreated": CREATED,
            "DateLastModified": CREATED,
            "Description": format!("Tables of stacks/{service}.yaml with the sample data of make run"),
            "AWSService": "Amazon DynamoDB",
            "Version": "3.0",
        },
        "DataModel": tables,
    })
}

/// The members of a list of objects.
fn members<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let objects = list.as_array().expect("a list").iter();
    objects.map(|object| object[member].as_str().expect("a text")).collect()
}

/// `make models` sets the folder in which this test leaves the models.
#[tokio::test(start_paused = true)]
async fn models_have_the_tables_and_indexes_of_the_stacks() {
    let stack = world(NOW).await;
    let mut modelled = BTreeMap::new();
    for service in SERVICES {
        let model = model(&stack, service);
        if let Some(folder) = std::env::var_os("MODELS") {
            let text = serde_json::to_string_pretty(&model).expect("JSON") + "\n";
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(Path::new(&folder).join(format!("{service}.json")), text).expect("the model is written");
        }
        for table in model["DataModel"].as_array().expect("tables") {
            let name = format!("local-{}", table["TableName"].as_str().expect("a name"));
            let mut attributes = members(&table["NonKeyAttributes"], "AttributeName");
            attributes.extend(["PK", "SK"]);
            for facet in table["TableFacets"].as_array().expect("facets") {
                let items = facet["TableData"].as_array().expect("items");
                assert!(!items.is_empty(), "{name}: {}", facet["FacetName"]);
                for attribute in items.iter().flat_map(|item| item.as_object().expect("an item").keys()) {
                    assert!(attributes.contains(&attribute.as_str()), "{name} lacks {attribute}");
                }
            }
            let indexes = members(&table["GlobalSecondaryIndexes"], "IndexName");
            modelled.insert(name, indexes.into_iter().map(str::to_owned).collect::<Vec<_>>());
        }
    }
    let indexes = |table: &Table| match &table.definition["GlobalSecondaryIndexes"] {
        Value::Null => Vec::new(),
        indexes => members(indexes, "IndexName").into_iter().map(str::to_owned).collect(),
    };
    let deployed = template().tables.iter().map(|table| (table.name.clone(), indexes(table))).collect();
    assert_eq!(modelled, deployed);
}
