//! The local lake: Firehose and S3 endpoints that store objects as files in a folder
//! (docs/decisions/streams-locally.md), and the EventBridge bus.
mod bus;
mod chunked;
mod events;
mod firehose;
mod objects;
mod presigned;
mod s3;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use axum::response::Response;
use http::{Method, request::Parts};
use jiff::{Timestamp, tz::TimeZone};
use uuid::Uuid;

pub use bus::Bus;
pub use presigned::SECRET_KEY;

pub use events::Events;
pub use events::{Pending, pending};
pub use objects::Fault;

use engine::server::{Arriving, CorsLayer, Endpoint, Origins, Received, Refusal, cors};
use template::{DeliveryStream, Template};

/// Whether the policy of a function allows a request to S3: method, path and query.
pub type Allows = Box<dyn Fn(&str, &str, Option<&str>) -> bool + Send + Sync>;

/// Folder with the buckets and delivery streams of the stack. A temporary folder is removed on
/// drop.
pub struct Lake {
    folder: PathBuf,
    is_temporary: bool,
    buckets: Vec<String>,
    streams: Vec<DeliveryStream>,
    /// Current object of each delivery stream.
    open: Mutex<BTreeMap<String, Object>>,
    /// Held while an object or its attributes change.
    writing: Mutex<()>,
    /// The events of new objects.
    pub events: Events,
    /// The events that the functions have published.
    pub bus: Bus,
    /// The roles of the functions, by name. They check presigned URLs.
    roles: OnceLock<BTreeMap<String, Allows>>,
    /// What web pages of another origin may do, by bucket.
    pages: BTreeMap<String, CorsLayer>,
}

struct Object {
    prefix: String,
    path: PathBuf,
    size: u64,
}

impl Lake {
    /// Opens the lake in the folder, or in a temporary folder.
    pub fn new(folder: Option<&Path>, template: &Template) -> io::Result<Self> {
        let own = || env::temp_dir().join(format!("local-lake-{}", Uuid::new_v4()));
        let lake = Self {
            folder: folder.map_or_else(own, Path::to_owned),
            is_temporary: folder.is_none(),
            buckets: template.buckets.clone(),
            streams: template.delivery_streams.clone(),
            open: Mutex::default(),
            writing: Mutex::default(),
            events: Events::of(template),
            bus: Bus::default(),
            roles: OnceLock::new(),
            pages: template.bucket_pages.iter().map(|(bucket, pages)| (bucket.clone(), cors(pages))).collect(),
        };
        fs::create_dir_all(&lake.folder)?;
        for bucket in &lake.buckets {
            fs::create_dir_all(lake.folder.join(bucket))?;
        }
        Ok(lake)
    }

    /// Sets the roles of the functions, once.
    pub fn set_roles(&self, roles: BTreeMap<String, Allows>) {
        let _ = self.roles.set(roles);
    }

    fn role(&self, function: &str) -> Option<&Allows> {
        self.roles.get()?.get(function)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
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
        // A deletion removes folders that have become empty.
        let _writes = self.writes();
        // Each append opens the file again, because a user may have emptied the folder.
        object.path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = OpenOptions::new().append(true).create(true).open(&object.path)?;
        let appended = append(&mut file, data);
        match &appended {
            Ok(()) => object.size += size,
            // If the rest of a torn line could not be removed, later lines must not follow it.
            Err(_) => drop(open.remove(&stream.name)),
        }
        appended
    }

    fn writes(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
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

/// File of an object.
trait Target: Write {
    fn length(&self) -> io::Result<u64>;
    fn cut(&self, length: u64) -> io::Result<()>;
}

impl Target for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|metadata| metadata.len())
    }

    fn cut(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// Appends the data. If that fails, such as on a full disk, removes the part that was written: the
/// caller sends the data again.
fn append(file: &mut impl Target, data: &[u8]) -> io::Result<()> {
    let before = file.length()?;
    file.write_all(data).inspect_err(|_| {
        if let Err(error) = file.cut(before) {
            tracing::error!(%error, "a torn line can't be removed from the lake");
        }
    })
}

/// Object name in Firehose's format. `1` is the configuration version of the delivery stream.
fn object_name(stream: &DeliveryStream, prefix: &str, now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d-%H-%M-%S").to_string();
    format!("{prefix}{}-1-{time}-{}.json", stream.name, Uuid::new_v4())
}

/// The endpoint of the lake.
#[derive(Clone)]
pub struct Services(pub Arc<Lake>);

impl Endpoint for Services {
    const MAX_BODY: usize = 64 * 1024 * 1024;
    const ORIGINS: Origins = Origins::None;

    fn pages(&self, parts: &Parts) -> Option<&CorsLayer> {
        self.0.pages.get(parts.uri.path().split('/').nth(1)?)
    }

    async fn answer(&self, request: Received) -> Response {
        let Received { parts, body, .. } = request;
        // Requests to S3 do not have this header.
        match parts.headers.get("x-amz-target").and_then(|target| target.to_str().ok()) {
            Some(target) => firehose::answer(&self.0, target, &body, function::now()),
            None => s3::answer(&self.0, &parts, &body).await,
        }
    }

    fn streams(parts: &Parts) -> bool {
        parts.method == Method::PUT
    }

    async fn receive(&self, parts: Parts, body: Arriving) -> Response {
        s3::receive(&self.0, &parts, body).await
    }

    fn refuse(refusal: Refusal) -> Response {
        let code = match refusal {
            Refusal::Foreign(_) => "AccessDenied",
            Refusal::Malformed(_) => "InvalidRequest",
            Refusal::Incomplete => "RequestTimeout",
            Refusal::TooLarge => "EntityTooLarge",
            Refusal::LargeHead => "RequestHeaderSectionTooLarge",
        };
        s3::refusal(refusal.status(), code, refusal.detail())
    }
}

#[cfg(test)]
mod tests;
