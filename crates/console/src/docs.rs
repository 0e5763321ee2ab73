//! Pages of `docs/`, and the units of the sample events, which the console shows beside a trace.
use std::{collections::HashMap, fs, path::Path};

use serde_json::{Value, json};

/// Returns the text of a page, such as `access-patterns/bank.md`.
pub(super) fn page(root: &Path, path: &[&str]) -> Option<Value> {
    let is_plain = |part: &&str| {
        part.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '-' | '_' | '.'))
            && !part.is_empty()
            && !part.starts_with('.')
    };
    let is_page = path.iter().all(is_plain) && path.last().is_some_and(|name| is_markdown(name));
    let file = path.iter().fold(root.join("docs"), |folder, part| folder.join(part));
    let text = is_page.then(|| fs::read_to_string(file).ok()).flatten()?;
    Some(json!({"text": text}))
}

/// Returns the lessons: the pages that `docs/learn/README.md` lists, with their titles.
pub(super) fn lessons(root: &Path) -> Vec<Value> {
    let text = |name: &str| fs::read_to_string(root.join("docs/learn").join(name)).unwrap_or_default();
    let list = text("README.md");
    let links = list.split("](").skip(1).filter_map(|link| link.split(')').next());
    let titled = |name: &str| {
        let title = text(name).lines().next().and_then(|line| line.strip_prefix("# ")).map(str::to_owned);
        json!({"page": name, "title": title.unwrap_or_else(|| name.to_owned())})
    };
    links.filter(|name| is_markdown(name)).map(titled).collect()
}

/// Returns the read and write units of the sample events, by function, from the rows of the
/// contract (CONTRIBUTING.md#the-contract).
pub(super) fn units(root: &Path) -> HashMap<String, (f64, f64)> {
    let files = fs::read_dir(root.join("tests/tests/contract")).into_iter().flatten().filter_map(Result::ok);
    let tables = files.map(|file| file.path()).filter(|path| path.extension().is_some_and(|kind| kind == "txt"));
    let texts = tables.filter_map(|path| fs::read_to_string(path).ok());
    texts.flat_map(|text| text.lines().filter_map(of_row).collect::<Vec<_>>()).collect()
}

/// The event of a row, and its units such as `2.5/7`.
fn of_row(line: &str) -> Option<(String, (f64, f64))> {
    let mut columns = line.split_whitespace().filter(|_| !line.starts_with('#'));
    let event = columns.next()?;
    let units = columns.find_map(|column| {
        let (read, write) = column.split_once('/')?;
        Some((read.parse().ok()?, write.parse().ok()?))
    })?;
    Some((event.to_owned(), units))
}

fn is_markdown(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_only_pages_of_the_docs() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        assert!(page(root, &["access-patterns", "bank.md"]).is_some());
        for path in [&["..", "README.md"][..], &["access-patterns"], &["", "README.md"], &["openapi.yaml"], &[]] {
            assert_eq!(page(root, path), None, "{path:?}");
        }
    }

    #[test]
    fn the_units_of_a_sample_come_from_its_row() {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        assert!(units(root).len() > 100);
        let row = "add-cart-item  write,operate  201 403 200 403  201 201  2.5/7  Cart Product";
        assert_eq!(of_row(row), Some(("add-cart-item".to_owned(), (2.5, 7.0))));
        assert_eq!(of_row("# event  units 1/2"), None);
    }
}
