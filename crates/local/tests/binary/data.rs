//! Data files that cannot be used.
use std::{fs, path::Path};

use local::Stack;
use rusqlite::Connection;

use crate::{Folder, Running, root, run};

/// A data file with the tables of the project.
async fn data_file(path: &Path) {
    Stack::builder(root().join("template.yaml")).data(path).start().await.unwrap().stop().await;
}

async fn fails_with(data: &Path, expected: &str) -> String {
    let data = data.to_str().unwrap();
    let output = run(&root(), &["run", "--port", "0", "--dynamodb-port", "0", "--data", data]).await;
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{expected}: {error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{expected}: {error}");
    assert!(error.contains(expected) && error.contains(data), "{expected}: {error}");
    assert!(output.stdout.is_empty(), "{expected}");
    error
}

#[tokio::test]
async fn an_unusable_data_file_ends_the_start_with_one_line() {
    let folder = Folder::new();
    let valid = folder.path("valid.db");
    data_file(&valid).await;
    let content = fs::read(&valid).unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path(name);
        fs::write(&path, content).unwrap();
        path
    };

    let foreign = "it is not a data file of the local stack; choose another file";
    fails_with(&file("text.txt", b"Dear diary"), foreign).await;
    fails_with(&file("long.txt", &b"Dear diary. ".repeat(1000)), foreign).await;
    let other = folder.path("other.db");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE _tables (a); CREATE TABLE mine (a)").unwrap();
    fails_with(&other, foreign).await;
    let tables: i64 = Connection::open(&other)
        .unwrap()
        .query_row("SELECT COUNT(*) FROM sqlite_master", (), |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 2, "the file of another program is unchanged");

    let damaged = "it is damaged; delete it, or choose another file";
    fails_with(&file("half.db", &content[..content.len() / 2]), damaged).await;
    let mut torn = content.clone();
    let middle = torn.len() / 2 / 4096 * 4096;
    torn[middle..middle + 4096].fill(0xff);
    fails_with(&file("torn.db", &torn), damaged).await;

    fails_with(&folder.path("missing/my.db"), "does not exist; create it first").await;
    fails_with(&folder.0, "it is a folder").await;

    for (index, positions) in ["", "{", "[]", "{\"a\": \"b\"}", "null"].into_iter().enumerate() {
        let path = file(&format!("positions-{index}.db"), &content);
        file(&format!("positions-{index}.db.positions.json"), positions.as_bytes());
        fails_with(&path, "delete the file, and the functions receive all records again").await;
    }
}

fn number(path: &Path) -> i64 {
    Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// The command at the end of the refusal removes the file and everything that belongs to it.
#[tokio::test]
async fn a_data_file_of_another_version_is_refused_with_the_command_that_removes_it() {
    let folder = Folder::new();
    let valid = folder.path("valid.db");
    data_file(&valid).await;
    data_file(&valid).await;
    let current = number(&valid);
    assert!(current > 0);
    let others = [(0, "an older"), (current - 1, "an older"), (current + 1, "a newer"), (-1, "an older")];
    for (index, (format, version)) in others.into_iter().enumerate() {
        let path = folder.path(&format!("it's {index}.db"));
        fs::copy(&valid, &path).unwrap();
        Connection::open(&path).unwrap().pragma_update(None, "user_version", format).unwrap();
        let positions = folder.path(&format!("it's {index}.db.positions.json"));
        fs::write(&positions, "{}").unwrap();
        let content = fs::read(&path).unwrap();
        let expected = format!("{version} version of the stack wrote it (format {format}, expected {current})");
        let error = fails_with(&path, &expected).await;
        assert_eq!(fs::read(&path).unwrap(), content, "the file is unchanged");
        let command = error.trim_end().split_once("remove it with: ").unwrap().1;
        assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
        assert!(!path.exists() && !positions.exists(), "{command}");
        data_file(&path).await;
        assert_eq!(number(&path), current);
    }
}

/// Positions in the streams of an earlier file would hide the records of a new one.
#[tokio::test]
async fn a_new_data_file_has_no_positions_of_an_earlier_one() {
    let folder = Folder::new();
    let (data, positions) = (folder.path("my.db"), folder.path("my.db.positions.json"));
    fs::write(&positions, "{\"an earlier file\": 1}").unwrap();
    data_file(&data).await;
    assert!(!fs::read_to_string(&positions).unwrap_or_default().contains("an earlier file"));
    // A start that ended before the engine created its tables.
    let current = number(&data);
    fs::remove_file(&data).unwrap();
    Connection::open(&data).unwrap().pragma_update(None, "user_version", current).unwrap();
    data_file(&data).await;
}

#[tokio::test]
async fn a_second_stack_cannot_use_the_same_data_file() {
    let folder = Folder::new();
    let data = folder.path("my.db");
    let mut running = Running::start(&["--data", data.to_str().unwrap()]).await;
    fails_with(&data, "another stack uses it; stop that stack, or choose another file").await;
    // The lock ends with the process, even if the process is killed.
    running.child.kill().await.unwrap();
    drop(Running::start(&["--data", data.to_str().unwrap()]).await);
}
