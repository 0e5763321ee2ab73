//! Copies of a stack's data, to which a test returns before each of its cases.
use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use rusqlite::Connection;
use uuid::Uuid;

use super::InProcess;

/// The data of a stack at one time: its tables, its lake and its positions in the streams.
#[derive(Debug)]
pub struct Saved {
    /// The database in memory with the tables. It exists as long as a connection is open.
    tables: String,
    _open: Connection,
    /// Temporary folder with the lake. It is removed on drop.
    lake: PathBuf,
    /// The files of the stack's lake when it last equalled the copy.
    files: Mutex<Files>,
    delivered: BTreeMap<(String, String), i64>,
}

/// Length and time of the last change of each file.
type Files = BTreeMap<PathBuf, (u64, SystemTime)>;

impl Drop for Saved {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.lake);
    }
}

impl InProcess {
    /// Copies the data.
    ///
    /// # Errors
    /// A message if a file can't be written.
    pub fn save(&self) -> Result<Saved, String> {
        let tables = format!("file:/{}?vfs=memdb", Uuid::new_v4());
        let open = Connection::open(&tables).map_err(|error| error.to_string())?;
        let lake = env::temp_dir().join(format!("local-saved-{}", Uuid::new_v4()));
        let saved = Saved { tables, _open: open, lake, files: Mutex::default(), delivered: self.delivered().clone() };
        self.gateway.store.database().vacuum_into(&saved.tables).map_err(|error| error.to_string())?;
        let folder = self.lake.folder();
        let copied = copy(folder, &saved.lake).and_then(|()| saved.note(folder));
        copied.map_err(|error| error.to_string())?;
        Ok(saved)
    }

    /// Replaces the data by the copy. The time continues.
    ///
    /// # Errors
    /// A message if a file can't be read or written.
    pub fn restore(&self, saved: &Saved) -> Result<(), String> {
        self.gateway.store.database().restore_from(&saved.tables).map_err(|error| error.to_string())?;
        saved.restore_lake(self.lake.folder()).map_err(|error| error.to_string())?;
        self.delivered().clone_from(&saved.delivered);
        Ok(())
    }

    /// A number that changes with each write to a table.
    pub fn version(&self) -> Result<i64, String> {
        self.gateway.store.with_sql(|sql| sql.pragma_query_value(None, "data_version", |row| row.get(0)))
    }
}

impl Saved {
    /// Replaces the folder, unless it has the same files as after the last copy.
    fn restore_lake(&self, folder: &Path) -> io::Result<()> {
        let mut files = Files::new();
        list(folder, &mut files)?;
        if files == *self.files.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(());
        }
        fs::remove_dir_all(folder)?;
        copy(&self.lake, folder)?;
        self.note(folder)
    }

    fn note(&self, folder: &Path) -> io::Result<()> {
        let mut files = Files::new();
        list(folder, &mut files)?;
        *self.files.lock().unwrap_or_else(PoisonError::into_inner) = files;
        Ok(())
    }
}

fn list(folder: &Path, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        if data.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.insert(entry.path(), (data.len(), data.modified()?));
        }
    }
    Ok(())
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (from, to) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
