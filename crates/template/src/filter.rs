//! Event filter patterns. They select the stream records that a mapping passes to its function.
use serde_json::{Map, Number, Value};

/// Filter pattern. A record must match all fields of the pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern(Fields);

#[derive(Debug, Clone, PartialEq)]
struct Fields {
    fields: Vec<(String, Rule)>,
    /// Alternatives of `$or`. A record must also match one of them.
    any: Vec<Fields>,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    /// The value is a map whose fields match.
    Inside(Fields),
    /// At least one of the tests matches.
    OneOf(Vec<Test>),
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    Equals(Value),
    EqualsIgnoreCase(String),
    AnythingBut(Vec<Value>),
    Prefix(String),
    Suffix(String),
    Exists(bool),
    Numeric(Vec<(Comparison, f64)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

impl Pattern {
    /// Parses the JSON text of a pattern. The error message names an unsupported part.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let pattern: Value =
            serde_json::from_str(text).map_err(|error| format!("a filter pattern must be JSON: {error}"))?;
        match pattern {
            Value::Object(fields) => Fields::read(&fields).map(Self),
            _ => Err("a filter pattern must be a map".to_owned()),
        }
    }

    /// Whether the record matches.
    pub fn matches(&self, record: &Value) -> bool {
        self.0.matches(record)
    }
}

impl Fields {
    fn read(map: &Map<String, Value>) -> Result<Self, String> {
        if map.is_empty() {
            return Err("a filter pattern must not contain an empty map".to_owned());
        }
        let mut read = Self { fields: Vec::new(), any: Vec::new() };
        for (key, value) in map {
            match (key.as_str(), value) {
                ("$or", Value::Array(choices)) if choices.len() > 1 => {
                    for choice in choices {
                        let choice = choice.as_object().ok_or("$or must contain only maps")?;
                        read.any.push(Self::read(choice)?);
                    }
                }
                ("$or", _) => return Err("$or must contain at least two maps".to_owned()),
                (_, Value::Object(inner)) => read.fields.push((key.clone(), Rule::Inside(Self::read(inner)?))),
                (_, Value::Array(tests)) if !tests.is_empty() => {
                    let tests = tests.iter().map(Test::read).collect::<Result<_, _>>()?;
                    read.fields.push((key.clone(), Rule::OneOf(tests)));
                }
                _ => return Err(format!("the rule of {key} must be a map, or a list of values and operators")),
            }
        }
        Ok(read)
    }

    fn matches(&self, value: &Value) -> bool {
        self.fields.iter().all(|(key, rule)| rule.matches(value.get(key)))
            && (self.any.is_empty() || self.any.iter().any(|choice| choice.matches(value)))
    }
}

impl Rule {
    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            // An absent value is treated as an empty map, so that `exists: false` matches for its
            // fields.
            Self::Inside(fields) => fields.matches(value.unwrap_or(&Value::Null)),
            Self::OneOf(tests) => tests.iter().any(|test| test.matches(value)),
        }
    }
}

impl Test {
    fn read(test: &Value) -> Result<Self, String> {
        let operator = match test {
            Value::Object(operator) => operator,
            Value::Array(_) => return Err("a list must not contain a list".to_owned()),
            plain => return Ok(Self::Equals(plain.clone())),
        };
        let Some((name, argument)) = operator.iter().next().filter(|_| operator.len() == 1) else {
            return Err("an operator must be a map with one key".to_owned());
        };
        let string = || argument.as_str().map(str::to_owned).ok_or_else(|| format!("{name} must be a string"));
        match name.as_str() {
            "prefix" => Ok(Self::Prefix(string()?)),
            "suffix" => Ok(Self::Suffix(string()?)),
            "equals-ignore-case" => Ok(Self::EqualsIgnoreCase(string()?.to_lowercase())),
            "exists" => argument.as_bool().map(Self::Exists).ok_or_else(|| "exists must be true or false".to_owned()),
            "anything-but" => anything_but(argument),
            "numeric" => numeric(argument),
            other => Err(format!("the local stack does not support the filter operator {other}")),
        }
    }

