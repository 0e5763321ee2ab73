//! S3 endpoint for path-style requests: objects with user metadata, ranges and conditions, lists,
//! and uploads in parts (docs/decisions/streams-locally.md). Of the signatures, only those of
//! presigned URLs are checked.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    sync::Arc,
};

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use futures::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};
use md5::Md5;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use regex_lite::Regex;
use sha2::{Digest, Sha256};

use super::{
    Lake,
    chunked::Chunks,
    objects::{Attributes, Fault, Listed, Object, Only},
    presigned,
};
use engine::server::{Arriving, Refusal};

const METADATA: &str = "x-amz-meta-";
/// Maximum number of keys in a page of a list.
const MAX_KEYS: usize = 1000;
/// Maximum number of buckets in a page.
const MAX_BUCKETS: usize = 10_000;
const MAX_PARTS: u32 = 10_000;
/// Size of the parts in which a body is sent.
const SENT: usize = 256 * 1024;
/// Characters that a list with `encoding-type=url` does not encode.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'*');

/// Parsed target of a request: bucket, key and query.
struct Target {
    bucket: String,
    key: String,
    query: BTreeMap<String, String>,
}

impl Target {
    fn of(parts: &Parts) -> Result<Self, Fault> {
        let path = percent_decode_str(parts.uri.path()).decode_utf8().map_err(|_| Fault::InvalidUri)?;
        let (bucket, key) = path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
        let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned();
        Ok(Self { bucket: bucket.to_owned(), key: key.to_owned(), query: query.collect() })
    }

    fn object(&self) -> (&str, &str) {
        (&self.bucket, &self.key)
    }

    fn query(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.query(name).and_then(|number| number.parse().ok())
    }

    /// The last entry of the page before, from the continuation token.
    fn after(&self) -> Result<Option<String>, Fault> {
        let Some(token) = self.query("continuation-token") else { return Ok(None) };
        let token = URL_SAFE_NO_PAD.decode(token).map_err(|_| Fault::Invalid)?;
        String::from_utf8(token).map(Some).map_err(|_| Fault::Invalid)
    }
}

type Answer = Result<Response, Fault>;

/// Responds to a request with a short body or none.
pub(super) async fn answer(lake: &Arc<Lake>, parts: &Parts, body: &[u8]) -> Response {
    let target = match presigned::check(lake, parts, function::now()).and_then(|()| Target::of(parts)) {
        Ok(target) => target,
        Err(fault) => return respond(Err(fault), &parts.method),
    };
    let answered = match (&parts.method, target.key.is_empty()) {
        (&Method::GET, true) if target.bucket.is_empty() => list_buckets(lake, &target),
        (&Method::HEAD, true) => lake.bucket(&target.bucket).map(|_| empty(StatusCode::OK)),
        (&Method::GET, true) if target.query("list-type") == Some("2") => list(lake, &target),
        (&Method::GET | &Method::HEAD, false) => get(lake, &target, &parts.headers, parts.method == Method::HEAD),
        (&Method::DELETE, false) => match target.query("uploadId") {
            Some(upload) => lake.abort_upload(&target.bucket, &target.key, upload),
            None => lake.delete(&target.bucket, &target.key),
        }
        .map(|()| empty(StatusCode::NO_CONTENT)),
        (&Method::POST, false) if target.query("uploads").is_some() => {
            let upload = lake.start_upload(&target.bucket, &target.key, attributes(&parts.headers));
            upload.map(|upload| xml("InitiateMultipartUploadResult", &of_upload(&target, "UploadId", &upload)))
        }
        (&Method::POST, false) if target.query("uploadId").is_some() => {
            complete(lake, target, &parts.headers, body).await
        }
        _ => return unsupported(),
    };
    respond(answered, &parts.method)
}

