use crate::{
    Dynamo, Error, Item, Key, Table,
    error::persist,
    item::{Attributes, read, written},
    usage,
};
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnConsumedCapacity, ReturnValue,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use std::{collections::HashMap, fmt::Display, sync::Arc};

/// One conditional write, done alone with [`Dynamo::write`] or with others in [`Dynamo::transact`].
#[derive(Debug, Clone)]
pub struct Change {
    table: Arc<str>,
    action: Action,
    /// Attributes and the values that they must have; without any, the item must be absent (put,
    /// check) or present (update, delete).
    expected: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
enum Action {
    Put(Attributes),
    Update { key: Key, set: Vec<(&'static str, String)> },
    Delete(Key),
    Absent(Key),
}

impl Table {
    /// Puts the item if there is none under its key.
    ///
    /// # Errors
    /// The item can't be written as attributes.
    pub fn put_new<T: Item>(&self, item: &T) -> Result<Change, Error> {
        Ok(self.change(Action::Put(written(item)?)))
    }

    /// Updates the item that is there, with what [`Change::set`] adds.
    #[must_use]
    pub fn update(&self, key: Key) -> Change {
        self.change(Action::Update { key, set: Vec::new() })
    }

    /// Deletes the item that is there.
    #[must_use]
    pub fn delete(&self, key: Key) -> Change {
        self.change(Action::Delete(key))
    }

    /// Writes nothing, and holds only while there is no item under the key. For transactions.
    #[must_use]
    pub fn absent(&self, key: Key) -> Change {
        self.change(Action::Absent(key))
    }

    fn change(&self, action: Action) -> Change {
        Change { table: Arc::clone(&self.name), action, expected: Vec::new() }
    }
}

impl Change {
    /// An update sets the attribute.
    #[must_use]
    pub fn set(mut self, attribute: &'static str, value: &impl Display) -> Self {
        if let Action::Update { set, .. } = &mut self.action {
            set.push((attribute, value.to_string()));
        }
        self
    }

    /// Only if the attribute has that value.
    #[must_use]
    pub fn only_if(mut self, attribute: &'static str, value: &impl Display) -> Self {
        self.expected.push((attribute, value.to_string()));
        self
    }

    /// The expressions: names and values are numbered, because any name may be a reserved word.
    fn expressions(&self) -> Expressions {
        let mut expressions = Expressions::default();
        if let Action::Update { set, .. } = &self.action {
            let sets: Vec<String> = set.iter().map(|pair| expressions.equation(pair)).collect();
            expressions.update = format!("SET {}", sets.join(", "));
        }
        let equations: Vec<String> = self.expected.iter().map(|pair| expressions.equation(pair)).collect();
        expressions.condition = match self.action {
            _ if !equations.is_empty() => equations.join(" AND "),
            Action::Put(_) | Action::Absent(_) => "attribute_not_exists(PK)".to_owned(),
            Action::Update { .. } | Action::Delete(_) => "attribute_exists(PK)".to_owned(),
        };
        expressions
    }

    fn in_transaction(self) -> Result<TransactWriteItem, Error> {
        let Expressions { condition, update, names, values } = self.expressions();
        let (table, names, values) = (self.table.to_string(), some(names), some(values));
        let found = ReturnValuesOnConditionCheckFailure::AllOld;
        let item = TransactWriteItem::builder();
        // The builders fail only on a missing field.
        let item = match self.action {
            Action::Put(attributes) => {
                let put = Put::builder().table_name(table).set_item(Some(attributes)).condition_expression(condition);
                let put = put.set_expression_attribute_names(names).set_expression_attribute_values(values);
                item.put(put.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Update { key, .. } => {
                let change = Update::builder().table_name(table).set_key(Some(key.attributes()));
                let change = change.condition_expression(condition).update_expression(update);
                let change = change.set_expression_attribute_names(names).set_expression_attribute_values(values);
                item.update(change.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Delete(key) => {
                let delete = Delete::builder().table_name(table).set_key(Some(key.attributes()));
                let delete = delete.condition_expression(condition).set_expression_attribute_names(names);
                let delete = delete.set_expression_attribute_values(values);
                item.delete(delete.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
            Action::Absent(key) => {
                let check = ConditionCheck::builder().table_name(table).set_key(Some(key.attributes()));
                let check = check.condition_expression(condition).set_expression_attribute_names(names);
                let check = check.set_expression_attribute_values(values);
                item.condition_check(check.return_values_on_condition_check_failure(found).build().map_err(rejected)?)
            }
        };
        Ok(item.build())
    }
}

#[derive(Default)]
struct Expressions {
    condition: String,
    update: String,
    names: HashMap<String, String>,
    values: Attributes,
}

impl Expressions {
    fn equation(&mut self, (attribute, value): &(&'static str, String)) -> String {
        let (name, placeholder) = (format!("#{}", self.names.len()), format!(":{}", self.values.len()));
        self.names.insert(name.clone(), (*attribute).to_owned());
        self.values.insert(placeholder.clone(), AttributeValue::S(value.clone()));
        format!("{name} = {placeholder}")
    }
}

fn some<K, V>(map: HashMap<K, V>) -> Option<HashMap<K, V>> {
    (!map.is_empty()).then_some(map)
}

fn contended(error: &Error) -> bool {
    matches!(error, Error::Contended)
}

/// The SDK retries what is throttled, but not a transaction that was cancelled for it.
fn contended_or_throttled(error: &Error) -> bool {
    matches!(error, Error::Contended | Error::Throttled)
}

fn rejected(error: impl Display) -> Error {
    Error::Rejected(error.to_string())
}

impl Dynamo {
    /// Does one change.
    ///
    /// # Errors
    /// [`Error::Refused`] where its condition does not hold, with the item that was found; else the
    /// call failed. A put or delete that met a transaction is tried again.
    pub async fn write(&self, change: Change) -> Result<(), Error> {
        persist(contended, || self.write_once(change.clone())).await.map(drop)
    }

    /// Does one update, and answers the item as it is after it.
    ///
    /// # Errors
    /// As [`Dynamo::write`], or the item is not a `T`.
    pub async fn update<T: Item>(&self, change: Change) -> Result<T, Error> {
        let item = persist(contended, || self.write_once(change.clone())).await?;
        item.ok_or_else(|| Error::Rejected("an update without its item".to_owned())).and_then(read)
    }

    /// The item after an update; none for other changes.
    async fn write_once(&self, change: Change) -> Result<Option<Attributes>, Error> {
        let Expressions { condition, update, names, values } = change.expressions();
        let (names, values) = (some(names), some(values));
        let found = ReturnValuesOnConditionCheckFailure::AllOld;
        let capacity = ReturnConsumedCapacity::Indexes;
        match change.action {
            Action::Put(item) => {
                let request = self.client.put_item().table_name(&*change.table).set_item(Some(item));
                let request = request.condition_expression(condition).set_expression_attribute_names(names);
                let request = request.set_expression_attribute_values(values).return_consumed_capacity(capacity);
                let answer = usage::call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("PutItem", None, &answer.consumed_capacity);
            }
            Action::Update { key, .. } => {
                let request = self.client.update_item().table_name(&*change.table).set_key(Some(key.attributes()));
                let request = request.condition_expression(condition).update_expression(update);
                let request = request.set_expression_attribute_names(names).set_expression_attribute_values(values);
                let request = request.return_consumed_capacity(capacity).return_values(ReturnValue::AllNew);
                let answer = usage::call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("UpdateItem", None, &answer.consumed_capacity);
                return Ok(answer.attributes);
            }
            Action::Delete(key) => {
                let request = self.client.delete_item().table_name(&*change.table).set_key(Some(key.attributes()));
                let request = request.condition_expression(condition).set_expression_attribute_names(names);
                let request = request.set_expression_attribute_values(values).return_consumed_capacity(capacity);
                let answer = usage::call(request.return_values_on_condition_check_failure(found).send()).await?;
                usage::count("DeleteItem", None, &answer.consumed_capacity);
            }
            Action::Absent(_) => self.transact_once(vec![change]).await?,
        }
        Ok(None)
    }

    /// Does all changes or none, at most 100 of them (DynamoDB's limit).
    ///
    /// A retry by the SDK is the same transaction to DynamoDB (its client token), so an answer that
    /// was lost on the way is not a second try.
    ///
    /// # Errors
    /// [`Error::Refused`] says which conditions did not hold; [`Error::Contended`] and [`Error::Throttled`] that other
    /// writes kept getting in between, or took the capacity; else the call failed.
    pub async fn transact(&self, changes: Vec<Change>) -> Result<(), Error> {
        persist(contended_or_throttled, || self.transact_once(changes.clone())).await
    }

    async fn transact_once(&self, changes: Vec<Change>) -> Result<(), Error> {
        let items = changes.into_iter().map(Change::in_transaction).collect::<Result<Vec<_>, _>>()?;
        let request = self.client.transact_write_items().set_transact_items(Some(items));
        let answer = usage::call(request.return_consumed_capacity(ReturnConsumedCapacity::Indexes).send()).await?;
        usage::count("TransactWriteItems", None, answer.consumed_capacity.iter().flatten());
        Ok(())
    }
}
