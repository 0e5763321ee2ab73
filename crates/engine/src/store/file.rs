//! The data file: checks before the engine opens it, and a lock against a second stack.
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Number of the format of a data file. Raise it by one with every change after which this version
/// would not understand the items of an earlier one: another form of a key or an index key, a
/// required attribute more, or another name, type or meaning of an attribute. Files with another
/// number are refused, because there are no migrations (docs/decisions/local-stack.md).
///
/// The number is the `user_version` of the `SQLite` file, which the engine does not use. A file
/// without a number has 0.
const FORMAT: i32 = 4;
/// Tables that the engine creates in each of its files.
const OWN: [&str; 3] = ["_config", "_stream_records", "_tables"];
/// Ending of the file with the positions of the functions in the streams.
pub const POSITIONS: &str = ".positions.json";
// A stopped stack may hold its lock for a moment.
const LAST_MOMENT: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(20);

/// Locks the data file and checks its content. The lock ends when the returned file is dropped.
pub(super) fn claim(path: &Path) -> Result<(PathBuf, File), String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    match path.parent() {
        Some(folder) if !folder.is_dir() => {
            return Err(format!("the folder {} does not exist; create it first", folder.display()));
        }
        _ if path.is_dir() => return Err("it is a folder; name a file in it".to_owned()),
        _ => {}
    }
    let lock = lock(&path)?;
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > 0) {
        check(&path)?;
    } else {
        create(&path)?;
    }
    Ok((path, lock))
}

/// Creates the file with the number of its format, before the engine creates its tables.
fn create(path: &Path) -> Result<(), String> {
    // Positions in the streams of an earlier file would hide the records of this one.
    match fs::remove_file(beside(path, POSITIONS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.to_string()),
        _ => {}
    }
    let sql = Connection::open(path).map_err(|error| error.to_string())?;
    sql.pragma_update(None, "user_version", FORMAT).map_err(|error| error.to_string())
}

/// The file next to a data file with this ending.
pub fn beside(data: &Path, ending: &str) -> PathBuf {
    let mut name = data.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Locks a file next to the data file, because `SQLite` locks the data file only while it writes.
fn lock(path: &Path) -> Result<File, String> {
    let fail = |error| format!("its lock file can't be opened: {error}");
    let file = File::options().create(true).write(true).truncate(false).open(beside(path, ".lock")).map_err(fail)?;
    let end = Instant::now() + LAST_MOMENT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < end => sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err("another stack uses it; stop that stack, or choose another file".to_owned());
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
    }
}

fn check(path: &Path) -> Result<(), String> {
    let damaged = |_| "it is damaged; delete it, or choose another file".to_owned();
    let sql =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|error| error.to_string())?;
    let known = tables(&sql).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => foreign(),
        Some(ErrorCode::DatabaseCorrupt) => damaged(error),
        _ => error.to_string(),
    })?;
    let format: i32 = sql.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(damaged)?;
    if known.is_empty() && format == FORMAT {
        // The first start ended before the engine created its tables.
        return Ok(());
    }
    if !OWN.iter().all(|own| known.iter().any(|name| name == own)) {
        return Err(foreign());
    }
    if format != FORMAT {
        return Err(outdated(path, format));
    }
    let found: String = sql.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(damaged)?;
    if found == "ok" { Ok(()) } else { Err("it is damaged; delete it, or choose another file".to_owned()) }
}

/// Says which version has written the file, and how to remove it with the files next to it.
fn outdated(path: &Path, format: i32) -> String {
    let version = if format < FORMAT { "an older" } else { "a newer" };
    let files = ["", "-shm", "-wal", POSITIONS].map(|ending| quoted(&beside(path, ending)));
    format!(
        "{version} version of the stack wrote it (format {format}, expected {FORMAT}); remove it with: rm -f {}",
        files.join(" ")
    )
}

/// The path as one word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = text.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+".contains(letter));
    if is_plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn foreign() -> String {
    "it is not a data file of the local stack; choose another file".to_owned()
}

fn tables(sql: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = sql.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    query.query_map((), |row| row.get(0))?.collect()
}
