//! Copies of a stack's data, to which a test returns before each of its cases.
use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
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
    delivered: BTreeMap<(String, String), i64>,
}

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
        let saved = Saved { tables, _open: open, lake, delivered: self.delivered().clone() };
        self.gateway.store.database().vacuum_into(&saved.tables).map_err(|error| error.to_string())?;
        copy(self.lake.folder(), &saved.lake).map_err(|error| error.to_string())?;
        Ok(saved)
    }

    /// Replaces the data by the copy. The time continues.
    ///
    /// # Errors
    /// A message if a file can't be read or written.
    pub fn restore(&self, saved: &Saved) -> Result<(), String> {
        self.gateway.store.database().restore_from(&saved.tables).map_err(|error| error.to_string())?;
        let lake = self.lake.folder();
        let replaced = fs::remove_dir_all(lake).and_then(|()| copy(&saved.lake, lake));
        replaced.map_err(|error| error.to_string())?;
        self.delivered().clone_from(&saved.delivered);
        Ok(())
    }

    /// A number that changes with each write to a table.
    ///
    /// # Errors
    /// The engine's error.
    pub fn version(&self) -> Result<i64, String> {
        self.gateway.store.with_sql(|sql| sql.pragma_query_value(None, "data_version", |row| row.get(0)))
    }
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
