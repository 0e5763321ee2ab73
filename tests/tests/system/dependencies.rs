//! Tests that a Lambda links one TLS stack, one HTTP stack, and no part of the local stack.

use std::{collections::BTreeSet, process::Command};
use system_tests::root;

fn tree(package: &str) -> Vec<String> {
    listed(&["--edges", "normal", "--package", package])
}

fn listed(which: &[&str]) -> Vec<String> {
    let arguments = [&["tree", "--offline", "--locked", "--prefix", "none"], which].concat();
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

#[test]
fn a_lambda_links_one_http_and_one_tls_stack() {
    for package in ["bank", "lake"] {
        let tree = tree(package);
        has_one_stack(&tree);
    }
}

/// The local engine contains a version of `SQLite` with a known vulnerability
/// (docs/operations.md#what-the-stacks-leave-to-you).
#[test]
fn no_function_links_sqlite() {
    for package in ["bank", "cart", "wellness", "ledger", "lake"] {
        let tree = tree(package);
        for part in ["libsqlite3-sys v", "rusqlite v", "dynoxide"] {
            assert!(!tree.iter().any(|line| line.starts_with(part)), "{package} links {part}");
        }
    }
    let local = tree("local");
    assert!(local.iter().any(|line| line.starts_with("libsqlite3-sys v0.34.0")), "update the documentation");
}

fn has_one_stack(tree: &[String]) {
    let has = |prefix: &str| tree.iter().any(|line| line.starts_with(prefix));
    assert!(has("hyper v1.") && has("rustls v0.23") && has("aws-lc-rs v1."), "{tree:#?}");
    for other in [
        "hyper v0.",
        "h2 v0.3",
        "rustls v0.21",
        "ring v",
        "openssl v",
        "openssl-sys",
        "native-tls",
        "regex-automata",
        "aws-sdk-sso",
        "chrono-tz",
        "dynoxide",
        "axum",
    ] {
        assert!(!has(other), "a Lambda links {other}");
    }
}

#[test]
fn keys_do_not_depend_on_the_sdk() {
    let tree = tree("keys");
    assert!(!tree.iter().any(|line| line.starts_with("aws-") || line.starts_with("tokio v")), "{tree:#?}");
}

#[test]
fn tests_build_dependencies_with_the_same_features_as_the_local_stack() {
    let with_features = |edges| -> BTreeSet<String> {
        listed(&["--workspace", "--edges", edges, "--format", "{p} {f}"]).into_iter().collect()
    };
    let (built, tested) = (with_features("normal,build"), with_features("normal,build,dev"));
    let twice: Vec<_> = built.difference(&tested).collect();
    assert!(twice.is_empty(), "the tests need other features of these crates: {twice:#?}");
}
