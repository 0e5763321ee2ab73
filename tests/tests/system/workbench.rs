//! Models of the deployed tables in the import format of NoSQL Workbench, one for each service
//! (docs/decisions/workbench.md). `make docs` writes docs/models.

use crate::docs::is_current;
use aws_sdk_dynamodb::types::AttributeValue;
use keys::Random;
use local::{Stack, template::Table};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use system_tests::{
    Client,
    bank::scheduled_at,
    changed,
    events::event,
    ledger::{HOLDS, hold, totals::without_counting},
    parsed, root, template, template_of, text,
};
use table::{Attribute, Key};

const SERVICES: [&str; 4] = ["bank", "cart", "wellness", "ledger"];
/// Time at which the sample is loaded.
const NOW: &str = "2026-12-01T09:30:00Z";
/// The same time, as NoSQL Workbench writes it.
const CREATED: &str = "Dec 01, 2026, 09:30 AM";
/// Time of the archive run, two days later. The processed payment of the sample is then archived.
const ARCHIVED: &str = "2026-12-03T00:15:00Z";
/// Attribute with the kind of the item. Each kind is a facet.
const KIND: &str = Attribute::TYPE.as_str();
/// Attributes with the id of a request. The local stack generates this id from the randomness of
/// the operating system, so the model has a number instead.
const REQUEST_IDS: [&str; 2] = ["MovedBy", "Last"];
/// Event of the sample employee, at the time of the load.
const EMPLOYEE: &str = "register-new-employee";

type Item = BTreeMap<String, Value>;