/// Responds to a request that stores its body while it arrives.
pub(super) async fn receive(lake: &Lake, parts: &Parts, mut body: Arriving) -> Response {
    let answered = match presigned::check(lake, parts, function::now()).and_then(|()| Target::of(parts)) {
        Ok(target) if target.key.is_empty() || parts.headers.contains_key("x-amz-copy-source") => Ok(unsupported()),
        Ok(target) => put(lake, &target, &parts.headers, &mut body).await,
        Err(fault) => Err(fault),
    };
    let response = respond(answered, &parts.method);
    if !response.status().is_success() {
        body.discard().await;
    }
    response
}

fn respond(answered: Answer, method: &Method) -> Response {
    let response = answered.unwrap_or_else(|fault| {
        let (status, code, message) = describe(&fault);
        match &fault {
            Fault::HeadersNotSigned(names) => explained(status, code, message, "HeadersNotSigned", names),
            _ => refusal(status, code, message),
        }
    });
    // A response to HEAD has no body.
    if *method == Method::HEAD { response.map(|_| Body::empty()) } else { response }
}

fn describe(fault: &Fault) -> (StatusCode, &'static str, &'static str) {
    match fault {
        Fault::NoSuchBucket => (StatusCode::NOT_FOUND, "NoSuchBucket", "The bucket does not exist."),
        Fault::NoSuchKey => (StatusCode::NOT_FOUND, "NoSuchKey", "The key does not exist."),
        Fault::NoSuchUpload => (StatusCode::NOT_FOUND, "NoSuchUpload", "The upload does not exist."),
        Fault::InvalidPart => (StatusCode::BAD_REQUEST, "InvalidPart", "A part does not exist or is out of order."),
        Fault::Invalid => (StatusCode::BAD_REQUEST, "InvalidRequest", "The body is not valid."),
        Fault::Key(reason) => (StatusCode::BAD_REQUEST, "InvalidRequest", *reason),
        Fault::KeyTooLong => (StatusCode::BAD_REQUEST, "KeyTooLongError", "Your key is too long"),
        Fault::InvalidUri => (StatusCode::BAD_REQUEST, "InvalidURI", "Couldn't parse the specified URI."),
        Fault::Incomplete => {
            let message = "Your socket connection to the server was not read from or written to within the timeout \
                period. Idle connections will be closed.";
            (StatusCode::BAD_REQUEST, "RequestTimeout", message)
        }
        Fault::PreconditionFailed => {
            (StatusCode::PRECONDITION_FAILED, "PreconditionFailed", "The condition of the request does not hold.")
        }
        Fault::BadDigest => (StatusCode::BAD_REQUEST, "BadDigest", "The body has another checksum."),
        Fault::InvalidDigest => {
            (StatusCode::BAD_REQUEST, "InvalidDigest", "The Content-MD5 you specified was invalid.")
        }
        Fault::HeadersNotSigned(_) => {
            let message = "There were headers present in the request which were not signed";
            (StatusCode::FORBIDDEN, "AccessDenied", message)
        }
        Fault::SignatureDoesNotMatch => {
            (StatusCode::FORBIDDEN, "SignatureDoesNotMatch", "The signature is not that of this request.")
        }
        Fault::Expired => (StatusCode::FORBIDDEN, "AccessDenied", "Request has expired"),
        Fault::AccessDenied => (StatusCode::FORBIDDEN, "AccessDenied", "The signer may not make this request."),
        Fault::NotModified => (StatusCode::NOT_MODIFIED, "NotModified", "The object has not changed."),
        Fault::InvalidRange => {
            (StatusCode::RANGE_NOT_SATISFIABLE, "InvalidRange", "The range is not within the object.")
        }
        Fault::Io(error) => {
            tracing::error!(%error, "an object can't be read or written");
            (StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "The object can't be read or written.")
        }
    }
}

fn unsupported() -> Response {
    let message = "The local stack supports PutObject, GetObject, HeadObject, DeleteObject, ListBuckets, HeadBucket, \
        ListObjectsV2 and uploads in parts.";
    refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}

