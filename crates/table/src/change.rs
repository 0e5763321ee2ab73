use crate::{
    Attribute, Condition, Dynamo, Error, Item, Key, Table, Value,
    condition::{Path, Placeholders},
    error::{call, despite_contention, while_underway},
    item::{read, written},
    key::Attributes,
    usage::{self, Attempts},
};
use aws_sdk_dynamodb::types::{
    ConditionCheck, Delete, Put, ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
    TransactWriteItem, Update,
};
use std::{
    collections::HashMap,
    fmt::Display,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Maximum number of changes in one transaction (DynamoDB limit).
pub const MAX_CHANGES: usize = 100;

/// A conditional write. Execute a single change with [`Dynamo::write`], or several in a transaction
/// with [`Dynamo::transact`].
#[derive(Debug, Clone)]
#[must_use = "a change does nothing until it is executed"]
pub struct Change {
    table: Arc<str>,
    action: Action,
    presence: Presence,
    conditions: Vec<Condition>,
}

/// Whether the stored item must exist.
#[derive(Debug, Clone, Copy)]
enum Presence {
    Absent,
    Present,
    Either,
}

impl Presence {
    fn expression(self) -> Option<String> {
        match self {
            Self::Absent => Some(format!("attribute_not_exists({})", Key::PARTITION)),
            // `UpdateItem` creates missing items. This check prevents that, even if the other
            // conditions accept a missing item.
            Self::Present => Some(format!("attribute_exists({})", Key::PARTITION)),
            Self::Either => None,
        }
    }
}

#[derive(Debug, Clone)]
enum Action {
    Put(Attributes),
    Update {
        key: Key,
        set: Vec<(Path, Value)>,
        /// Paths that become the sum of an attribute and a number.
        sums: Vec<(Path, Attribute, Value)>,
        add: Vec<(Attribute, Value)>,
        remove: Vec<Path>,
    },
    Delete(Key),
    Check(Key),
}

impl Action {
    fn updating(key: Key) -> Self {
        Self::Update { key, set: Vec::new(), sums: Vec::new(), add: Vec::new(), remove: Vec::new() }
    }
}

impl Table {
    /// Creates the item. The change is refused if an item with this key exists.
    pub fn put_new<T: Item>(&self, item: &T) -> Result<Change, Error> {
        Ok(self.change(Action::Put(written(item)?), Presence::Absent))
    }

    /// Creates or replaces the item.
    pub fn put<T: Item>(&self, item: &T) -> Result<Change, Error> {
        Ok(self.change(Action::Put(written(item)?), Presence::Either))
    }

    /// Replaces the existing item. The change is refused if no item with this key exists.
    pub fn replace<T: Item>(&self, item: &T) -> Result<Change, Error> {
        Ok(self.change(Action::Put(written(item)?), Presence::Present))
    }

    /// Updates the existing item. Add attributes with [`Change::set`] and [`Change::remove`].
    pub fn update(&self, key: Key) -> Change {
        self.change(Action::updating(key), Presence::Present)
    }

    /// Updates the item, or creates it with the set and added attributes.
    pub fn upsert(&self, key: Key) -> Change {
        self.change(Action::updating(key), Presence::Either)
    }

    /// Deletes the existing item. The change is refused if no item with this key exists.
    pub fn delete(&self, key: Key) -> Change {
        self.change(Action::Delete(key), Presence::Present)
    }

    /// Checks in a transaction that no item has this key.
    pub fn absent(&self, key: Key) -> Change {
        self.change(Action::Check(key), Presence::Absent)
    }

    /// Checks in a transaction that an item has this key.
    pub fn present(&self, key: Key) -> Change {
        self.change(Action::Check(key), Presence::Present)
    }

    /// Checks a condition in a transaction. The item need not exist, if the condition accepts a
    /// missing item.
    pub fn check(&self, key: Key, condition: Condition) -> Change {
        self.change(Action::Check(key), Presence::Either).only_if(condition)
    }

    fn change(&self, action: Action, presence: Presence) -> Change {
        Change { table: Arc::clone(&self.name), action, presence, conditions: Vec::new() }
    }
}

impl Change {
    /// Sets the attribute. Only for updates.
    pub fn set(mut self, attribute: Attribute, value: impl Into<Value>) -> Self {
        if let Action::Update { set, .. } = &mut self.action {
            set.push((attribute.into(), value.into()));
        }
        self
    }

    /// Sets the entry of an attribute that is a map. The attribute must exist. Only for updates
    /// that [`Dynamo::write`] or a transaction executes.
    pub fn set_entry(mut self, attribute: Attribute, entry: &impl Display, value: impl Into<Value>) -> Self {
        if let Action::Update { set, .. } = &mut self.action {
            set.push((Path::of_entry(attribute, entry), value.into()));
        }
        self
    }

    /// Sets the entry of an attribute that is a map to the sum of a number attribute and a number.
    /// The number attribute has its value before the update. Only for the updates of
    /// [`Change::set_entry`].
    pub fn set_entry_to_sum(mut self, map: Attribute, entry: &impl Display, of: Attribute, number: i64) -> Self {
        if let Action::Update { sums, .. } = &mut self.action {
            sums.push((Path::of_entry(map, entry), of, Value::from(number)));
        }
        self
    }

    /// Removes the entry of an attribute that is a map, if present. Only for the updates of
    /// [`Change::set_entry`].
    pub fn remove_entry(mut self, attribute: Attribute, entry: &impl Display) -> Self {
        if let Action::Update { remove, .. } = &mut self.action {
            remove.push(Path::of_entry(attribute, entry));
        }
        self
    }

    /// Adds a number to the attribute. A missing attribute counts as 0. Only for updates. For a
    /// decimal number, use [`Value::number`].
    pub fn add(mut self, attribute: Attribute, number: impl Into<Value>) -> Self {
        if let Action::Update { add, .. } = &mut self.action {
            add.push((attribute, number.into()));
        }
        self
    }

    /// Removes the attribute, if present. Only for updates.
    pub fn remove(mut self, attribute: Attribute) -> Self {
        if let Action::Update { remove, .. } = &mut self.action {
            remove.push(attribute.into());
        }
        self
    }

    /// Adds a condition on the stored item.
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds conditions. All must hold.
    pub fn only_if_all(self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        conditions.into_iter().fold(self, Self::only_if)
    }

    /// Whether the stored item has the values that the conditions require. Other conditions are not
    /// evaluated.
    fn accepts(&self, stored: &Attributes) -> bool {
        self.conditions.iter().all(|condition| condition.may_accept(stored))
    }

    /// Returns the item after the update.
    fn applied_to(&self, mut stored: Attributes) -> Attributes {
        if let Action::Update { set, add, remove, .. } = &self.action {
            let set = set.iter().map(|(path, value)| (path.attribute.to_string(), value.attribute()));
            let added = add.iter().map(|(name, value)| (name.to_string(), value.plus(stored.get(name.as_str()))));
            let changed: Vec<_> = set.chain(added).collect();
            stored.extend(changed);
            for path in remove {
                stored.remove(path.attribute.as_str());
            }
        }
        stored
    }

    fn expressions(&self) -> Expressions {
        let mut placeholders = Placeholders::default();
        let mut update = String::new();
        if let Action::Update { set, sums, add, remove, .. } = &self.action {
            let summed = |(path, of, value): &(Path, Attribute, Value)| {
                let (path, of) = (placeholders.name(path), placeholders.name(&(*of).into()));
                format!("{path} = {of} + {}", placeholders.value(value))
            };
            let summed: Vec<String> = sums.iter().map(summed).collect();
            let mut pair = |path: &Path, value: &Value, sign: &str| {
                format!("{}{sign}{}", placeholders.name(path), placeholders.value(value))
            };
            let sets = set.iter().map(|(path, value)| pair(path, value, " = ")).chain(summed).collect();
            let adds = add.iter().map(|(name, value)| pair(&(*name).into(), value, " ")).collect();
            let removes = remove.iter().map(|path| placeholders.name(path)).collect();
            let clause = |(word, parts): (&str, Vec<String>)| {
                (!parts.is_empty()).then(|| format!("{word} {}", parts.join(", ")))
            };
            let clauses = [("SET", sets), ("ADD", adds), ("REMOVE", removes)].into_iter().filter_map(clause);
            update = clauses.collect::<Vec<_>>().join(" ");
        }
        let others = self.conditions.iter().map(|condition| condition.expression(&mut placeholders));
        let condition: Vec<String> = self.presence.expression().into_iter().chain(others).collect();
        let condition = (!condition.is_empty()).then(|| condition.join(" AND "));
        let Placeholders { names, values } = placeholders;
        Expressions { condition, update, names, values }
    }

    fn in_transaction(self) -> Result<TransactWriteItem, Error> {
        let Expressions { condition, update, names, values } = self.expressions();
        let (table, names, values) = (self.table.to_string(), some(names), some(values));
        let found = ReturnValuesOnConditionCheckFailure::AllOld;
        let item = TransactWriteItem::builder();
        // The builders fail only if a required field is missing. This code sets all of them.
        let item = match self.action {
            Action::Put(attributes) => {
                let put =
                    Put::builder().table_name(table).set_item(Some(attributes)).set_condition_expression(condition);
                let put = put.set_expression_attribute_names(names).set_expression_attribute_values(values);
                item.put(put.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Update { key, .. } => {
                let change = Update::builder().table_name(table).set_key(Some(key.attributes()));
                let change = change.set_condition_expression(condition).update_expression(update);
                let change = change.set_expression_attribute_names(names).set_expression_attribute_values(values);
                item.update(change.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Delete(key) => {
                let delete = Delete::builder().table_name(table).set_key(Some(key.attributes()));
                let delete = delete.set_condition_expression(condition).set_expression_attribute_names(names);
                let delete = delete.set_expression_attribute_values(values);
                item.delete(delete.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Check(key) => {
                let check = ConditionCheck::builder().table_name(table).set_key(Some(key.attributes()));
                let check = check.set_condition_expression(condition).set_expression_attribute_names(names);
                let check = check.set_expression_attribute_values(values);
                item.condition_check(check.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
        };
        Ok(item.build())
    }
}

struct Expressions {
    condition: Option<String>,
    update: String,
    names: HashMap<String, String>,
    values: Attributes,
}

fn some<K, V>(map: HashMap<K, V>) -> Option<HashMap<K, V>> {
    (!map.is_empty()).then_some(map)
}

fn rejected(error: impl Display) -> Error {
    Error::Rejected(error.to_string())
}

impl Dynamo {
    /// Executes one change that stores `item`, on a condition that no longer holds afterwards: the
    /// item was missing, or had another revision. A late attempt of the SDK therefore changes
    /// nothing, and the write needs no client token, which would double its cost. If an earlier
    /// attempt has stored the item, the condition fails, and the change counts as made
    /// (docs/decisions/consistency.md).
    ///
    /// # Errors
    /// The errors of [`Dynamo::write`]. [`Error::Refused`] if another item is stored.
    /// [`Error::Unavailable`] if it may have replaced the item after an attempt without a response:
    /// a caller who repeats the change would overwrite a later one.
    pub async fn write_once_as<T: Item + PartialEq>(&self, change: Change, item: &T) -> Result<(), Error> {
        let is_unsure = AtomicBool::new(false);
        let write = || async {
            let attempts = Attempts::default();
            let done = attempts.during(self.write_once(change.clone(), ReturnValue::None)).await;
            is_unsure.fetch_or(attempts.count() > 1, Ordering::Relaxed);
            done
        };
        match despite_contention(write).await.map(drop) {
            Err(Error::Refused(refused)) if refused.found::<T>(0).is_ok_and(|found| found.as_ref() == Some(item)) => {
                Ok(())
            }
            Err(Error::Refused(_)) if is_unsure.into_inner() => {
                Err(Error::Unavailable("an attempt without a response may have been executed".to_owned()))
            }
            done => done,
        }
    }

    /// Executes one change.
    ///
    /// # Errors
    /// [`Error::Refused`] with the stored item if a condition fails. Other errors mean that the
    /// call failed. A write that conflicts with a transaction is retried first.
    pub async fn write(&self, change: Change) -> Result<(), Error> {
        despite_contention(|| self.write_once(change.clone(), ReturnValue::None)).await.map(drop)
    }

    /// Executes an update and returns the updated item. Reads the item first, with strong
    /// consistency. If the updated item would be unreadable, nothing is written
    /// (docs/decisions/unreadable-items.md).
    ///
    /// # Errors
    /// The errors of [`Dynamo::write`], or the item cannot be deserialized as `T`.
    pub async fn update<T: Item>(&self, change: Change) -> Result<T, Error> {
        if let Action::Update { key, .. } = &change.action {
            let stored = self.table(Arc::clone(&change.table)).get_attributes(key, true).await?;
            if let Some(updated) =
                stored.filter(|stored| change.accepts(stored)).map(|stored| change.applied_to(stored))
            {
                read::<T>(updated)?;
            }
        }
        self.update_as_read(change).await
    }

    /// Executes an update as [`Dynamo::update`] does, without the read. The caller must have read
    /// the item, and the change must have a condition on the item's version.
    ///
    /// # Errors
    /// The errors of [`Dynamo::update`].
    pub async fn update_as_read<T: Item>(&self, change: Change) -> Result<T, Error> {
        let item = despite_contention(|| self.write_once(change.clone(), ReturnValue::AllNew)).await?;
        item.ok_or_else(|| Error::Rejected("an update returned no item".to_owned())).and_then(read)
    }

    /// Executes the change without retries for conflicts. An update returns the item that
    /// `returned` selects, and other changes return `None`.
    async fn write_once(&self, change: Change, returned: ReturnValue) -> Result<Option<Attributes>, Error> {
        let Expressions { condition, update, names, values } = change.expressions();
        let (names, values) = (some(names), some(values));
        let found = ReturnValuesOnConditionCheckFailure::AllOld;
        let capacity = ReturnConsumedCapacity::Indexes;
        match change.action {
            Action::Put(item) => {
                let request = self.client.put_item().table_name(&*change.table).set_item(Some(item));
                let request = request.set_condition_expression(condition).set_expression_attribute_names(names);
                let request = request.set_expression_attribute_values(values).return_consumed_capacity(capacity);
                let answer = call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("PutItem", None, &answer.consumed_capacity);
            }
            Action::Update { key, .. } => {
                let request = self.client.update_item().table_name(&*change.table).set_key(Some(key.attributes()));
                let request = request.set_condition_expression(condition).update_expression(update);
                let request = request.set_expression_attribute_names(names).set_expression_attribute_values(values);
                let request = request.return_consumed_capacity(capacity).return_values(returned);
                let answer = call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("UpdateItem", None, &answer.consumed_capacity);
                return Ok(answer.attributes);
            }
            Action::Delete(key) => {
                let request = self.client.delete_item().table_name(&*change.table).set_key(Some(key.attributes()));
                let request = request.set_condition_expression(condition).set_expression_attribute_names(names);
                let request = request.set_expression_attribute_values(values).return_consumed_capacity(capacity);
                let answer = call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("DeleteItem", None, &answer.consumed_capacity);
            }
            Action::Check(_) => self.transact_once(vec![change]).await?,
        }
        Ok(None)
    }

    /// Executes all changes or none, and retries on conflict. A transaction has at most
    /// [`MAX_CHANGES`] changes.
    ///
    /// All retries use the same client request token. DynamoDB therefore does not execute a
    /// transaction twice if its response is lost.
    ///
    /// # Errors
    /// [`Error::Refused`] lists the failed conditions. [`Error::Contended`] means that all retries
    /// conflicted with other writes or were throttled. Other errors mean that the call failed.
    pub async fn transact(&self, changes: Vec<Change>) -> Result<(), Error> {
        let transaction = Transaction::new(self, changes)?;
        despite_contention(|| transaction.send()).await
    }

    /// Executes all changes or none: one change as a write, which consumes half the capacity, and
    /// several changes as a transaction.
    ///
    /// # Errors
    /// The errors of [`Dynamo::write`] and [`Dynamo::transact`].
    pub async fn apply(&self, mut changes: Vec<Change>) -> Result<(), Error> {
        match (changes.pop(), changes.is_empty()) {
            (Some(only), true) => self.write(only).await,
            (Some(last), false) => self.transact(changes.into_iter().chain([last]).collect()).await,
            (None, _) => Ok(()),
        }
    }

    /// Executes all changes or none, without retries on conflict. Use this method if the caller
    /// must read the items again before the next attempt.
    ///
    /// The call is repeated while DynamoDB reports that the transaction is in progress. It is also
    /// repeated after a conflict if the response to an earlier attempt was lost: that attempt may
    /// have been executed, and the caller would execute its changes again. All attempts use the
    /// same client request token.
    ///
    /// # Errors
    /// The errors of [`Dynamo::transact`].
    pub async fn transact_once(&self, changes: Vec<Change>) -> Result<(), Error> {
        let transaction = Transaction::new(self, changes)?;
        match transaction.send().await {
            Err(Error::Contended { .. }) if transaction.attempts.count() > 1 => {
                despite_contention(|| transaction.send()).await
            }
            done => done,
        }
    }
}

/// A transaction with its client request token.
struct Transaction<'a> {
    dynamo: &'a Dynamo,
    items: Vec<TransactWriteItem>,
    token: String,
    attempts: Attempts,
}

impl<'a> Transaction<'a> {
    fn new(dynamo: &'a Dynamo, changes: Vec<Change>) -> Result<Self, Error> {
        if changes.len() > MAX_CHANGES {
            return Err(Error::Rejected(format!("{} changes exceed the transaction limit", changes.len())));
        }
        let items = changes.into_iter().map(Change::in_transaction).collect::<Result<Vec<_>, _>>()?;
        let token = format!("{:032x}", dynamo.random.bits());
        Ok(Self { dynamo, items, token, attempts: Attempts::default() })
    }

    /// Sends the transaction, and repeats it while it is in progress.
    async fn send(&self) -> Result<(), Error> {
        let send = || async {
            let request = self.dynamo.client.transact_write_items().set_transact_items(Some(self.items.clone()));
            let request = request.client_request_token(&self.token);
            call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await
        };
        let answer = self.attempts.during(while_underway(send)).await?;
        usage::count("TransactWriteItems", None, answer.consumed_capacity.iter().flatten());
        Ok(())
    }
}
