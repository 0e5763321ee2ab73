use crate::{
    Contract, Error, Fault, Whole,
    json::{Members, Object, escaped, faults},
    strict::{self, described},
};
use keys::Bounds;
use lambda_http::{
    Body, RequestExt,
    http::{
        Method,
        header::{AsHeaderName, CONTENT_TYPE},
    },
    request::RequestContext,
};
use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::{
    collections::BTreeSet,
    fmt,
    str::{FromStr, Utf8Error},
};
use table::Cursor;

/// The maximum size of a request body in bytes, unless the input needs more. Valid bodies are far
/// smaller, even with escape sequences.
const MAX_BODY: usize = 64 * 1024;

/// The `limit` of a list.
pub(crate) type Limit = Whole<1, 100>;

/// The input of an access pattern, read from a request.
pub trait Input: Sized + Send {
    /// Whether the request must have a body. A body must be a JSON object.
    const BODY: bool = false;

    /// The maximum size of the body in bytes.
    const MAX_BODY: usize = MAX_BODY;

    /// Reads the fields. Returns `None` only after a fault was recorded.
    ///
    /// Read all fields before returning `None`, so that the response lists every fault.
    fn read(fields: &mut Fields) -> Option<Self>;

    /// Describes the fields.
    fn describe(contract: &mut Contract);
}

impl Contract {
    /// Returns the schema of an object that is read like a body, such as an item of a list.
    pub fn nested<I: Input>(&mut self) -> Schema {
        let outer = (self.body.take(), std::mem::take(&mut self.name), std::mem::take(&mut self.has_own_name));
        I::describe(self);
        let (object, nested) = (self.body.take().unwrap_or_default(), std::mem::take(&mut self.name));
        (self.body, self.name, self.has_own_name) = outer;
        self.requests.definitions_mut().insert(nested.clone(), object.to_value());
        Schema::new_ref(format!("#/components/schemas/{nested}"))
    }

    /// Adds the parameters of a list.
    pub fn paging(&mut self, default_limit: usize) {
        let default = i64::try_from(default_limit).ok().and_then(|limit| Limit::try_from(limit).ok());
        let more = default.is_none().then(|| format!(" Without it, a page has up to {default_limit}."));
        let about = format!("Maximum number of items on a page.{}", more.unwrap_or_default());
        self.query::<Limit>("limit", &about, default.map(|limit| serde_json::json!(limit)));
        self.query::<table::Cursor>(
            "cursor",
            "The `nextCursor` of the previous page. A request with another path, query or caller gets 400.",
            None,
        );
    }
}

/// The fields of a request. A field that is never read is reported as unknown.
#[derive(Debug, Default)]
pub struct Fields {
    route: String,
    path: Vec<(String, String)>,
    query: Vec<(String, String)>,
    /// `None` if the body is not a JSON object. This fault is then reported instead of missing
    /// fields.
    body: Option<Members>,
    headers: http::HeaderMap,
    asked: BTreeSet<String>,
    faults: Vec<Fault>,
    pub(crate) paging: Option<Paging>,
}

/// The paging parameters of a list request.
#[derive(Debug, Clone)]
pub(crate) struct Paging {
    pub(crate) limit: usize,
    pub(crate) cursor: Option<Cursor>,
}

impl Fields {
    pub(crate) fn of_request<I: Input>(request: &lambda_http::Request) -> Result<Self, Error> {
        let pairs = |map: Option<&lambda_http::aws_lambda_events::query_map::QueryMap>| {
            let pairs = map.into_iter().flat_map(|map| map.iter());
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        // If the input has no body fields, the request may have no body or an empty object.
        let is_there = I::BODY || (changes(request.method()) && !matches!(request.body(), Body::Empty));
        let body = if is_there { body_text(request, I::MAX_BODY).and_then(object) } else { Ok(Members::new()) };
        let (body, faults) = match body {
            Ok(members) => {
                let faults = faults("/body", &members);
                (Some(members), faults)
            }
            Err(Error::Invalid(faults)) => (None, faults),
            Err(other) => return Err(other),
        };
        let route = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => context.route_key.clone().unwrap_or_default(),
            _ => String::new(),
        };
        Ok(Self {
            route,
            path: pairs(request.path_parameters_ref()),
            query: pairs(request.query_string_parameters_ref()),
            headers: request.headers().clone(),
            body,
            faults,
            ..Self::default()
        })
    }

