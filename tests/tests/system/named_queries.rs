//! Compares the queries in `analytics/` with the lake's named queries
//! (docs/requirements/lake.md#queries). `make docs` writes the named queries into the template.

use std::{fmt::Write, fs, path::PathBuf};
use system_tests::root;

const BEGIN: &str = "  # The named queries: written from analytics/ by make docs.\n";
const END: &str = "  # The end of the named queries.\n";

fn questions() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("analytics")).expect("the folder of the queries");
    let mut files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    files
}

/// Converts `weekly_report` to `WeeklyReport`.
fn logical(name: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    };
    name.split('_').map(capital).collect()
}

fn resource(path: &PathBuf) -> String {
    let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
    let sql = fs::read_to_string(path).expect("a query");
    let question = sql.lines().next().and_then(|line| line.strip_prefix("-- ")).expect("a comment in the first line");
    let mut text = format!(
        "  {}Query:\n    Type: AWS::Athena::NamedQuery\n    Properties:\n      Name: !Sub ${{Name}} {}\n      \
         Description: {question:?}\n      Database: !Ref LakeDatabase\n      WorkGroup: !Ref BiWorkGroup\n      QueryString: |\n",
        logical(name),
        name.replace('_', " "),
    );
    for line in sql.lines() {
        let indent = if line.is_empty() { "" } else { "        " };
        let _ = writeln!(text, "{indent}{line}");
    }
    text + "\n"
}

#[test]
fn named_queries_equal_the_files_in_analytics() {
    let path = root().join("stacks/lake.yaml");
    let template = fs::read_to_string(&path).expect("the template");
    let (before, rest) = template.split_once(BEGIN).expect("the begin marker");
    let (written, after) = rest.split_once(END).expect("the end marker");
    let files = questions();
    assert!(files.len() >= 4, "at least four queries: {files:?}");
    let expected: String = files.iter().map(resource).collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).expect("written");
    } else {
        assert_eq!(written, expected, "stale: run make docs");
    }
}
