//! Parameters: their values, defaults and constraints.
use std::collections::BTreeMap;

use regex_lite::Regex;

use super::node::{Entry, Node, Result, fault};

const READ: [&str; 8] =
    ["Type", "Default", "AllowedValues", "AllowedPattern", "MinValue", "MaxValue", "MinLength", "MaxLength"];
const MEANINGLESS: [&str; 3] = ["Description", "ConstraintDescription", "NoEcho"];

/// Returns the values of all parameters.
pub(crate) fn read(section: Option<&Node>, given: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let declared = section.map(Node::map).transpose()?.unwrap_or_default();
    if let Some(unknown) = given.keys().find(|name| declared.iter().all(|entry| entry.key != **name)) {
        let line = section.map_or(1, |section| section.line);
        return fault(line, format!("there is no parameter {unknown}"));
    }
    declared.iter().map(|entry| Ok((entry.key.clone(), value(entry, given.get(&entry.key))?))).collect()
}

fn value(Entry { key, line, node }: &Entry, given: Option<&String>) -> Result<String> {
    node.only("a parameter", &READ, &MEANINGLESS)?;
    let default = node.get("Default").map(Node::text).transpose()?;
    let Some(value) = given.map(String::as_str).or(default) else {
        return fault(*line, format!("parameter {key} has no default and needs a value"));
    };
    match broken(node, value)? {
        Some(rule) => fault(*line, format!("parameter {key} is `{value}`, but {rule}")),
        None => Ok(value.to_owned()),
    }
}

/// Returns the constraint that the value violates, if any.
fn broken(node: &Node, value: &str) -> Result<Option<String>> {
    let number = match node.need("a parameter", "Type")?.text()? {
        "String" => None,
        "Number" => match value.parse::<f64>() {
            Ok(number) => Some(number),
            Err(_) => return Ok(Some("it must be a number".to_owned())),
        },
        other => return fault(node.line, format!("the local stack does not support parameters of type {other}")),
    };
    if let Some(allowed) = node.get("AllowedValues").map(Node::texts).transpose()?
        && !allowed.iter().any(|allowed| allowed == value)
    {
        return Ok(Some(format!("it must be one of {}", allowed.join(", "))));
    }
    let size = number.is_none().then(|| value.chars().count());
    let bounds = [out_of_bounds(node, number, "MinValue", "MaxValue")?, length_out_of_bounds(node, size)?];
    Ok(bounds.into_iter().flatten().next().or(mismatch(node, value)?))
}

fn out_of_bounds(node: &Node, value: Option<f64>, low: &str, high: &str) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let low = node.get(low).map(Node::number::<f64>).transpose()?;
    let high = node.get(high).map(Node::number::<f64>).transpose()?;
    Ok(match (low, high) {
        (Some(low), _) if value < low => Some(format!("it must be at least {low}")),
        (_, Some(high)) if value > high => Some(format!("it must be at most {high}")),
        _ => None,
    })
}

fn length_out_of_bounds(node: &Node, length: Option<usize>) -> Result<Option<String>> {
    let length = length.and_then(|length| u32::try_from(length).ok()).map(f64::from);
    let broken = out_of_bounds(node, length, "MinLength", "MaxLength")?;
    Ok(broken.map(|rule| format!("{rule} characters long")))
}

fn mismatch(node: &Node, value: &str) -> Result<Option<String>> {
    let Some(pattern) = node.get("AllowedPattern") else { return Ok(None) };
    let text = pattern.text()?;
    match Regex::new(&format!("^(?:{text})$")) {
        Ok(regex) if regex.is_match(value) => Ok(None),
        Ok(_) => Ok(Some(format!("it must match {text}"))),
        Err(error) => fault(pattern.line, format!("AllowedPattern: {error}")),
    }
}