async fn put(lake: &Lake, target: &Target, headers: &HeaderMap, body: &mut Arriving) -> Answer {
    lake.path(&target.bucket, &target.key)?;
    let part = lake.part();
    let written = match File::create_new(&part) {
        Ok(file) => store(file, headers, body).await,
        Err(error) => Err(error.into()),
    };
    if let Err(fault) = written {
        let _ = fs::remove_file(part);
        return Err(fault);
    }
    let tag =
        match (target.query("uploadId"), target.number("partNumber").and_then(|number| u32::try_from(number).ok())) {
            (None, _) => lake.commit(target.object(), &part, attributes(headers), (&condition(headers), "Put")),
            (Some(upload), Some(number)) if (1..=MAX_PARTS).contains(&number) => {
                lake.commit_upload_part(target.object(), upload, number, &part)
            }
            (Some(_), _) => {
                let _ = fs::remove_file(part);
                Err(Fault::Invalid)
            }
        }?;
    let mut response = empty(StatusCode::OK);
    set_tag(&mut response, &tag);
    Ok(response)
}

/// Writes the body to a file, one part at a time.
async fn store(file: File, headers: &HeaderMap, body: &mut Arriving) -> Result<(), Fault> {
    let is_chunked = is_chunked(headers);
    let md5 = content_md5(headers)?;
    let mut file = BufWriter::with_capacity(SENT, file);
    let (mut chunks, mut digest, mut seen) = (Chunks::default(), Sha256::new(), Md5::new());
    while let Some(part) = body.next().await {
        let part = part.map_err(|refusal| match refusal {
            Refusal::Incomplete => Fault::Incomplete,
            _ => Fault::Invalid,
        })?;
        if md5.is_some() {
            seen.update(&part);
        }
        let mut write = |data: &[u8]| {
            digest.update(data);
            file.write_all(data).map_err(Fault::from)
        };
        if is_chunked {
            chunks.decode(&part, &mut write)?;
        } else {
            write(&part)?;
        }
    }
    if is_chunked {
        chunks.end()?;
    }
    let checksum = text(headers, "x-amz-checksum-sha256");
    if !checksum.is_empty() && STANDARD.encode(digest.finalize()) != checksum {
        return Err(Fault::BadDigest);
    }
    if md5.is_some_and(|md5| md5 != seen.finalize()[..]) {
        return Err(Fault::BadDigest);
    }
    Ok(file.flush()?)
}

/// The MD5 hash of the body as it is sent (RFC 1864), from the header `content-md5`.
fn content_md5(headers: &HeaderMap) -> Result<Option<Vec<u8>>, Fault> {
    let Some(value) = headers.get("content-md5") else { return Ok(None) };
    let md5 = STANDARD.decode(value).ok().filter(|md5| md5.len() == Md5::output_size());
    md5.map(Some).ok_or(Fault::InvalidDigest)
}

