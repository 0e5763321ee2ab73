//! The expressions that the crate `table` writes.
use std::{iter::Peekable, vec::IntoIter};

use serde_json::{Value, json};

use super::store::Item;

/// An expression with its names and values, and the item.
struct Expression<'a> {
    request: &'a Value,
    item: &'a Item,
    tokens: Peekable<IntoIter<String>>,
}

/// Whether the expression of the request accepts the item.
pub(super) fn accepts(request: &Value, expression: &str, item: &Item) -> bool {
    request[expression].as_str().is_none_or(|text| Expression::of(request, text, item).any())
}

/// The item after the update of the request.
pub(super) fn updated(request: &Value, mut item: Item) -> Item {
    item.extend(request["Key"].as_object().cloned().unwrap_or_default());
    let before = item.clone();
    let mut expression = Expression::of(request, request["UpdateExpression"].as_str().expect("an update"), &before);
    let mut clause = String::new();
    while let Some(token) = expression.tokens.next() {
        if ["SET", "ADD", "REMOVE"].contains(&token.as_str()) {
            clause = token;
        } else if token != "," {
            let value = match clause.as_str() {
                "SET" => {
                    expression.tokens.next();
                    let first = expression.operand();
                    if expression.tokens.next_if_eq("+").is_some() { sum(&first, &expression.operand()) } else { first }
                }
                "ADD" => sum(&expression.at(&token), &expression.operand()),
                _ => Value::Null,
            };
            let path = expression.path(&token);
            let (target, name) = match path.as_slice() {
                [name] => (&mut item, name),
                [map, entry] => (item[map]["M"].as_object_mut().expect("a map"), entry),
                _ => panic!("{path:?}"),
            };
            if value.is_null() {
                target.remove(name);
            } else {
                target.insert(name.clone(), value);
            }
        }
    }
    item
}

fn number(value: &Value) -> i128 {
    value["N"].as_str().map_or(0, |number| number.parse().expect("an integer"))
}

fn sum(one: &Value, other: &Value) -> Value {
    json!({"N": (number(one) + number(other)).to_string()})
}

impl<'a> Expression<'a> {
    fn of(request: &'a Value, text: &str, item: &'a Item) -> Self {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
        let tokens: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        Self { request, item, tokens: tokens.into_iter().peekable() }
    }

    fn any(&mut self) -> bool {
        let mut holds = self.all();
        while self.tokens.next_if_eq("OR").is_some() {
            holds |= self.all();
        }
        holds
    }

    fn all(&mut self) -> bool {
        let mut holds = self.one();
        while self.tokens.next_if_eq("AND").is_some() {
            holds &= self.one();
        }
        holds
    }

    fn one(&mut self) -> bool {
        if self.tokens.next_if_eq("(").is_some() {
            let holds = self.any();
            assert_eq!(self.tokens.next().as_deref(), Some(")"));
            return holds;
        }
        let is_function = |token: &String| ["attribute_exists", "attribute_not_exists"].contains(&token.as_str());
        if let Some(function) = self.tokens.next_if(is_function) {
            self.tokens.next();
            let is_missing = self.operand().is_null();
            self.tokens.next();
            return is_missing == (function == "attribute_not_exists");
        }
        let (left, sign, right) = (self.operand(), self.tokens.next().expect("an operator"), self.operand());
        if left.is_null() {
            return sign == "<>";
        }
        match sign.as_str() {
            "=" => left == right,
            "<>" => left != right,
            "<" => number(&left) < number(&right),
            "<=" => number(&left) <= number(&right),
            ">" => number(&left) > number(&right),
            _ => panic!("{sign}"),
        }
    }

    fn operand(&mut self) -> Value {
        let token = self.tokens.next().expect("an operand");
        if token != "size" {
            return self.at(&token);
        }
        self.tokens.next();
        let map = self.operand();
        self.tokens.next();
        map["M"].as_object().map_or(Value::Null, |map| json!({"N": map.len().to_string()}))
    }

    /// The value of a placeholder or of a path.
    fn at(&self, token: &str) -> Value {
        if token.starts_with(':') {
            return self.request["ExpressionAttributeValues"][token].clone();
        }
        match self.path(token).as_slice() {
            [name] => self.item.get(name).cloned().unwrap_or_default(),
            [map, entry] => self.item.get(map).map_or(Value::Null, |map| map["M"][entry].clone()),
            path => panic!("{path:?}"),
        }
    }

    fn path(&self, token: &str) -> Vec<String> {
        let names = &self.request["ExpressionAttributeNames"];
        token.split('.').map(|part| names[part].as_str().unwrap_or(part).to_owned()).collect()
    }
}