    fn matches(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else { return *self == Self::Exists(false) };
        // A test matches a list if the test matches one of the elements.
        match value {
            Value::Array(items) if !matches!(self, Self::Exists(_)) => items.iter().any(|item| self.holds(item)),
            value => self.holds(value),
        }
    }

    fn holds(&self, value: &Value) -> bool {
        let text = |check: &dyn Fn(&str) -> bool| value.as_str().is_some_and(check);
        match self {
            Self::Equals(expected) => same(expected, value),
            Self::EqualsIgnoreCase(expected) => text(&|text| text.to_lowercase() == *expected),
            Self::AnythingBut(values) => is_leaf(value) && !values.iter().any(|other| same(other, value)),
            Self::Prefix(prefix) => text(&|text| text.starts_with(prefix.as_str())),
            Self::Suffix(suffix) => text(&|text| text.ends_with(suffix.as_str())),
            // `exists` applies to leaf values and lists, but not to maps.
            Self::Exists(exists) => *exists == (is_leaf(value) || value.is_array()),
            Self::Numeric(bounds) => value
                .as_f64()
                .is_some_and(|number| bounds.iter().all(|(comparison, bound)| comparison.holds(number, *bound))),
        }
    }
}

impl Comparison {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "=" => Self::Equal,
            "<" => Self::Less,
            "<=" => Self::AtMost,
            ">" => Self::Greater,
            ">=" => Self::AtLeast,
            _ => return None,
        })
    }

    fn holds(self, number: f64, bound: f64) -> bool {
        match self {
            Self::Equal => number.total_cmp(&bound).is_eq(),
            Self::Less => number < bound,
            Self::AtMost => number <= bound,
            Self::Greater => number > bound,
            Self::AtLeast => number >= bound,
        }
    }
}

fn is_leaf(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

/// Compares JSON values. Unlike JSON equality, 5 equals 5.0.
fn same(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| value.as_number().and_then(Number::as_f64);
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left.total_cmp(&right).is_eq(),
        _ => left == right,
    }
}

fn anything_but(argument: &Value) -> Result<Test, String> {
    let values = match argument {
        Value::Array(values) => values.clone(),
        plain => vec![plain.clone()],
    };
    if values.is_empty() || !values.iter().all(|value| value.is_string() || value.is_number()) {
        return Err("anything-but must be strings or numbers".to_owned());
    }
    Ok(Test::AnythingBut(values))
}

