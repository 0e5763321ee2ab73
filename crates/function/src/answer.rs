use crate::{Contract, Error, Skipped};
use http::{HeaderValue, StatusCode, header};
use lambda_http::{Body, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::{borrow::Cow, fmt::Display};
use table::{Binding, Cursor, Page};

/// Percent-encodes all characters except the unreserved characters of RFC 3986. The result is a
/// path segment, or the value of a header parameter (RFC 8187).
pub fn percent_encoded(text: &str) -> impl Display + '_ {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ENCODED)
}

/// A response of a handler.
pub trait Reply: Send {
    /// Returns the HTTP response. `path` is the request path without a trailing slash.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the body cannot be serialized, or if the `Location` is not a
    /// valid header.
    fn reply(self, path: &str) -> Result<Response<Body>, Error>;

    /// Describes the statuses and the bodies.
    fn describe(contract: &mut Contract);
}

/// 200 with a body.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// 201 with a body. The `Location` is the request path followed by the id.
#[derive(Debug)]
pub struct Created<T> {
    /// The id, without percent-encoding.
    pub id: String,
    /// The body.
    pub body: T,
}

/// 201 with a body and a given `Location`. Use it if the resource is not below the request path.
#[derive(Debug)]
pub struct Located<T> {
    /// The path of the created resource.
    pub location: String,
    /// The body.
    pub body: T,
}

/// 201 as for [`Created`] if the resource is new, otherwise 200.
#[derive(Debug)]
pub struct Upserted<T> {
    /// The id of the new resource. `None` if the resource already existed.
    pub created: Option<String>,
    /// The body.
    pub body: T,
}

/// The response to a PUT: 201 for a new resource, 200 for a replaced resource.
///
/// The `Location` of a new resource is the request path.
#[derive(Debug)]
pub struct Put<T> {
    /// Whether the resource is new.
    pub is_new: bool,
    /// The body.
    pub body: T,
}

/// 202 for work that continues after the response. The `Location` is the path of the job.
#[derive(Debug)]
pub struct Accepted<T> {
    /// The path of the job.
    pub location: String,
    /// The progress of the job.
    pub body: T,
}

/// 204 without a body.
#[derive(Debug)]
pub struct NoContent;

/// 200 with a page of a list: `{"items": […], "nextCursor": "…", "skipped": 1}`. `skipped` is the
/// number of unreadable items that were left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

/// Whether no item was skipped. The response then has no member `skipped`.
pub fn is_zero(skipped: &usize) -> bool {
    *skipped == 0
}

impl<T> List<T> {
    /// Creates the only page of a list. The page has no cursor.
    pub fn whole(page: Page<T>) -> Self {
        Self { items: page.items, next_cursor: None, skipped: page.skipped }
    }

    /// Returns the items and the cursor of the next page, for formats other than JSON.
    pub fn into_parts(self) -> (Vec<T>, Option<String>) {
        (self.items, self.next_cursor)
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Json<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        json(StatusCode::OK, &self.0)
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(200, false);
    }
}

/// The page of a list is named after its items: `PaymentPage`.
impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Page", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A page of a list.",
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {"type": "array", "items": generator.subschema_for::<T>()},
                "nextCursor": generator.subschema_for::<table::Cursor>(),
                "skipped": generator.subschema_for::<Skipped>(),
            },
        })
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for List<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        json(StatusCode::OK, &self)
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<Self>(200, false);
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Created<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        let location = format!("{path}/{}", percent_encoded(&self.id));
        located(json(StatusCode::CREATED, &self.body)?, &location)
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(201, true);
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Located<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        located(json(StatusCode::CREATED, &self.body)?, &self.location)
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(201, true);
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Put<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        if self.is_new { located(json(StatusCode::CREATED, &self.body)?, path) } else { Json(self.body).reply(path) }
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(200, false);
        contract.answer::<T>(201, true);
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Accepted<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        located(json(StatusCode::ACCEPTED, &self.body)?, &self.location)
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(202, true);
    }
}

