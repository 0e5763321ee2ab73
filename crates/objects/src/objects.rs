//! Objects as files. The path of an object below the folder of the lake is `<bucket>/<key>`, so
//! that other programs can read it. Everything else that S3 stores is in the folder `.s3`.
use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufReader, Write as _},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Lake, events::Event, presigned::hex};

/// Folder of uploads, attributes and undelivered events. No bucket can have this name.
pub(super) const OWN: &str = ".s3";

/// Attributes of an object that a file cannot have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    pub(super) content_type: Option<String>,
    /// User metadata: the headers with the prefix `x-amz-meta-`, without the prefix.
    pub(super) metadata: BTreeMap<String, String>,
}

/// Attributes with the object that they belong to. A program can replace the file of an object;
/// the attributes are then ignored.
#[derive(Serialize, Deserialize)]
struct Stored {
    tag: String,
    attributes: Attributes,
}

/// Open object. It stays readable if another object replaces it.
pub(super) struct Object {
    pub(super) file: File,
    pub(super) size: u64,
    pub(super) tag: String,
    pub(super) modified: Timestamp,
    pub(super) attributes: Attributes,
}

/// Entry of a list.
pub(super) struct Listed {
    pub(super) key: String,
    pub(super) size: u64,
    pub(super) tag: String,
    pub(super) modified: Timestamp,
}

/// Error of a call.
#[derive(Debug)]
pub enum Fault {
    /// No stack has the bucket.
    NoSuchBucket,
    /// The bucket has no such object.
    NoSuchKey,
    /// There is no such multipart upload.
    NoSuchUpload,
    /// A part is missing, or has another hash.
    InvalidPart,
    /// The body is malformed.
    Invalid,
    /// The key cannot be the path of a file, for this reason.
    Key(&'static str),
    /// The key has more than 1,024 bytes.
    KeyTooLong,
    /// The path of the request is not UTF-8.
    InvalidUri,
    /// The body stopped to arrive.
    Incomplete,
    /// The condition of a header does not hold.
    PreconditionFailed,
    /// The body does not have the checksum of a header.
    BadDigest,
    /// The header `content-md5` is no MD5 hash.
    InvalidDigest,
    /// The signature of a presigned URL does not match.
    SignatureDoesNotMatch,
    /// Headers of a presigned request that its signature does not cover.
    HeadersNotSigned(String),
    /// A presigned URL is no longer valid.
    Expired,
    /// The policy of the function does not allow the call.
    AccessDenied,
    /// The object has not changed.
    NotModified,
    /// The range is not in the object.
    InvalidRange,
    /// A file cannot be read or written.
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::DirectoryNotEmpty => {
                Self::Key("Another object has the key of a folder of this key, or this key is a folder of another key.")
            }
            io::ErrorKind::InvalidFilename => Self::Key("A part of the key between slashes has more than 255 bytes."),
            io::ErrorKind::InvalidInput => Self::Key("The key is not a file path."),
            _ => Self::Io(error),
        }
    }
}

/// Maximum length of a key in bytes, as in S3.
const MAX_KEY: usize = 1024;

/// Condition of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Only {
    #[default]
    Always,
    /// If the object does not exist (`If-None-Match: *`).
    New,
    /// If the object has this entity tag (`If-Match`).
    Replaces(String),
}

/// Entity tag of a file. Each put creates a new file, so each put has a new tag. A tag of S3 is an
/// MD5 hash only if the object is neither encrypted with a KMS key nor uploaded in parts.
fn tag(metadata: &Metadata) -> String {
    let time = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    format!("{:x}-{:x}-{:x}", metadata.ino(), time, metadata.len())
}

fn modified(metadata: &Metadata) -> Timestamp {
    Timestamp::from_second(metadata.mtime()).unwrap_or_default()
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory)
}

impl Lake {
    /// Returns a new file outside of all buckets. [`Lake::commit`] turns it into an object.
    pub(super) fn part(&self) -> PathBuf {
        self.folder.join(format!(".part-{}", Uuid::new_v4()))
    }

    // A hash as the name: the attributes of a removed object must not be in the way of a key below.
    fn attributes_file(&self, bucket: &str, key: &str) -> PathBuf {
        self.folder.join(OWN).join("attributes").join(bucket).join(hex(&Sha256::digest(key)))
    }

    fn upload_folder(&self, bucket: &str, key: &str, upload: &str) -> Result<PathBuf, Fault> {
        let id = Uuid::parse_str(upload).map_err(|_| Fault::NoSuchUpload)?;
        let folder = self.folder.join(OWN).join("uploads").join(id.to_string());
        let target: Option<Upload> =
            fs::read(folder.join("target")).ok().and_then(|data| serde_json::from_slice(&data).ok());
        let is_same = target.is_some_and(|target| target.bucket == bucket && target.key == key);
        if is_same { Ok(folder) } else { Err(Fault::NoSuchUpload) }
    }