fn is_chunked(headers: &HeaderMap) -> bool {
    text(headers, "content-encoding").contains("aws-chunked")
        || text(headers, "x-amz-content-sha256").starts_with("STREAMING-")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn attributes(headers: &HeaderMap) -> Attributes {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let metadata = headers.keys().filter_map(|name| {
        let value = presigned::joined(headers, name.as_str())?;
        Some((name.as_str().strip_prefix(METADATA)?.to_owned(), value))
    });
    Attributes { content_type, metadata: metadata.collect() }
}

fn condition(headers: &HeaderMap) -> Only {
    match (text(headers, "if-none-match"), unquoted(text(headers, "if-match"))) {
        ("*", _) => Only::New,
        (_, "") => Only::Always,
        (_, tag) => Only::Replaces(tag.to_owned()),
    }
}

fn unquoted(tag: &str) -> &str {
    tag.trim_start_matches("W/").trim_matches('"')
}

fn get(lake: &Lake, target: &Target, headers: &HeaderMap, is_head: bool) -> Answer {
    let object = lake.open(&target.bucket, &target.key)?;
    let (matches, differs) = (unquoted(text(headers, "if-match")), unquoted(text(headers, "if-none-match")));
    if !matches.is_empty() && matches != "*" && matches != object.tag {
        return Err(Fault::PreconditionFailed);
    }
    if !differs.is_empty() && (differs == "*" || differs == object.tag) {
        return Err(Fault::NotModified);
    }
    let range = range(text(headers, "range"), object.size)?;
    let (start, end) = range.unwrap_or((0, object.size));
    let mut response = empty(if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK });
    describe_object(&mut response, &object);
    let out = response.headers_mut();
    let disposition = target.query("response-content-disposition").and_then(|name| HeaderValue::from_str(name).ok());
    if let Some(disposition) = disposition {
        out.insert(header::CONTENT_DISPOSITION, disposition);
    }
    out.insert(header::CONTENT_LENGTH, HeaderValue::from(end - start));
    if range.is_some()
        && let Ok(value) = HeaderValue::from_str(&format!("bytes {start}-{}/{}", end - 1, object.size))
    {
        out.insert(header::CONTENT_RANGE, value);
    }
    if is_head { Ok(response) } else { Ok(response.map(|_| content(object.file, start, end))) }
}

fn describe_object(response: &mut Response, object: &Object) {
    set_tag(response, &object.tag);
    let out = response.headers_mut();
    out.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let content_type = object.attributes.content_type.as_deref().unwrap_or("binary/octet-stream");
    let modified = DateTimePrinter::new().timestamp_to_rfc9110_string(&object.modified).ok();
    let named = object.attributes.metadata.iter();
    let named = named.map(|(name, value)| (format!("{METADATA}{name}"), value.clone()));
    let all = [("content-type".to_owned(), content_type.to_owned())].into_iter();
    for (name, value) in all.chain(modified.map(|time| ("last-modified".to_owned(), time))).chain(named) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(&value)) {
            out.insert(name, value);
        }
    }
}

/// Reads a header such as `bytes=0-99`. Returns the start and the exclusive end, or `None` without
/// a range.
fn range(header: &str, size: u64) -> Result<Option<(u64, u64)>, Fault> {
    let Some((first, last)) = header.strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => (first, last.saturating_add(1).min(size)),
        (Some(first), None) if last.trim().is_empty() => (first, size),
        (None, Some(last)) if first.trim().is_empty() => (size.saturating_sub(last), size),
        // S3 ignores a malformed range.
        _ => return Ok(None),
    };
    if range.0 < range.1 { Ok(Some(range)) } else { Err(Fault::InvalidRange) }
}

/// Body with a part of a file, which is read while it is sent.
fn content(mut file: File, start: u64, end: u64) -> Body {
    if let Err(error) = file.seek(SeekFrom::Start(start)) {
        return Body::from_stream(stream::iter([Err::<Bytes, io::Error>(error)]));
    }
    let parts = stream::try_unfold(file.take(end - start), |mut rest| async {
        let mut part = Vec::new();
        rest.by_ref().take(SENT as u64).read_to_end(&mut part)?;
        Ok::<_, io::Error>((!part.is_empty()).then(|| (Bytes::from(part), rest)))
    });
    Body::from_stream(parts)
}

async fn complete(lake: &Arc<Lake>, target: Target, headers: &HeaderMap, body: &[u8]) -> Answer {
    let parts = uploaded(&String::from_utf8_lossy(body));
    let (lake, only) = (Arc::clone(lake), condition(headers));
    let work = move || {
        let upload = target.query("uploadId").unwrap_or_default();
        let tag = lake.complete_upload(target.object(), upload, &parts, &only)?;
        Ok(xml("CompleteMultipartUploadResult", &of_upload(&target, "ETag", &format!("\"{tag}\""))))
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error).into()))
}

