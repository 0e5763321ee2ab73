//! The local lake: Firehose and S3 endpoints that store objects as files in a folder.
mod firehose;
mod prefix;
mod s3;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Router,
    body::to_bytes,
    extract::{Request, State},
    response::Response,
};
use http::StatusCode;
use jiff::{Timestamp, tz::TimeZone};
pub use prefix::Prefix;
use uuid::Uuid;

use crate::{
    gateway,
    server::{Port, Server},
    template::{DeliveryStream, Template},
};

const LARGEST_BODY: usize = 64 * 1024 * 1024;

/// Folder with the buckets and delivery streams of the stack. A temporary folder is removed on
/// drop.
pub(crate) struct Lake {
    folder: PathBuf,
    is_temporary: bool,
    buckets: Vec<String>,
    streams: Vec<DeliveryStream>,
    /// Current object of each delivery stream.
    open: Mutex<BTreeMap<String, Object>>,
}

struct Object {
    prefix: String,
    path: PathBuf,
    size: u64,
}

impl Lake {
    /// Opens the lake in the folder, or in a temporary folder.
    pub(crate) fn new(folder: Option<&Path>, template: &Template) -> io::Result<Self> {
        let own = || env::temp_dir().join(format!("local-lake-{}", Uuid::new_v4()));
        let lake = Self {
            folder: folder.map_or_else(own, Path::to_owned),
            is_temporary: folder.is_none(),
            buckets: template.buckets.clone(),
            streams: template.delivery_streams.clone(),
            open: Mutex::default(),
        };
        fs::create_dir_all(&lake.folder)?;
        for bucket in &lake.buckets {
            fs::create_dir_all(lake.folder.join(bucket))?;
        }
        Ok(lake)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn stream(&self, name: &str) -> Option<&DeliveryStream> {
        self.streams.iter().find(|stream| stream.name == name)
    }

    /// Appends data to the current object of the stream. Starts a new object if the prefix has
    /// changed, or if the current object would exceed its maximum size.
    fn deliver(&self, stream: &DeliveryStream, data: &[u8], now: Timestamp) -> io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = stream.prefix.at(now);
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let fits = |object: &Object| object.prefix == prefix && object.size.saturating_add(size) <= stream.size;
        if !open.get(&stream.name).is_some_and(fits) {
            let path = self.folder.join(&stream.bucket).join(object_name(stream, &prefix, now));
            open.insert(stream.name.clone(), Object { prefix, path, size: 0 });
        }
        let Some(object) = open.get_mut(&stream.name) else { return Ok(()) };
        object.size += size;
        // Each append opens the file again, because a user may have emptied the folder.
        object.path.parent().map_or(Ok(()), fs::create_dir_all)?;
        OpenOptions::new().append(true).create(true).open(&object.path)?.write_all(data)
    }

    /// Stores an object in a bucket. Returns `false` if the bucket does not exist.
    pub(crate) fn put(&self, bucket: &str, key: &str, data: &[u8]) -> io::Result<bool> {
        let Some(path) = self.path(bucket, key)? else { return Ok(false) };
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, data).map(|()| true)
    }

    /// Returns the file of an object, or `None` if the bucket does not exist.
    fn path(&self, bucket: &str, key: &str) -> io::Result<Option<PathBuf>> {
        if key.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the object key is not a valid file path"));
        }
        Ok(self.buckets.iter().any(|known| known == bucket).then(|| self.folder.join(bucket).join(key)))
    }
}

impl Drop for Lake {
    fn drop(&mut self) {
        if self.is_temporary
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            tracing::warn!(%error, folder = %self.folder.display(), "the temporary folder of the lake can't be removed");
        }
    }
}

/// Object name in Firehose's format. `1` is the configuration version of the delivery stream.
fn object_name(stream: &DeliveryStream, prefix: &str, now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d-%H-%M-%S").to_string();
    format!("{prefix}{}-1-{time}-{}.json", stream.name, Uuid::new_v4())
}

/// Serves Firehose and S3 on the port until the server is stopped.
pub(crate) fn serve(port: Port, lake: Arc<Lake>) -> Server {
    let router = Router::new().fallback(handle).with_state(lake);
    Server::serve(port, router, "Firehose and S3")
}

async fn handle(State(lake): State<Arc<Lake>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if !gateway::is_local(&parts.headers) {
        return s3::refusal(StatusCode::FORBIDDEN, "AccessDenied");
    }
    let Ok(body) = to_bytes(body, LARGEST_BODY).await else {
        return s3::refusal(StatusCode::BAD_REQUEST, "EntityTooLarge");
    };
    // Only Firehose requests have this header.
    match parts.headers.get("x-amz-target").and_then(|target| target.to_str().ok()) {
        Some(target) => firehose::answer(&lake, target, &body, Timestamp::now()),
        None => s3::answer(&lake, &parts, &body),
    }
}

#[cfg(test)]
mod tests;