    pub(crate) fn of_event(event: &str) -> Result<Self, Error> {
        let members = object(event)?;
        Ok(Self { faults: faults("/body", &members), body: Some(members), ..Self::default() })
    }

    pub(crate) fn read<I: Input>(&mut self) -> Result<I, Error> {
        let input = I::read(self);
        let unknown = |kind: &str, pairs: Vec<&String>| -> Vec<String> {
            let pointers = pairs.into_iter().map(|name| format!("/{kind}/{}", escaped(name)));
            pointers.filter(|at| !self.asked.contains(at)).collect()
        };
        let mut strangers = unknown("query", self.query.iter().map(|(name, _)| name).collect());
        strangers.extend(unknown("body", self.body.iter().flatten().map(|(name, _)| name).collect()));
        for pointer in strangers {
            self.faults.push(Fault { pointer, detail: "is unknown".to_owned() });
        }
        match input {
            Some(input) if self.faults.is_empty() => Ok(input),
            _ => Err(Error::Invalid(std::mem::take(&mut self.faults))),
        }
    }

    /// Records a fault and returns `None`.
    pub fn fault<T>(&mut self, pointer: &str, detail: impl fmt::Display) -> Option<T> {
        self.faults.push(Fault { pointer: pointer.to_owned(), detail: detail.to_string() });
        None
    }

    /// Returns the route, such as `GET /accounts/{accountId}`, for functions with several routes.
    pub fn route(&self) -> &str {
        &self.route
    }

    /// Reads a path parameter.
    pub fn path<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        let values = values(&self.path, name);
        self.parse(&format!("/path/{name}"), &values, true)
    }

    /// Reads a path parameter that only some routes of the function have. It is required on a route
    /// that has it, so that a request for a part is never taken for one for the whole.
    pub fn path_if_any<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        let values = values(&self.path, name);
        let is_required = self.route.contains(&format!("{{{name}}}"));
        self.parse(&format!("/path/{name}"), &values, is_required)
    }

    /// Reads an optional query parameter.
    pub fn query<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        let values = values(&self.query, name);
        self.parse(&format!("/query/{name}"), &values, false)
    }

    /// Reads an optional header.
    ///
    /// A header may occur several times, and API Gateway joins its values with commas. The type of
    /// a header that must occur once refuses commas (docs/decisions/input.md).
    pub fn header<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Option<T> {
        let pointer = format!("/header/{name}");
        match header_text(&self.headers, name) {
            Ok(text) => self.parse(&pointer, text.as_slice(), false),
            Err(_) => self.fault(&pointer, "must be UTF-8"),
        }
    }

    /// Requires a header without reading it.
    pub fn needs_header(&mut self, name: &str) {
        if !self.headers.contains_key(name) {
            self.fault::<()>(&format!("/header/{name}"), "is missing");
        }
    }

    /// Reads a required field of the body.
    pub fn body<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let pointer = format!("/body/{name}");
        if self.body.as_ref().is_some_and(|body| !body.iter().any(|(member, _)| member == name)) {
            self.asked.insert(pointer.clone());
            return self.fault(&pointer, "is missing");
        }
        self.body_if_any(name)
    }

    /// Reads an optional field of the body.
    pub fn body_if_any<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        let pointer = format!("/body/{name}");
        self.asked.insert(pointer.clone());
        let is_within = |fault: &Fault| {
            fault.pointer.strip_prefix(&pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if self.faults.iter().any(is_within) {
            return None;
        }
        let (_, value) = self.body.iter().flatten().find(|(member, _)| member == name)?;
        strict::read(value.get()).map_or_else(
            |strict::Mismatch { path, detail }| {
                let at = path.iter().fold(pointer.clone(), |at, part| format!("{at}/{}", escaped(part)));
                self.fault(&at, detail)
            },
            Some,
        )
    }

    /// Whether the body has the field, even with an invalid value. Returns true if the whole body
    /// is invalid, so that no field is reported as missing.
    pub fn has_body(&self, name: &str) -> bool {
        self.body.as_ref().is_none_or(|body| body.iter().any(|(member, _)| member == name))
    }

    /// Whether the field of the body is `null`. The field then counts as read and as missing.
    pub fn take_null(&mut self, name: &str) -> bool {
        let Some(body) = &mut self.body else { return false };
        let is_null = |(member, value): &(String, Box<RawValue>)| member == name && value.get() == "null";
        let Some(at) = body.iter().position(is_null) else { return false };
        body.remove(at);
        self.asked.insert(format!("/body/{name}"));
        true
    }

    /// Whether the query has the parameter, even with an invalid value.
    pub fn has_query(&self, name: &str) -> bool {
        self.query.iter().any(|(parameter, _)| parameter == name)
    }

    /// Reads a time range from two optional query parameters. Both may be times or dates.
    pub fn bounds(&mut self, from: &str, to: &str) -> Bounds {
        let bounds = Bounds::new(self.query(from), self.query(to));
        bounds.unwrap_or_else(|| {
            self.fault::<()>(&format!("/query/{to}"), format!("must not be before {from}"));
            Bounds::default()
        })
    }

    /// Reads the query parameters of a list: `limit` (1 to 100) and `cursor`.
    pub fn paging(&mut self, default_limit: usize) {
        let limit = self.query::<Limit>("limit").and_then(|limit| usize::try_from(i64::from(limit)).ok());
        let limit = limit.unwrap_or(default_limit);
        let cursor = self.query("cursor");
        self.paging = Some(Paging { limit, cursor });
    }

    fn parse<T: FromStr<Err: fmt::Display>>(&mut self, pointer: &str, values: &[String], required: bool) -> Option<T> {
        self.asked.insert(pointer.to_owned());
        match values {
            [] if required => self.fault(pointer, "is missing"),
            [] => None,
            [value] => value.parse().map_or_else(|error| self.fault(pointer, error), Some),
            _ => self.fault(pointer, "occurs more than once"),
        }
    }
}

