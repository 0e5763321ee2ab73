//! Checks presigned URLs: the signature, the time, and the permission of the function that signed.
//!
//! The function's name is the access key id of its credentials, and [`SECRET_KEY`] is the secret of
//! all of them. Requests without a signature in the query string are not checked.
use std::collections::{BTreeMap, BTreeSet};

use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::{Lake, objects::Fault};

/// The secret access key of every function on a local stack.
pub const SECRET_KEY: &str = "local";
const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const CONTENT_SHA256: &str = "x-amz-content-sha256";
/// Date, region, service and terminator.
const SCOPE_PARTS: usize = 4;
/// Maximum validity in seconds.
const MAX_SECONDS: i64 = 7 * 24 * 60 * 60;
/// Characters that a canonical query string does not encode.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Checks the signature in the query string, if there is one.
pub(super) fn check(lake: &Lake, parts: &Parts, now: Timestamp) -> Result<(), Fault> {
    let query: Vec<_> = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
    if !query.iter().any(|(name, _)| name.starts_with("X-Amz-")) {
        return Ok(());
    }
    let unsigned = unsigned(&query, &parts.headers);
    if !unsigned.is_empty() {
        return Err(Fault::HeadersNotSigned(unsigned.join(", ")));
    }
    let signed = Signed::read(query, parts).ok_or(Fault::SignatureDoesNotMatch)?;
    let age = now.as_second() - signed.at.as_second();
    if !(0..=MAX_SECONDS).contains(&signed.seconds) || age > signed.seconds || age < -MAX_SECONDS {
        return Err(Fault::Expired);
    }
    if signed.expected() != signed.signature {
        return Err(Fault::SignatureDoesNotMatch);
    }
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    match lake.role(&signed.access_key) {
        Some(allows) if allows(method, path, parts.uri.query()) => Ok(()),
        _ => Err(Fault::AccessDenied),
    }
}

/// Headers that a presigned request may not have without a signature: the host, the checksum of the
/// body, and everything that changes the stored object. S3 refuses the same headers, and takes
/// `x-amz-content-sha256` as the hash of the body.
fn unsigned<'a>(query: &[(String, String)], headers: &'a HeaderMap) -> Vec<&'a str> {
    let signed = query.iter().find(|(name, _)| name == "X-Amz-SignedHeaders").map_or("", |(_, value)| value);
    let signed: BTreeSet<_> = signed.split(';').collect();
    let must =
        |name: &&str| matches!(*name, "host" | "content-md5") || name.starts_with("x-amz-") && *name != CONTENT_SHA256;
    headers.keys().map(HeaderName::as_str).filter(must).filter(|name| !signed.contains(name)).collect()
}

/// The parts of a presigned request.
struct Signed {
    access_key: String,
    /// The date, region, service and terminator of the credential.
    scope: String,
    time: String,
    at: Timestamp,
    seconds: i64,
    signature: String,
    /// The canonical request.
    request: String,
}

impl Signed {
    fn read(mut query: Vec<(String, String)>, parts: &Parts) -> Option<Self> {
        let at = query.iter().position(|(name, _)| name == "X-Amz-Signature")?;
        let (_, signature) = query.remove(at);
        let values: BTreeMap<_, _> = query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let (access_key, scope) = values.get("X-Amz-Credential")?.split_once('/')?;
        let time = (*values.get("X-Amz-Date")?).to_owned();
        let at = DateTime::strptime("%Y%m%dT%H%M%SZ", &time).ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
        let names: Vec<_> = values.get("X-Amz-SignedHeaders")?.split(';').collect();
        // Repeated names would multiply a long header, and further parts of the scope the hashes.
        let is_canonical = names.is_sorted_by(|left, right| left < right) && scope.split('/').count() == SCOPE_PARTS;
        if *values.get("X-Amz-Algorithm")? != ALGORITHM || !names.contains(&"host") || !is_canonical {
            return None;
        }
        Some(Self {
            access_key: access_key.to_owned(),
            scope: scope.to_owned(),
            at,
            seconds: values.get("X-Amz-Expires")?.parse().ok()?,
            request: canonical(&query, parts, &names)?,
            time,
            signature,
        })
    }

    /// Returns the signature of the request.
    fn expected(&self) -> String {
        let text = [ALGORITHM, &self.time, &self.scope, &hex(&Sha256::digest(&self.request))].join("\n");
        let first = format!("AWS4{SECRET_KEY}").into_bytes();
        let key = self.scope.split('/').fold(first, |key, part| sign(&key, part));
        hex(&sign(&key, &text))
    }
}

fn canonical(query: &[(String, String)], parts: &Parts, names: &[&str]) -> Option<String> {
    let encoded = |text: &str| utf8_percent_encode(text, PLAIN).to_string();
    let mut query: Vec<_> = query.iter().map(|(name, value)| (encoded(name), encoded(value))).collect();
    query.sort();
    let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let headers: Option<String> = names.iter().map(|name| Some(format!("{name}:{}\n", header(parts, name)?))).collect();
    let payload = joined(&parts.headers, CONTENT_SHA256).unwrap_or_else(|| "UNSIGNED-PAYLOAD".to_owned());
    let request = [parts.method.as_str(), parts.uri.path(), &query.join("&"), &headers?, &names.join(";"), &payload];
    Some(request.join("\n"))
}

fn header(parts: &Parts, name: &str) -> Option<String> {
    let host = || (name == "host").then(|| parts.uri.authority().map(ToString::to_string))?;
    joined(&parts.headers, name).or_else(host)
}

/// The value of a header. Repeated headers are one header with a list.
pub(super) fn joined(headers: &HeaderMap, name: &str) -> Option<String> {
    let values: Result<Vec<_>, _> = headers.get_all(name).iter().map(HeaderValue::to_str).collect();
    let values: Vec<_> = values.ok()?.into_iter().map(str::trim).collect();
    (!values.is_empty()).then(|| values.join(","))
}

fn sign(key: &[u8], text: &str) -> Vec<u8> {
    // HMAC accepts keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}
