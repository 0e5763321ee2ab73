//! Checkpoints of the mappings. A file next to the data file stores them, so that a restart loses
//! no records.
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use engine::store::{POSITIONS, Position, beside};

/// Checkpoint of each mapping, by the mapping's name. Checkpoints are stored in a file only if the
/// data is in a file.
pub(crate) struct Positions {
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Position>>,
}

impl Positions {
    /// Opens the checkpoints of a data file (`<data>.positions.json`).
    pub(crate) fn open(data: Option<&Path>) -> io::Result<Self> {
        let file = data.map(Self::file);
        let known = match file.as_ref().map(fs::read) {
            Some(Ok(text)) => serde_json::from_slice(&text)?,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => BTreeMap::new(),
        };
        Ok(Self { file, known: Mutex::new(known) })
    }

    /// The file with the checkpoints of a data file.
    pub(crate) fn file(data: &Path) -> PathBuf {
        beside(data, POSITIONS)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Position> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Stores the checkpoint of a mapping. A rename replaces the file atomically.
    pub(crate) fn set(&self, name: &str, position: Position) -> io::Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), position);
        let Some(file) = &self.file else { return Ok(()) };
        let new = file.with_extension("new");
        let text = serde_json::to_vec(&*known)?;
        let stored = fs::write(&new, text).and_then(|()| fs::rename(&new, file));
        if stored.is_err() {
            let _ = fs::remove_file(&new);
        }
        stored
    }
}