/// Reads the numbers and entity tags of the parts of a finished upload.
fn uploaded(body: &str) -> Vec<(u32, String)> {
    let Ok(element) = Regex::new(r"<(PartNumber|ETag)>\s*([^<]*?)\s*</") else { return Vec::new() };
    let parts = body.split("<Part>").skip(1).filter_map(|part| {
        let mut found = element.captures_iter(part).map(|element| (element[1].to_owned(), element[2].to_owned()));
        let (first, second) = (found.next()?, found.next()?);
        let (number, tag) = if first.0 == "PartNumber" { (first.1, second.1) } else { (second.1, first.1) };
        Some((number.parse().ok()?, unquoted(&tag.replace("&quot;", "\"").replace("&#34;", "\"")).to_owned()))
    });
    parts.collect()
}

fn of_upload(target: &Target, name: &str, value: &str) -> String {
    let value = format!("<{name}>{}</{name}>", escaped(value));
    format!("<Bucket>{}</Bucket><Key>{}</Key>{value}", escaped(&target.bucket), escaped(&target.key))
}

/// Lists the buckets in the order of their names.
fn list_buckets(lake: &Lake, target: &Target) -> Answer {
    let (prefix, after) = (target.query("prefix").unwrap_or_default(), target.after()?);
    let limit = target.number("max-buckets").unwrap_or(MAX_BUCKETS).clamp(1, MAX_BUCKETS);
    let names: BTreeSet<_> = lake.buckets.iter().filter(|name| name.starts_with(prefix)).collect();
    let mut names = names.into_iter().filter(|name| after.as_ref().is_none_or(|after| *name > after)).peekable();
    let page: Vec<_> = names.by_ref().take(limit).collect();
    let next = page.last().filter(|_| names.peek().is_some()).map(|last| URL_SAFE_NO_PAD.encode(last));
    let next = next.map(|next| format!("<ContinuationToken>{next}</ContinuationToken>")).unwrap_or_default();
    let entry = |name: &&String| {
        let created = millis(lake.created(name));
        format!("<Bucket><Name>{}</Name><CreationDate>{created}</CreationDate></Bucket>", escaped(name))
    };
    let buckets = page.iter().map(entry).collect::<Vec<_>>().concat();
    Ok(xml("ListAllMyBucketsResult", &format!("<Owner><ID>local</ID></Owner><Buckets>{buckets}</Buckets>{next}")))
}

fn list(lake: &Lake, target: &Target) -> Answer {
    let prefix = target.query("prefix").unwrap_or_default();
    let delimiter = target.query("delimiter").filter(|delimiter| !delimiter.is_empty());
    let token = target.query("continuation-token");
    let after = target.after()?.or_else(|| target.query("start-after").map(str::to_owned));
    let limit = target.number("max-keys").unwrap_or(MAX_KEYS).min(MAX_KEYS);
    let mut page = Page { by_url: target.query("encoding-type") == Some("url"), ..Page::default() };
    for object in lake.list(&target.bucket, prefix)? {
        let group = delimiter.and_then(|delimiter| {
            let length = object.key[prefix.len()..].find(delimiter)?;
            Some(object.key[..prefix.len() + length + delimiter.len()].to_owned())
        });
        let position = group.as_ref().unwrap_or(&object.key);
        if after
            .as_ref()
            .is_some_and(|after| position <= after || object.key.starts_with(after) && group.as_ref() == Some(after))
        {
            continue;
        }
        if page.last.as_ref() == Some(position) {
            continue;
        }
        if page.count == limit {
            page.is_truncated = true;
            break;
        }
        page.add(&object, group);
    }
    let next = page.last.as_ref().filter(|_| page.is_truncated).map(|last| URL_SAFE_NO_PAD.encode(last));
    let element = |name: &str, value: Option<&str>| {
        value.map(|value| format!("<{name}>{}</{name}>", escaped(value))).unwrap_or_default()
    };
    let encoded = |value: Option<&str>| value.map(|value| page.encoded(value));
    let body = [
        element("Name", Some(&target.bucket)),
        element("Prefix", encoded(Some(prefix)).as_deref()),
        element("Delimiter", encoded(delimiter).as_deref()),
        element("StartAfter", encoded(target.query("start-after")).as_deref()),
        element("ContinuationToken", token),
        element("NextContinuationToken", next.as_deref()),
        element("EncodingType", page.by_url.then_some("url")),
        format!(
            "<KeyCount>{}</KeyCount><MaxKeys>{limit}</MaxKeys><IsTruncated>{}</IsTruncated>",
            page.count, page.is_truncated
        ),
        page.text,
    ];
    Ok(xml("ListBucketResult", &body.concat()))
}

