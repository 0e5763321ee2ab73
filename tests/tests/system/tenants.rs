//! docs/security.md lists what tenants share. The tests compare the list with the partition keys in
//! the tables at the start of the key modules.

use std::{collections::BTreeSet, fs};
use system_tests::root;

/// The owners of partitions: the start of a partition key, or `account` for the id of an account.
const OWNERS: [(&str, &[&str]); 5] = [
    ("bank", &["account"]),
    ("cart", &["account"]),
    ("wellness", &["CompanyId-<id>"]),
    ("ledger", &["ACCOUNT#<", "USER#<user>", "SETTLEMENT#<account>"]),
    ("totals", &[]),
];

fn source_of(module: &str) -> String {
    fs::read_to_string(root().join(format!("crates/keys/src/{module}.rs"))).expect("a module")
}

/// Returns the forms of the partition keys of a module, such as `CompanyId-<id>#Program`.
fn partitions(module: &str) -> BTreeSet<String> {
    let (source, mut columns, mut found) = (source_of(module), Vec::new(), BTreeSet::new());
    for row in source.lines().filter_map(|line| line.strip_prefix("//! |")).filter(|row| !row.contains("---")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if cells[0] == "item" {
            let is_partition = |cell: &&str| cell.contains("PK") || matches!(*cell, "GSI1" | "GSI2" | "GSI3");
            columns = cells.iter().map(is_partition).collect();
            continue;
        }
        let keys = cells.iter().zip(&columns).filter(|(_, is_partition)| **is_partition);
        for key in keys.flat_map(|(cell, _)| cell.split(" or ")) {
            found.insert(key.split(", ").next().unwrap_or_default().trim_matches('`').to_owned());
        }
    }
    found.remove("");
    found
}

/// A partition belongs to a company, an account or a user. The document lists all others, and says
/// why tenants can share them.
#[test]
fn shared_partitions_are_in_the_security_document() {
    let document = fs::read_to_string(root().join("docs/security.md")).expect("a document");
    let (_, section) = document.split_once("### What tenants share\n").expect("a section");
    let rows = section.split("\n#").next().unwrap_or_default().lines().filter(|line| line.starts_with("| `"));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let listed: BTreeSet<&str> = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let all: Vec<_> = OWNERS.into_iter().map(|(module, owners)| (partitions(module), owners)).collect();
    let shared = all
        .iter()
        .flat_map(|(keys, owners)| keys.iter().filter(|key| !owners.iter().any(|owner| key.starts_with(owner))));
    assert_eq!(listed, shared.map(String::as_str).collect(), "the first column has the shared partitions");
}

/// The format of each partition key type of wellness is in the table.
#[test]
fn the_table_of_wellness_keys_has_every_partition_key() {
    let (source, listed) = (source_of("wellness"), partitions("wellness"));
    let field = regex_lite::Regex::new(r"\{[^}]*\}").expect("a pattern");
    let is_partition =
        |line: &str| line.starts_with("/// PK of") || line.starts_with("/// GSI") && line[8..].starts_with("PK of");
    let types = source.split("\n\n").filter(|item| item.lines().any(is_partition));
    let formats = types.flat_map(|item| item.split("#[key(\"").skip(1).filter_map(|rest| rest.split('"').next()));
    let without_fields =
        |form: &str| field.replace_all(&form.replace("<0-9>", "{}").replace("<id>", "{}"), "*").into_owned();
    let listed: BTreeSet<String> = listed.iter().map(|form| without_fields(form)).collect();
    let formats: BTreeSet<String> = formats.map(without_fields).collect();
    let known = ["*", "CompanyId-*#*"];
    let unlisted: Vec<_> =
        formats.iter().filter(|form| !listed.contains(*form) && !known.contains(&form.as_str())).collect();
    assert_eq!((unlisted.is_empty(), formats.len() >= 10), (true, true), "{unlisted:?} are not in {listed:?}");
}
