//! The expressions that the crate `table` writes.
use std::iter::Peekable;

use serde_json::{Map, Value, json};

use super::store::Item;

type Tokens = Peekable<std::vec::IntoIter<String>>;

fn tokens(text: &str) -> Tokens {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
    spaced.split_whitespace().map(str::to_owned).collect::<Vec<_>>().into_iter().peekable()
}

/// An expression with its names and values, and the item.
struct Expression<'a> {
    request: &'a Value,
    item: &'a Item,
    tokens: Tokens,
}

/// Whether the expression of the request accepts the item.
pub(super) fn accepts(request: &Value, expression: &str, item: &Item) -> bool {
    let Some(text) = request[expression].as_str() else { return true };
    Expression { request, item, tokens: tokens(text) }.any()
}

/// The item after the update of the request.
pub(super) fn updated(request: &Value, mut item: Item) -> Item {
    item.extend(request["Key"].as_object().cloned().unwrap_or_default());
    let before = item.clone();
    let text = request["UpdateExpression"].as_str().expect("an update");
    let mut expression = Expression { request, item: &before, tokens: tokens(text) };
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
            put(&mut item, &expression.path(&token), value);
        }
    }
    item
}

fn put(item: &mut Item, path: &[String], value: Value) {
    let (target, name): (&mut Map<String, Value>, _) = match path {
        [name] => (item, name),
        [map, entry] => (item[map]["M"].as_object_mut().expect("a map"), entry),
        _ => panic!("{path:?}"),
    };
    if value.is_null() {
        target.remove(name);
    } else {
        target.insert(name.clone(), value);
    }
}

fn number(value: &Value) -> i128 {
    value["N"].as_str().map_or(0, |number| number.parse().expect("an integer"))
}

fn sum(one: &Value, other: &Value) -> Value {
    json!({"N": (number(one) + number(other)).to_string()})
}

impl Expression<'_> {
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
        let holds = match self.tokens.peek().expect("a condition").as_str() {
            "(" => {
                self.tokens.next();
                self.any()
            }
            function @ ("attribute_exists" | "attribute_not_exists") => {
                let exists = function == "attribute_exists";
                self.tokens.next();
                self.tokens.next();
                self.operand().is_null() != exists
            }
            _ => return self.comparison(),
        };
        assert_eq!(self.tokens.next().as_deref(), Some(")"));
        holds
    }

    fn comparison(&mut self) -> bool {
        let left = self.operand();
        let sign = self.tokens.next().expect("an operator");
        let right = self.operand();
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
        let name = |part: &str| match self.request["ExpressionAttributeNames"][part].as_str() {
            Some(name) => name.to_owned(),
            None => part.to_owned(),
        };
        token.split('.').map(name).collect()
    }
}
