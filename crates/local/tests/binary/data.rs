//! Data files that cannot be used, and full disks.
use std::{collections::BTreeMap, fs, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use local::{Stack, template::Template};
use rusqlite::Connection;
use serde_json::json;
use tokio::process::Command;

use crate::{BINARY, Folder, Running, http, root, run};

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

/// The command at the end of the refusal removes the file and everything that belongs to it.
#[tokio::test]
async fn a_data_file_of_another_version_is_refused_with_the_command_that_removes_it() {
    let folder = Folder::new();
    let valid = folder.path("valid.db");
    data_file(&valid).await;
    data_file(&valid).await;
    let number = |path: &Path| -> i64 {
        Connection::open(path).unwrap().pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
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
    fs::remove_file(&data).unwrap();
    Connection::open(&data).unwrap().pragma_update(None, "user_version", 1).unwrap();
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

/// A limit on the file size has the effect of a full disk: a part of the data is written.
#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_leaves_only_complete_lines_in_the_lake() {
    let folder = Folder::new();
    let lake = folder.path("lake");
    let mut command = Command::new("bash");
    let script = r#"trap '' XFSZ; ulimit -f 8; exec "$0" run --stack lake --port 0 --dynamodb-port 0 --lake "$1""#;
    // The limit would also cut a line of the permissions that the tests use.
    command.args(["-c", script, BINARY, lake.to_str().unwrap()]).env_remove("PERMISSIONS_USED");
    let running = Running::of(command).await;
    let template = root().join("template.yaml");
    let text = fs::read_to_string(&template).unwrap();
    let template = Template::read(&text, &template, "local", &BTreeMap::new()).unwrap();
    let stream = &template.delivery_streams[0].name;

    let (mut failures, mut expected) = (0, Vec::new());
    for number in 0..60 {
        let lines = [json!({"test": number, "pad": "x".repeat(700)}), json!({"test": number, "last": true})];
        let lines = lines.map(|line| format!("{line}\n"));
        let records: Vec<_> = lines.iter().map(|line| json!({"Data": STANDARD.encode(line)})).collect();
        let body = json!({"DeliveryStreamName": stream, "Records": records}).to_string();
        // The caller sends a failed batch again.
        while !http()
            .post(&running.services)
            .header("x-amz-target", "Firehose_20150804.PutRecordBatch")
            .body(body.clone())
            .send()
            .await
            .unwrap()
            .status()
            .is_success()
        {
            failures += 1;
            assert!(failures < 60, "the lake does not recover");
        }
        expected.extend(lines.map(|line| line.trim_end().to_owned()));
    }
    assert!(failures > 0, "the disk was never full");
    let mut stored: Vec<_> = files(&lake)
        .iter()
        .flat_map(|text| text.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>())
        .inspect(|line| assert!(line.ends_with('\n') && line.starts_with('{'), "torn: {line}"))
        .map(|line| line.trim_end().to_owned())
        .filter(|line| line.contains("\"test\""))
        .collect();
    stored.sort();
    expected.sort();
    assert_eq!(stored, expected);
}

/// The texts of all files, without the attributes of objects.
fn files(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with(".s3") {
            continue;
        }
        if path.is_dir() {
            texts.extend(files(&path));
        } else {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    texts
}
