use crate::Error;
use http::{HeaderValue, StatusCode, header};
use lambda_http::{Body, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use table::{Binding, Cursor, Page};

/// Characters that a path segment may have as they are (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What a handler answers with.
pub trait Reply: Send {
    /// The response; `path` is the path of the request, without a slash at its end.
    ///
    /// # Errors
    /// The answer can't be written as JSON.
    fn reply(self, path: &str) -> Result<Response<Body>, Error>;
}

/// 200, and the thing.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// 201, the thing, and its `Location`: the path that it was posted to, and its id.
#[derive(Debug)]
pub struct Created<T> {
    /// The id, as it stands in paths.
    pub id: String,
    /// The thing.
    pub body: T,
}

/// 201, the thing, and its `Location` where that is not below the path that it was posted to.
#[derive(Debug)]
pub struct Located<T> {
    /// Where it is, as a path.
    pub location: String,
    /// The thing.
    pub body: T,
}

/// 201 as [`Created`] for what is new, 200 for what was there and is changed.
#[derive(Debug)]
pub struct Upserted<T> {
    /// The id of what is new; none for what was there.
    pub created: Option<String>,
    /// The thing.
    pub body: T,
}

/// 201 for what was put where nothing was, 200 for what was replaced. Its `Location` is the path that it was put to.
#[derive(Debug)]
pub struct Put<T> {
    /// Whether nothing was there.
    pub is_new: bool,
    /// The thing.
    pub body: T,
}

/// 202, for work that goes on after the answer, with the `Location` where it can be followed.
#[derive(Debug)]
pub struct Accepted<T> {
    /// Where, as a path.
    pub location: String,
    /// How far it is.
    pub body: T,
}

/// 204, for what is gone.
#[derive(Debug)]
pub struct NoContent;

/// 200, and a page of a list: `{"items": […], "nextCursor": "…"}`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct List<T> {
    items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl<T> List<T> {
    /// A list that is answered whole.
    #[must_use]
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

impl<T: Serialize + Send> Reply for Json<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        json(StatusCode::OK, &self.0)
    }
}

impl<T: Serialize + Send> Reply for List<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        json(StatusCode::OK, &self)
    }
}

impl<T: Serialize + Send> Reply for Created<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        let location = format!("{path}/{}", utf8_percent_encode(&self.id, SEGMENT));
        located(json(StatusCode::CREATED, &self.body)?, &location)
    }
}

impl<T: Serialize + Send> Reply for Located<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        located(json(StatusCode::CREATED, &self.body)?, &self.location)
    }
}

impl<T: Serialize + Send> Reply for Put<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        if self.is_new { located(json(StatusCode::CREATED, &self.body)?, path) } else { Json(self.body).reply(path) }
    }
}

impl<T: Serialize + Send> Reply for Accepted<T> {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        located(json(StatusCode::ACCEPTED, &self.body)?, &self.location)
    }
}

impl<T: Serialize + Send> Reply for Upserted<T> {
    fn reply(self, path: &str) -> Result<Response<Body>, Error> {
        match self.created {
            Some(id) => Created { id, body: self.body }.reply(path),
            None => Json(self.body).reply(path),
        }
    }
}

impl Reply for NoContent {
    fn reply(self, _: &str) -> Result<Response<Body>, Error> {
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
        Ok(response)
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

/// Fills the parameters of a route in: `/accounts/{accountId}` becomes `/accounts/A-1`.
#[must_use]
pub fn path(route: &str, parameter: impl Fn(&str) -> Option<String>) -> String {
    let route = route.split_once(' ').map_or(route, |(_, path)| path);
    let segment = |segment: &str| {
        let name = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        let value = name.and_then(&parameter);
        value.map_or(segment.to_owned(), |value| utf8_percent_encode(&value, SEGMENT).to_string())
    };
    route.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// The part of a list that a request asks for.
#[derive(Debug)]
pub struct Listing {
    /// What is left of the range.
    pub range: keys::KeyRange,
    /// Where the page before ended, for lists whose positions are more than their sort keys.
    pub position: Option<String>,
    /// How many items.
    pub limit: usize,
    /// The range.
    pub whole: keys::KeyRange,
    pub(crate) binding: Binding,
    pub(crate) started: i64,
}

impl Listing {
    /// The page as it is answered, with the cursor of the next.
    #[must_use]
    pub fn list<T>(self, page: Page<T>) -> List<T> {
        let cursor = |position: String| Cursor::new(self.binding, self.started, &self.whole, &position).to_string();
        List { items: page.items, next_cursor: page.next.map(cursor) }
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
    fn what_is_put_is_where_it_was_put() {
        assert_eq!(told(Put { is_new: true, body: 1 }), (201, Some("/a/b".to_owned()), "1".to_owned()));
        assert_eq!(told(Put { is_new: false, body: 1 }), (200, None, "1".to_owned()));
    }

    #[test]
    fn what_goes_on_says_where() {
        let made = Located { location: "/things/1".to_owned(), body: [true] };
        assert_eq!(told(made), (201, Some("/things/1".to_owned()), "[true]".to_owned()));
        let accepted = Accepted { location: "/jobs/VenueId-1".to_owned(), body: [true] };
        assert_eq!(told(accepted), (202, Some("/jobs/VenueId-1".to_owned()), "[true]".to_owned()));
        let forged = Accepted { location: "/jobs/1\r\nset-cookie: x".to_owned(), body: () };
        assert!(matches!(forged.reply("/a/b"), Err(Error::Internal(_))));
    }

    #[test]
    fn a_list_that_is_whole_has_no_cursor() {
        assert_eq!(told(List::whole(vec![1, 2])), (200, None, r#"{"items":[1,2]}"#.to_owned()));
    }
}