/// Page of a list.
#[derive(Default)]
struct Page {
    text: String,
    count: usize,
    last: Option<String>,
    is_truncated: bool,
    by_url: bool,
}

impl Page {
    fn add(&mut self, object: &Listed, group: Option<String>) {
        self.count += 1;
        let key = self.encoded(group.as_ref().unwrap_or(&object.key));
        let entry = match &group {
            Some(_) => format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", escaped(&key)),
            None => format!(
                "<Contents><Key>{}</Key><LastModified>{}</LastModified><ETag>&quot;{}&quot;</ETag><Size>{}</Size>\
                 <StorageClass>STANDARD</StorageClass></Contents>",
                escaped(&key),
                millis(object.modified),
                object.tag,
                object.size
            ),
        };
        self.text.push_str(&entry);
        self.last = Some(group.unwrap_or_else(|| object.key.clone()));
    }

    fn encoded(&self, text: &str) -> String {
        if self.by_url { utf8_percent_encode(text, PLAIN).to_string() } else { text.to_owned() }
    }
}

fn millis(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn set_tag(response: &mut Response, tag: &str) {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{tag}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
}

fn xml(root: &str, body: &str) -> Response {
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{body}</{root}>"
    );
    let mut response = Response::new(Body::from(text));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

/// Error response in S3's format.
pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Response {
    failure(status, &format!("<Code>{code}</Code><Message>{message}</Message>"))
}

/// Error response with a further element.
fn explained(status: StatusCode, code: &str, message: &str, name: &str, value: &str) -> Response {
    let value = escaped(value);
    failure(status, &format!("<Code>{code}</Code><Message>{message}</Message><{name}>{value}</{name}>"))
}

fn failure(status: StatusCode, elements: &str) -> Response {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>{elements}</Error>");
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ranges_as_http_does() {
        for (header, expected) in [
            ("", None),
            ("bytes=0-0", Some((0, 1))),
            ("bytes=2-", Some((2, 10))),
            ("bytes=2-99", Some((2, 10))),
            ("bytes=-3", Some((7, 10))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=3-2", None),
            ("bytes=a-b", None),
        ] {
            assert_eq!(range(header, 10).unwrap(), expected, "{header}");
        }
        for header in ["bytes=10-", "bytes=10-20", "bytes=-0"] {
            assert!(matches!(range(header, 10), Err(Fault::InvalidRange)), "{header}");
        }
        assert!(range("bytes=0-", 0).is_err());
    }

    #[test]
    fn reads_the_parts_of_an_upload_in_any_notation() {
        let body = "<CompleteMultipartUpload xmlns=\"x\"><Part><ETag>\"a-1\"</ETag><PartNumber>1</PartNumber></Part>\
            <Part>\n <PartNumber> 2 </PartNumber><ETag>&quot;b&quot;</ETag></Part></CompleteMultipartUpload>";
        assert_eq!(uploaded(body), [(1, "a-1".to_owned()), (2, "b".to_owned())]);
        assert_eq!(uploaded("<Part><PartNumber>x</PartNumber><ETag>a</ETag></Part><Part></Part>"), []);
    }
}