impl<T: Serialize + JsonSchema + Send> Reply for Upserted<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        match self.created {
            Some(id) => Created { id, body: self.body }.reply(path),
            None => Json(self.body).reply(path),
        }
    }

    fn describe(contract: &mut Contract) {
        contract.answer::<T>(200, false);
        contract.answer::<T>(201, true);
    }
}

impl Reply for NoContent {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
    }

    fn describe(contract: &mut Contract) {
        contract.answers.insert(204, serde_json::json!({}));
    }
}

fn located(mut response: Response<Body>, location: &str) -> Result<Response<Body>, Error> {
    let location = HeaderValue::from_str(location).map_err(|error| Error::Internal(error.to_string()))?;
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

fn json(status: StatusCode, body: &impl Serialize) -> Result<Response<Body>, Error> {
    let body = serde_json::to_string(body).map_err(|error| Error::Internal(error.to_string()))?;
    let mut response = Response::new(Body::Text(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Replaces the parameters of a route: `/accounts/{accountId}` becomes `/accounts/A-1`.
pub fn path(route: &str, parameter: impl Fn(&str) -> Option<String>) -> String {
    let route = route.split_once(' ').map_or(route, |(_, path)| path);
    let segment = |segment: &str| {
        let name = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let value = name.and_then(&parameter);
        value.map_or(segment.to_owned(), |value| percent_encoded(&value).to_string())
    };
    route.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// The requested page of a list.
#[derive(Debug)]
pub struct Listing {
    /// The part of the range after the cursor.
    pub range: keys::KeyRange,
    /// The position that the cursor contains, or `None` on the first page. Only lists whose
    /// positions contain more than a sort key need this value.
    pub position: Option<String>,
    /// The maximum number of items.
    pub limit: usize,
    /// The range of the whole list, including its first page.
    pub whole: keys::KeyRange,
    pub(crate) binding: Binding,
    pub(crate) started: i64,
}

impl Listing {
    /// Converts a page to a response. Adds the cursor of the next page, if any.
    pub fn list<T>(self, page: Page<T>) -> List<T> {
        let cursor = |position: String| Cursor::new(self.binding, self.started, &self.whole, &position).to_string();
        List { items: page.items, next_cursor: page.next.map(cursor), skipped: page.skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reply: impl Reply) -> (u16, Option<String>, String) {
        let response = reply.reply("/a/b").expect("a response");
        let location = response.headers().get("location").map(|location| location.to_str().expect("text").to_owned());
        let Body::Text(body) = response.body() else { panic!("{response:?}") };
        (response.status().as_u16(), location, body.clone())
    }

    #[test]
    fn put_returns_location_of_a_new_resource_only() {
        assert_eq!(told(Put { is_new: true, body: 1 }), (201, Some("/a/b".to_owned()), "1".to_owned()));
        assert_eq!(told(Put { is_new: false, body: 1 }), (200, None, "1".to_owned()));
    }

    #[test]
    fn located_and_accepted_return_their_location() {
        let made = Located { location: "/things/1".to_owned(), body: [true] };
        assert_eq!(told(made), (201, Some("/things/1".to_owned()), "[true]".to_owned()));
        let accepted = Accepted { location: "/jobs/VenueId-1".to_owned(), body: [true] };
        assert_eq!(told(accepted), (202, Some("/jobs/VenueId-1".to_owned()), "[true]".to_owned()));
        let forged = Accepted { location: "/jobs/1\r\nset-cookie: x".to_owned(), body: () };
        assert!(matches!(forged.reply("/a/b"), Err(Error::Internal(_))));
    }

    #[test]
    fn list_with_one_page_has_no_cursor() {
        let page = |skipped| Page { items: vec![1, 2], next: None, skipped };
        assert_eq!(told(List::whole(page(3))), (200, None, r#"{"items":[1,2],"skipped":3}"#.to_owned()));
        assert_eq!(told(List::whole(page(0))), (200, None, r#"{"items":[1,2]}"#.to_owned()));
    }
}
