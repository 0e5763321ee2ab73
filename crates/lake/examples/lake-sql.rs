//! Writes the schemas of the exported tables and their SQL to a folder, for `DuckDB`.

use lake::{SCHEMAS, sql};
use std::{env, fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).map(PathBuf::from).ok_or_else(|| io::Error::other("no folder is given"))?;
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("schema.json"), sql::schemas().to_string())?;
    for schema in &SCHEMAS {
        let folder = folder.join(schema.items);
        fs::create_dir_all(&folder)?;
        for (name, text) in sql::texts(schema) {
            fs::write(folder.join(name).with_extension("sql"), text)?;
        }
    }
    Ok(())
}