fn numeric(argument: &Value) -> Result<Test, String> {
    let fault = || "numeric must have one or two pairs such as \">\", 10, \"<=\", 20".to_owned();
    let parts = argument.as_array().filter(|parts| matches!(parts.len(), 2 | 4)).ok_or_else(fault)?;
    let bound = |pair: &[Value]| {
        let comparison = pair.first().and_then(Value::as_str).and_then(Comparison::read);
        comparison.zip(pair.get(1).and_then(Value::as_f64)).ok_or_else(fault)
    };
    parts.chunks(2).map(bound).collect::<Result<_, _>>().map(Test::Numeric)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(pattern: &Value, record: &Value) -> bool {
        Pattern::read(&pattern.to_string()).unwrap().matches(record)
    }

    /// The operators of the Lambda event filtering guide, each with matching and non-matching
    /// values.
    #[test]
    fn operators_behave_as_in_the_aws_guide() {
        for (rule, fit, unfit) in [
            (json!([null]), vec![json!(null)], vec![json!(""), json!("null"), json!(0)]),
            (json!([""]), vec![json!("")], vec![json!(" "), json!(null)]),
            (json!(["Alice"]), vec![json!("Alice"), json!(["Bob", "Alice"])], vec![json!("alice"), json!("Alic")]),
            (json!([{"equals-ignore-case": "alice"}]), vec![json!("ALICE"), json!("Alice")], vec![json!("Bob")]),
            (json!(["New York", "Boston"]), vec![json!("Boston"), json!("New York")], vec![json!("Lisbon")]),
            (json!([{"anything-but": ["Raining"]}]), vec![json!("Sunny"), json!(3)], vec![json!("Raining"), json!({})]),
            (json!([{"anything-but": 5}]), vec![json!(6)], vec![json!(5), json!(5.0)]),
            (json!([{"numeric": ["=", 100]}]), vec![json!(100), json!(100.0)], vec![json!(101), json!("100")]),
            (
                json!([{"numeric": [">", 10, "<=", 20]}]),
                vec![json!(10.5), json!(20)],
                vec![json!(10), json!(20.1), json!("15")],
            ),
            (json!([{"exists": true}]), vec![json!("x"), json!(null), json!([1])], vec![json!({"inner": 1})]),
            (json!([{"prefix": "us-"}]), vec![json!("us-east-1")], vec![json!("eu-us-"), json!(1)]),
            (json!([{"suffix": ".png"}]), vec![json!("a.png")], vec![json!("a.png.gz")]),
            (json!([{"prefix": "a"}, {"suffix": "z"}, 7]), vec![json!("a"), json!("z"), json!(7)], vec![json!("b")]),
        ] {
            let pattern = json!({"data": {"Field": rule}});
            for value in fit {
                assert!(matches(&pattern, &json!({"data": {"Field": value}})), "{pattern} must match {value}");
            }
            for value in unfit {
                assert!(!matches(&pattern, &json!({"data": {"Field": value}})), "{pattern} must not match {value}");
            }
        }
    }

    #[test]
    fn requires_every_field_of_the_pattern() {
        let both = json!({"Location": ["New York"], "Day": ["Monday"]});
        assert!(matches(&both, &json!({"Location": "New York", "Day": "Monday", "more": 1})));
        assert!(!matches(&both, &json!({"Location": "New York"})));
        let absent = json!({"data": {"deleted": [{"exists": false}]}});
        assert!(matches(&absent, &json!({"data": {"id": 1}})));
        assert!(matches(&absent, &json!({})));
        assert!(!matches(&absent, &json!({"data": {"deleted": true}})));
        assert!(!matches(&json!({"x": [{"anything-but": ["a"]}]}), &json!({})));
    }

    #[test]
    fn or_requires_one_matching_alternative() {
        let pattern = json!({"eventName": ["INSERT"], "$or": [{"Location": ["New York"]}, {"Day": ["Monday"]}]});
        for (event, location, day, expected) in [
            ("INSERT", "", "Monday", true),
            ("INSERT", "New York", "Friday", true),
            ("INSERT", "", "Friday", false),
            ("MODIFY", "", "Monday", false),
        ] {
            let record = json!({"eventName": event, "Location": location, "Day": day});
            assert_eq!(matches(&pattern, &record), expected, "{record}");
        }
    }

    #[test]
    fn rejects_invalid_patterns() {
        for (pattern, message) in [
            ("{", "a filter pattern must be JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "a filter pattern must be a map"),
            ("{}", "a filter pattern must not contain an empty map"),
            (r#"{"a": "x"}"#, "the rule of a must be a map, or a list of values and operators"),
            (r#"{"a": []}"#, "the rule of a must be a map, or a list of values and operators"),
            (r#"{"a": [["x"]]}"#, "a list must not contain a list"),
            (r#"{"a": [{"wildcard": "x*"}]}"#, "the local stack does not support the filter operator wildcard"),
            (r#"{"a": [{"prefix": 1}]}"#, "prefix must be a string"),
            (r#"{"a": [{"prefix": "x", "suffix": "y"}]}"#, "an operator must be a map with one key"),
            (r#"{"a": [{"exists": "x"}]}"#, "exists must be true or false"),
            (r#"{"a": [{"anything-but": {"prefix": "x"}}]}"#, "anything-but must be strings or numbers"),
            (r#"{"a": [{"numeric": [">"]}]}"#, "numeric must have one or two pairs such as \">\", 10, \"<=\", 20"),
            (r#"{"a": [{"numeric": ["~", 1]}]}"#, "numeric must have one or two pairs such as \">\", 10, \"<=\", 20"),
            (r#"{"$or": [{"a": [1]}]}"#, "$or must contain at least two maps"),
        ] {
            assert_eq!(Pattern::read(pattern).unwrap_err(), message, "{pattern}");
        }
    }
}
