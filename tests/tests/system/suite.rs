//! `make test` names every failed test, and every part that failed or was not run.
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};
use system_tests::root;

/// A cargo that prints the file of its task, and fails if the file ends with `failed`.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    *--no-run*) task=build ;;
    *--doc*) task=doc ;;
    *prose::*) task=prose ;;
    *every_permission_is_needed*) task=permissions ;;
    *--no-fail-fast*) task=tests ;;
    *) echo "unexpected: $*"; exit 1 ;;
esac
cat "$0.$task"
! tail -1 "$0.$task" | grep -q '^failed$'
"#;

/// Output of two executables, of which one has failed tests and one has ended in a test.
const FAILED: &str = "\
     Running unittests src/lib.rs (target/debug/deps/local-0123)
test gateway::tests::odd ... FAILED <0.010s>
test gateway::tests::fine ... ok <0.020s>
test nearest::tests::odd - should panic ... FAILED <0.010s>
test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
     Running tests/bank/main.rs (target/debug/deps/bank-4567)
test access::roles ... ok <0.030s>
     Running tests/cart/main.rs (target/debug/deps/cart-89ab)
test access::roles ... ok <0.040s>
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
failed
";

const PASSED: &str = "\
     Running unittests src/lib.rs (target/debug/deps/local-0123)
test gateway::tests::fine ... ok <0.020s>
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.10s
";

/// Runs `make test` with a fake cargo. Returns whether it passed, and the lines after the parts.
fn run(changed: &[(&str, &str)]) -> (bool, Vec<String>) {
    let folder = std::env::temp_dir().join(format!("suite-{}", uuid::Uuid::now_v7()));
    fs::create_dir_all(folder.join("tests")).expect("a folder");
    for script in ["run.sh", "parts.sh", "some.sh", "timed.sh"] {
        fs::copy(root().join("tests").join(script), folder.join("tests").join(script)).expect("a script");
    }
    let cargo = folder.join("cargo");
    fs::write(&cargo, CARGO).expect("a file");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("permissions");
    let one = "test result: ok. 1 passed;\n";
    let usual = [("build", "  Executable a\n"), ("doc", one), ("prose", one), ("permissions", one), ("tests", PASSED)];
    for (task, output) in usual.iter().chain(changed) {
        fs::write(PathBuf::from(format!("{}.{task}", cargo.display())), output).expect("a file");
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut script = Command::new("bash");
    script.arg(folder.join("tests/run.sh")).env("PATH", format!("{}:{path}", folder.display()));
    let output = script.output().expect("bash");
    let told = String::from_utf8(output.stdout).expect("text");
    let summary = told.lines().skip_while(|line| !line.starts_with("The ten slowest parts"));
    let summary = summary.skip_while(|line| !line.is_empty()).skip(1).map(|line| line.trim().to_owned()).collect();
    remove(&folder);
    (output.status.success(), summary)
}

fn remove(folder: &Path) {
    fs::remove_dir_all(folder).expect("a temporary folder");
}

#[test]
fn every_failed_test_and_part_is_named() {
    let failed = "failed\n";
    let skipped = "not run: the permissions, which need the calls of all tests";
    for (changed, expected) in [
        (&[][..], &["All tests passed."][..]),
        (
            &[("tests", FAILED)],
            &[
                "make test failed:",
                "failed: local gateway::tests::odd",
                "failed: local nearest::tests::odd",
                "failed: bank: ended without a result",
                skipped,
            ],
        ),
        (
            &[("tests", failed)],
            &["make test failed:", "failed: the tests (cargo test failed, and no test did)", skipped],
        ),
        (
            &[("doc", failed), ("prose", failed), ("permissions", failed)],
            &["make test failed:", "failed: the prose", "failed: the permissions", "failed: the doc tests"],
        ),
        // The filter matches no test.
        (&[("permissions", "test result: ok. 0 passed;\n")], &["make test failed:", "failed: the permissions"]),
        (
            &[("build", failed)],
            &[
                "make test failed:",
                "failed: the build",
                "not run: the prose, the tests, the permissions and the doc tests, which need the build",
            ],
        ),
        (
            &[("build", "no executable\n")],
            &[
                "make test failed:",
                "failed: the build",
                "not run: the prose, the tests, the permissions and the doc tests, which need the build",
            ],
        ),
    ] {
        let (has_passed, summary) = run(changed);
        assert_eq!(summary, expected, "{changed:?}");
        assert_eq!(has_passed, changed.is_empty(), "{changed:?}");
    }
}

#[test]
fn the_crates_that_make_test_leaves_out_have_no_tests() {
    let script = fs::read_to_string(root().join("tests/run.sh")).expect("the script");
    let (_, names) = script.split_once("\nwithout=(").expect("the crates");
    let names: Vec<&str> = names.split(')').next().unwrap_or_default().split_whitespace().collect();
    assert!(names.len() > 3, "{names:?}");
    for name in names {
        let mut search = Command::new("grep");
        search.args(["-rlE", r"^\s*#\[(tokio::)?test|proptest!", &format!("crates/{name}/src")]);
        let found = search.current_dir(root()).output().expect("grep");
        assert_eq!(String::from_utf8_lossy(&found.stdout), "", "make test does not run these tests");
    }
}