/// Types of the attributes that no item of the sample has.
const ABSENT: [(&str, &[(&str, &str)]); 10] = [
    (
        "PaymentScheduler",
        &[
            ("Attempts", "N"),
            ("Execution", "S"),
            ("FailureReason", "S"),
            ("NextAttemptAt", "S"),
            ("RetryOf", "S"),
            ("SettledAt", "S"),
            ("TransactionId", "S"),
        ],
    ),
    ("TransactionHistory", &[("Attempts", "N"), ("FailureReason", "S"), ("RetryOf", "S")]),
    ("BankJobs", &JOB),
    ("Cart", &[("JoinedTo", "S")]),
    ("CartJobs", &JOB),
    (
        "Activities",
        &[
            ("Absence", "S"),
            ("Assigned", "BOOL"),
            ("AttendedAt", "S"),
            ("Awards", "L"),
            ("Capacity", "N"),
            ("Enrolment", "S"),
            ("GroupId", "S"),
            ("LastTicket", "N"),
            ("TemplateId", "S"),
            ("Ticket", "N"),
            ("UsedBy", "S"),
        ],
    ),
    ("WellnessJobs", &JOB),
    (
        "FinancialTransactions",
        &[
            ("FrozenBy", "S"),
            ("InboxShard", "S"),
            ("InboxUntil", "S"),
            ("LastLegSettled", "BOOL"),
            ("PostedAt", "S"),
            ("Posting", "S"),
            ("ReversesID", "S"),
            ("StatusChangedAt", "S"),
            ("StatusChangedBy", "S"),
            ("VoidedBy", "S"),
        ],
    ),
    (
        "Totals",
        &[
            ("AccountType", "S"),
            ("Credits", "N"),
            ("Currency", "S"),
            ("Debits", "N"),
            ("Incomplete", "BOOL"),
            ("TransactionType", "S"),
            ("Transactions", "N"),
        ],
    ),
    ("LedgerJobs", &JOB),
];
/// Types of the attributes of a job.
const JOB: [(&str, &str); 16] = [
    ("Attempts", "N"),
    ("Done", "N"),
    ("ExpiresAt", "N"),
    ("Hold", "S"),
    ("ID", "S"),
    ("Kind", "S"),
    ("NudgedBy", "S"),
    ("Progress", "M"),
    ("Reason", "S"),
    ("Run", "S"),
    ("Skipped", "N"),
    ("StartedAt", "S"),
    ("State", "S"),
    ("Step", "N"),
    ("Task", "M"),
    ("Total", "N"),
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

/// A stack of the service with the sample data. Ids, shards and times are the same in each run.
async fn sampled(service: &str) -> Stack {
    let builder = match service {
        // Records of the local stream have the time of this machine. The test sends an event
        // instead.
        "wellness" => {
            let stream = "          Type: DynamoDB\n          Properties:\n";
            changed(service, (stream, 2), &format!("{stream}            Enabled: false\n"))
        }
        // The shards of the totals, and the times in their markers, differ in each run.
        "ledger" => without_counting(),
        _ => Stack::of_text(template_of(service)),
    };
    let stack = builder.random(Random::seeded(1)).clock(parsed(NOW)).start().await.expect("a stack");
    stack.load_sample().await.expect("the sample");
    let operator = Client::operator(&stack);
    let answer = match service {
        "bank" => {
            let archive = bank::patterns().into_iter().find(|pattern| pattern.id == "B5").expect("the archive");
            operator.invoke(archive.name, &scheduled_at(ARCHIVED)).await
        }
        "wellness" => operator.invoke(EMPLOYEE, &event(EMPLOYEE, "")).await,
        "ledger" => {
            let account = async |user: &str| {
                let accounts = operator.get(&format!("/ledger/users/{user}/accounts")).await.body;
                text(&accounts["items"][0], "accountId").to_owned()
            };
            let terms = hold(&account("bank").await, &account("ann").await, "25.00");
            operator.post_once(HOLDS, "hold-1", &terms).await
        }
        _ => return stack,
    };
    assert!(matches!(answer.status, 200 | 201), "{}", answer.body);
    stack
}

/// The items of a table, by key.
async fn items(stack: &Stack, table: &str) -> Vec<Item> {
    let client = stack.client().expect("a client");
    let mut pages = client.scan().table_name(table).into_paginator().items().send();
    let mut items = Vec::new();
    while let Some(item) = pages.next().await {
        let item = item.expect("an item").into_iter().map(|(name, value)| (name, json_of(&value)));
        items.push(item.collect::<Item>());
    }
    // The jobs of the sample have not run. Their items would only show how a job starts.
    items.retain(|item| !table.ends_with("-WellnessJobs") || item[KIND]["S"] != "Job");
    items.sort_by_key(|item| [Key::PARTITION, Key::SORT].map(|part| item[part.as_str()].to_string()));
    for (number, item) in items.iter_mut().enumerate() {
        for name in REQUEST_IDS {
            if let Some(id) = item.get_mut(name) {
                *id = json!({"S": format!("{number:032x}")});
            }
        }
    }
    items
}

/// The value in DynamoDB JSON.
fn json_of(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(flag) => json!({"BOOL": flag}),
        AttributeValue::L(values) => json!({"L": values.iter().map(json_of).collect::<Vec<_>>()}),
        AttributeValue::M(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), json_of(value)));
            json!({"M": members.collect::<Map<_, _>>()})
        }
        other => unreachable!("no item has the value {other:?}"),
    }
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
        "TableData": items,
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
    let absent = ABSENT.iter().filter(|(table, _)| *table == name).flat_map(|(_, attributes)| *attributes);
    for (attribute, kind) in absent {
        assert!(types.insert(attribute, kind).is_none(), "{name}: the sample has {attribute}: remove it from ABSENT");
    }
    let declared = declared(name).into_iter().flatten().map(|attribute| attribute.as_str());
    let unknown: BTreeSet<_> = declared.filter(|attribute| !types.contains_key(attribute)).collect();
    assert!(unknown.is_empty(), "{name}: state the types of {unknown:?} in ABSENT");
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

async fn model(service: &str) -> Value {
    let stack = sampled(service).await;
    let mut tables = Vec::new();
    for Table { name, definition, .. } in &stack.template().tables {
        let items = items(&stack, name).await;
        let own = name.rsplit('-').next().unwrap_or(name);
        tables.push(table_model(own, definition, &items));
    }
    stack.stop().await;
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

#[tokio::test]
async fn models_are_current() {
    for service in SERVICES {
        let text = serde_json::to_string_pretty(&model(service).await).expect("JSON");
        is_current(&format!("docs/models/{service}.json"), &(text + "\n"));
    }
}

/// The members of a list of objects.
fn members<'a>(list: &'a Value, member: &str) -> Vec<&'a str> {
    let objects = list.as_array().expect("a list").iter();
    objects.map(|object| object[member].as_str().expect("a text")).collect()
}

#[test]
fn models_have_the_tables_and_indexes_of_the_stacks() {
    let mut modelled = BTreeMap::new();
    for service in SERVICES {
        let text = fs::read_to_string(root().join(format!("docs/models/{service}.json"))).expect("a model");
        let model: Value = serde_json::from_str(&text).expect("JSON");
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
