//! How far each mapping is, beside the data so that a restart loses nothing.
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::store::Position;

/// The position of each mapping by its name; in a file when the data is in one.
pub(crate) struct Positions {
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<String, Position>>,
}

impl Positions {
    /// Those of the data in that file.
    pub(crate) fn open(data: Option<&Path>) -> io::Result<Self> {
        let file = data.map(|data| {
            let mut name = data.as_os_str().to_owned();
            name.push(".positions.json");
            PathBuf::from(name)
        });
        let known = match file.as_ref().map(fs::read) {
            Some(Ok(text)) => serde_json::from_slice(&text)?,
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => BTreeMap::new(),
        };
        Ok(Self { file, known: Mutex::new(known) })
    }

    pub(crate) fn get(&self, name: &str) -> Option<Position> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Keeps how far a mapping is. Whoever reads the file sees the old or the new one, never half of it.
    pub(crate) fn set(&self, name: &str, position: Position) -> io::Result<()> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), position);
        let Some(file) = &self.file else { return Ok(()) };
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_vec(&*known)?)?;
        fs::rename(new, file)
    }
}