    /// Returns the file of an object.
    pub(super) fn path(&self, bucket: &str, key: &str) -> Result<PathBuf, Fault> {
        if key.len() > MAX_KEY {
            return Err(Fault::KeyTooLong);
        }
        if key.split('/').any(|part| matches!(part, "" | "." | "..")) || key.contains('\0') {
            return Err(Fault::Key("Between slashes, a key has no empty part, `.` or `..`, and no NUL."));
        }
        self.bucket(bucket).map(|folder| folder.join(key))
    }

    pub(super) fn bucket(&self, bucket: &str) -> Result<PathBuf, Fault> {
        let is_known = self.buckets.iter().any(|known| known == bucket);
        if is_known { Ok(self.folder.join(bucket)) } else { Err(Fault::NoSuchBucket) }
    }

    /// The time at which the folder of a bucket was created. If the file system does not know, the
    /// time of its last change. A user may have removed the folder.
    pub(super) fn created(&self, bucket: &str) -> Timestamp {
        let metadata = fs::metadata(self.folder.join(bucket));
        let time = metadata.and_then(|metadata| metadata.created().or_else(|_| metadata.modified()));
        time.ok().and_then(|time| time.try_into().ok()).unwrap_or_default()
    }

    /// Opens an object.
    pub(super) fn open(&self, bucket: &str, key: &str) -> Result<Object, Fault> {
        let path = self.path(bucket, key)?;
        let _writes = self.writes();
        let file =
            File::open(path).map_err(|error| if is_missing(&error) { Fault::NoSuchKey } else { error.into() })?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Fault::NoSuchKey);
        }
        let tag = tag(&metadata);
        let stored = fs::read(self.attributes_file(bucket, key)).ok();
        let stored =
            stored.and_then(|data| serde_json::from_slice::<Stored>(&data).ok()).filter(|stored| stored.tag == tag);
        let attributes = stored.map(|stored| stored.attributes).unwrap_or_default();
        Ok(Object { file, size: metadata.len(), tag, modified: modified(&metadata), attributes })
    }

    /// Stores a file as an object, and the event of its creation. Returns the entity tag. A rename
    /// replaces the object as a whole, so a full disk leaves no part of it.
    pub(super) fn commit(
        &self,
        (bucket, key): (&str, &str),
        part: &Path,
        attributes: Attributes,
        (only, event): (&Only, &'static str),
    ) -> Result<String, Fault> {
        let committed = self.commit_part((bucket, key), part, attributes, (only, event));
        if committed.is_err() {
            let _ = fs::remove_file(part);
        }
        committed
    }

    fn commit_part(
        &self,
        (bucket, key): (&str, &str),
        part: &Path,
        attributes: Attributes,
        (only, event): (&Only, &'static str),
    ) -> Result<String, Fault> {
        let path = self.path(bucket, key)?;
        let metadata = fs::metadata(part)?;
        let created = tag(&metadata);
        let _writes = self.writes();
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let current = fs::metadata(&path).ok().filter(Metadata::is_file).map(|metadata| tag(&metadata));
        match (only, current) {
            (Only::New, Some(_)) => return Err(Fault::PreconditionFailed),
            (Only::Replaces(expected), current) if current.as_ref() != Some(expected) => {
                return Err(Fault::PreconditionFailed);
            }
            _ => {}
        }
        if attributes != Attributes::default() {
            let file = self.attributes_file(bucket, key);
            file.parent().map_or(Ok(()), fs::create_dir_all)?;
            let stored = Stored { tag: created.clone(), attributes };
            fs::write(file, serde_json::to_vec(&stored).map_err(io::Error::other)?)?;
        }
        fs::rename(part, path)?;
        let event = Event { name: event, bucket, key, size: metadata.len(), tag: &created };
        self.events.created(&self.folder, &event)?;
        Ok(created)
    }

    /// Stores an object in a bucket.
    pub fn put(&self, bucket: &str, key: &str, data: &[u8]) -> Result<(), Fault> {
        self.path(bucket, key)?;
        let part = self.part();
        if let Err(error) = fs::write(&part, data) {
            let _ = fs::remove_file(&part);
            return Err(error.into());
        }
        self.commit((bucket, key), &part, Attributes::default(), (&Only::Always, "Put")).map(drop)
    }

    pub(super) fn delete(&self, bucket: &str, key: &str) -> Result<(), Fault> {
        let path = self.path(bucket, key)?;
        let _writes = self.writes();
        let _ = fs::remove_file(self.attributes_file(bucket, key));
        match fs::remove_file(&path) {
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => {}
        }
        // S3 has no folders: an empty one would be in the way of an object with its key.
        let bucket = self.bucket(bucket)?;
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != bucket);
        let _ = folders.map(fs::remove_dir).take_while(Result::is_ok).count();
        Ok(())
    }

    /// Returns the objects of a bucket whose keys start with the prefix, sorted by key.
    pub(super) fn list(&self, bucket: &str, prefix: &str) -> Result<Vec<Listed>, Fault> {
        let root = self.bucket(bucket)?;
        let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                let path = entry.path();
                let Some(key) = path.strip_prefix(&root).ok().and_then(Path::to_str) else { continue };
                let shared = key.len().min(prefix.len());
                if key.as_bytes()[..shared] != prefix.as_bytes()[..shared] {
                    continue;
                }
                match entry.metadata() {
                    Ok(metadata) if metadata.is_dir() => folders.push(path),
                    Ok(metadata) if key.starts_with(prefix) => found.push(Listed {
                        key: key.to_owned(),
                        size: metadata.len(),
                        tag: tag(&metadata),
                        modified: modified(&metadata),
                    }),
                    // The object was deleted in the meantime, or has another key.
                    _ => {}
                }
            }
        }
        found.sort_by(|left, right| left.key.cmp(&right.key));
        Ok(found)
    }

    /// Returns the objects of a bucket whose keys start with the prefix, with their contents.
    pub fn contents(&self, bucket: &str, prefix: &str) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
        let listed = self.list(bucket, prefix)?.into_iter();
        listed.map(|object| Ok((object.key.clone(), fs::read(self.path(bucket, &object.key)?)?))).collect()
    }

    /// Starts an upload in parts. Returns its id.
    pub(super) fn start_upload(&self, bucket: &str, key: &str, attributes: Attributes) -> Result<String, Fault> {
        self.path(bucket, key)?;
        let id = Uuid::new_v4().to_string();
        let folder = self.folder.join(OWN).join("uploads").join(&id);
        fs::create_dir_all(&folder)?;
        let target = Upload { bucket: bucket.to_owned(), key: key.to_owned(), attributes };
        fs::write(folder.join("target"), serde_json::to_vec(&target).map_err(io::Error::other)?)?;
        Ok(id)
    }

    /// Stores a part of an upload. Returns its entity tag.
    pub(super) fn commit_upload_part(
        &self,
        (bucket, key): (&str, &str),
        upload: &str,
        number: u32,
        part: &Path,
    ) -> Result<String, Fault> {
        let committed = self.upload_folder(bucket, key, upload).and_then(|folder| {
            let tag = tag(&fs::metadata(part)?);
            fs::rename(part, folder.join(number.to_string()))?;
            Ok(tag)
        });
        if committed.is_err() {
            let _ = fs::remove_file(part);
        }
        committed
    }

    /// Puts the parts of an upload together, in the given order.
    pub(super) fn complete_upload(
        &self,
        (bucket, key): (&str, &str),
        upload: &str,
        parts: &[(u32, String)],
        only: &Only,
    ) -> Result<String, Fault> {
        let folder = self.upload_folder(bucket, key, upload)?;
        let target: Upload = serde_json::from_slice(&fs::read(folder.join("target"))?).map_err(io::Error::other)?;
        let is_sorted = parts.is_sorted_by(|left, right| left.0 < right.0);
        let stored = |(number, expected): &(u32, String)| {
            fs::metadata(folder.join(number.to_string())).is_ok_and(|part| tag(&part) == *expected)
        };
        if parts.is_empty() || !is_sorted || !parts.iter().all(stored) {
            return Err(Fault::InvalidPart);
        }
        // A failed completion can be repeated, so the parts must not change.
        let whole = self.part();
        let joined = join(&whole, parts.iter().map(|(number, _)| folder.join(number.to_string())));
        if let Err(error) = joined {
            let _ = fs::remove_file(&whole);
            return Err(error.into());
        }
        let tag = self.commit((bucket, key), &whole, target.attributes, (only, "CompleteMultipartUpload"))?;
        let _ = fs::remove_dir_all(folder);
        Ok(tag)
    }

    pub(super) fn abort_upload(&self, bucket: &str, key: &str, upload: &str) -> Result<(), Fault> {
        let folder = self.upload_folder(bucket, key, upload)?;
        Ok(fs::remove_dir_all(folder)?)
    }
}

/// Target of an upload in parts.
#[derive(Serialize, Deserialize)]
struct Upload {
    bucket: String,
    key: String,
    attributes: Attributes,
}

fn join(whole: &Path, parts: impl Iterator<Item = PathBuf>) -> io::Result<()> {
    let mut whole = OpenOptions::new().write(true).create_new(true).open(whole)?;
    for part in parts {
        io::copy(&mut BufReader::new(File::open(part)?), &mut whole)?;
    }
    whole.flush()
}