fn values(pairs: &[(String, String)], name: &str) -> Vec<String> {
    pairs.iter().filter(|(member, _)| member == name).map(|(_, value)| value.clone()).collect()
}

/// Reads the fields of a JSON object that is not the body of a request, such as a line of a file.
/// The rules for bodies apply.
///
/// # Errors
/// [`Error::Invalid`] lists all faults. Their pointers start with `/body`.
pub fn read_record<I: Input>(json: &str) -> Result<I, Error> {
    Fields::of_event(json)?.read()
}

/// Input of an access pattern without parameters.
impl Input for () {
    fn read(_: &mut Fields) -> Option<Self> {
        Some(())
    }

    fn describe(_: &mut Contract) {}
}

/// The query parameters `from` and `to` of a list.
impl Input for Bounds {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(fields.bounds("from", "to"))
    }

    fn describe(contract: &mut Contract) {
        contract.query::<keys::Bound>("from", "Start of the period, inclusive.", None);
        contract.query::<keys::Bound>("to", "End of the period, inclusive. Must not be before `from`.", None);
    }
}

/// The values of a header, joined with commas as by API Gateway. Invalid UTF-8 is an error. Lossy
/// decoding would make different values equal.
fn header_text(headers: &http::HeaderMap, name: impl AsHeaderName) -> Result<Option<String>, Utf8Error> {
    let values = headers.get_all(name).iter().map(|value| str::from_utf8(value.as_bytes()));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    Ok((!values.is_empty()).then(|| values.join(",")))
}

