//! S3 endpoint: `PutObject` and `GetObject` with path-style requests.
use std::{fs, io};

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use super::Lake;

/// Responds to one call.
pub(super) fn answer(lake: &Lake, parts: &Parts, body: &[u8]) -> Response {
    let path = percent_decode_str(parts.uri.path()).decode_utf8_lossy();
    let Some((bucket, key)) = path.trim_start_matches('/').split_once('/') else {
        return refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", "Only PutObject and GetObject are supported.");
    };
    let answered = match parts.method {
        Method::PUT => put(lake, bucket, key, &parts.headers, body),
        Method::GET => get(lake, bucket, key),
        _ => Ok(refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", "Only PutObject and GetObject are supported.")),
    };
    answered.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => refusal(StatusCode::NOT_FOUND, "NoSuchKey", "The key does not exist."),
        io::ErrorKind::InvalidInput => {
            refusal(StatusCode::BAD_REQUEST, "InvalidRequest", "The key or the body is not valid.")
        }
        _ => refusal(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "The object can't be read or written."),
    })
}

fn put(lake: &Lake, bucket: &str, key: &str, headers: &HeaderMap, body: &[u8]) -> io::Result<Response> {
    let decoded = if is_chunked(headers) {
        let broken = || io::Error::new(io::ErrorKind::InvalidInput, "the chunked body is malformed");
        Some(dechunk(body).ok_or_else(broken)?)
    } else {
        None
    };
    if !lake.put(bucket, key, decoded.as_deref().unwrap_or(body))? {
        return Ok(refusal(StatusCode::NOT_FOUND, "NoSuchBucket", "The bucket does not exist."));
    }
    let mut response = Response::new(Body::empty());
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", Uuid::new_v4().simple())) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

fn get(lake: &Lake, bucket: &str, key: &str) -> io::Result<Response> {
    match lake.path(bucket, key)? {
        Some(path) => fs::read(path).map(|data| Response::new(Body::from(data))),
        None => Ok(refusal(StatusCode::NOT_FOUND, "NoSuchBucket", "The bucket does not exist.")),
    }
}

fn is_chunked(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text("content-encoding").contains("aws-chunked") || text("x-amz-content-sha256").starts_with("STREAMING-")
}

/// Decodes an `aws-chunked` body. Each chunk starts with its length in hexadecimal, and the last
/// chunk is empty.
fn dechunk(body: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut data) = (body, Vec::with_capacity(body.len()));
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let head = std::str::from_utf8(&rest[..end]).ok()?;
        let length = usize::from_str_radix(head.split(';').next()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(data);
        }
        let start = end + 2;
        data.extend_from_slice(rest.get(start..start.checked_add(length)?)?);
        rest = rest.get(start + length..)?.strip_prefix(b"\r\n")?;
    }
}

/// Error response in S3's format.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    );
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_a_chunked_body() {
        let body = b"4;chunk-signature=x\r\nab\r\n\r\n3\r\ncde\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        assert_eq!(dechunk(body).unwrap(), b"ab\r\ncde");
        for broken in [&b""[..], b"5\r\nab\r\n0\r\n", b"x\r\n", b"2\r\nabc\r\n0\r\n", b"ffffffffffffffff\r\nab"] {
            assert_eq!(dechunk(broken), None);
        }
    }
}
