//! The data file: checks before the engine opens it, and a lock against a second stack.
use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Tables that the engine creates in each of its files.
const OWN: [&str; 3] = ["_config", "_stream_records", "_tables"];
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
    }
    Ok((path, lock))
}

/// Locks a file next to the data file, because `SQLite` locks the data file only while it writes.
fn lock(path: &Path) -> Result<File, String> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let fail = |error| format!("its lock file can't be opened: {error}");
    let file = File::options().create(true).write(true).truncate(false).open(name).map_err(fail)?;
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
    if !OWN.iter().all(|own| known.iter().any(|name| name == own)) {
        return Err(foreign());
    }
    let found: String = sql.query_row("PRAGMA quick_check(1)", (), |row| row.get(0)).map_err(damaged)?;
    if found == "ok" { Ok(()) } else { Err("it is damaged; delete it, or choose another file".to_owned()) }
}

fn foreign() -> String {
    "it is not a data file of the local stack; choose another file".to_owned()
}

fn tables(sql: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = sql.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
    query.query_map((), |row| row.get(0))?.collect()
}