/// Whether requests with this method may have a body.
fn changes(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

fn body_text(request: &lambda_http::Request, max: usize) -> Result<&str, Error> {
    let text = match request.body() {
        Body::Text(text) => text.as_bytes(),
        Body::Binary(bytes) => bytes,
        _ => &[],
    };
    if text.len() > max {
        return Err(Error::TooLarge(format!("The body must have at most {max} bytes.")));
    }
    if text.is_empty() {
        return Err(Error::invalid("/body", "is missing: send a JSON object"));
    }
    // A body has one type, so a comma is not accepted.
    let kind = header_text(request.headers(), CONTENT_TYPE).ok().flatten().filter(|kind| !kind.contains(','));
    let kind = kind.unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind != "application/json" && !(kind.starts_with("application/") && kind.ends_with("+json")) {
        return Err(Error::UnsupportedMediaType);
    }
    std::str::from_utf8(text).map_err(|_| Error::invalid("/body", "is not valid UTF-8"))
}

/// Parses a JSON object.
fn object(text: &str) -> Result<Members, Error> {
    let object: Result<Object, _> = serde_json::from_str(text);
    object.map(|Object(members)| members).map_err(|error| Error::invalid("/body", described(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Two {
        number: u8,
        text: Option<String>,
    }

    impl Input for Two {
        fn read(fields: &mut Fields) -> Option<Self> {
            let (number, text) = (fields.body("number"), fields.body_if_any("text"));
            Some(Self { number: number?, text })
        }

        fn describe(_: &mut Contract) {}
    }

    fn faults(event: &str) -> Vec<String> {
        match Fields::of_event(event).and_then(|mut fields| fields.read::<Two>()) {
            Err(Error::Invalid(faults)) => {
                faults.into_iter().map(|fault| format!("{} {}", fault.pointer, fault.detail)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reports_every_fault() {
        assert_eq!(
            faults(r#"{"number": "1", "text": 5, "more": null}"#),
            [
                "/body/number must be a whole number from 0 to 255",
                "/body/text must be a string",
                "/body/more is unknown",
            ]
        );
        assert_eq!(faults("{}"), ["/body/number is missing"]);
        assert_eq!(faults(r#"{"number": 1, "a/b~c": 2}"#), ["/body/a~1b~0c is unknown"]);
        assert_eq!(faults(r#"{"number": 1, "number": 2}"#), ["/body/number occurs more than once"]);
        assert_eq!(faults("[]"), ["/body must be a JSON object"]);
    }

    #[test]
    fn optional_path_parameter_is_checked_if_present() {
        let fields = |path: &[(&str, &str)]| Fields {
            path: path.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Fields::default()
        };
        let mut none = fields(&[]);
        assert_eq!((none.path_if_any::<u8>("id"), none.faults.len()), (None, 0));
        let mut right = fields(&[("id", "7")]);
        assert_eq!((right.path_if_any::<u8>("id"), right.faults.len()), (Some(7), 0));
        let mut wrong = fields(&[("id", "")]);
        assert_eq!((wrong.path_if_any::<u8>("id"), wrong.faults.len()), (None, 1));
        let mut missing = Fields { route: "DELETE /things/{id}".to_owned(), ..Fields::default() };
        assert_eq!((missing.path_if_any::<u8>("id"), missing.faults.len()), (None, 1));
    }

    #[test]
    fn has_query_accepts_invalid_values() {
        let pairs = [("year", "x"), ("from", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut fields = Fields { query: pairs.to_vec(), ..Fields::default() };
        assert_eq!(["year", "from", "to", "Year"].map(|name| fields.has_query(name)), [true, true, false, false]);
        assert_eq!(fields.query::<u16>("year"), None);
        assert!(fields.has_query("year") && fields.faults.len() == 1);
    }

    #[test]
    fn repeated_headers_are_joined_and_a_key_occurs_once() {
        let read = |name: &'static str, values: &[&str]| {
            let values = values.iter().map(|value| (name.parse().expect("a name"), value.parse().expect("a value")));
            Fields { headers: values.collect(), ..Fields::default() }
        };
        for joined in [&["text/csv", "*/*;q=0.1"][..], &["text/csv,*/*;q=0.1"]] {
            assert_eq!(read("accept", joined).header::<crate::MediaType>("accept"), Some(crate::MediaType::Csv));
        }
        for (values, detail) in [
            (&["k", "k"][..], "must be sent once, without commas"),
            (&["k,k"], "must be sent once, without commas"),
            (&["k, k"], "must be sent once, without commas"),
            (&["k", ""], "must be sent once, without commas"),
            (&[""], "must not be empty"),
            (&["k "], "must have single spaces"),
            (&["\u{fffd}"], "must not contain U+FFFD"),
        ] {
            let mut fields = read("idempotency-key", values);
            assert_eq!(fields.header::<keys::IdempotencyKey>("idempotency-key"), None, "{values:?}");
            let fault = &fields.faults[0];
            assert!(fault.pointer == "/header/idempotency-key" && fault.detail.starts_with(detail), "{fault:?}");
        }
    }

    #[test]
    fn a_null_field_is_taken_once() {
        let mut fields = Fields::of_event(r#"{"a": null, "b": "null"}"#).expect("an object");
        assert_eq!(["a", "a", "b", "c"].map(|name| fields.take_null(name)), [true, false, false, false]);
        assert_eq!((fields.has_body("a"), fields.has_body("b")), (false, true));
    }

    #[test]
    fn reads_a_valid_event() {
        let read = Fields::of_event(r#"{"number": 1}"#).and_then(|mut fields| fields.read::<Two>());
        assert_eq!(read.expect("a valid event"), Two { number: 1, text: None });
    }
}
