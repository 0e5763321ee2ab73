//! Compares the registry and the binaries of each domain with the modules in `patterns/`. `make
//! docs` writes the registry and the binaries.

use std::{fmt::Write, fs, path::Path};
use system_tests::root;

/// Maximum width of a line of code, with its line feed.
const MAX_WIDTH: usize = 121;

/// The crates with a folder `patterns`.
fn crates() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).expect("the crates");
    let names = folders.map(|folder| folder.expect("a folder").file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> =
        names.filter(|name| root().join("crates").join(name).join("src/patterns").is_dir()).collect();
    names.sort();
    names
}

/// The names of the pattern modules of a crate.
fn modules(name: &str) -> Vec<String> {
    let folder = fs::read_dir(root().join("crates").join(name).join("src/patterns")).expect("the modules");
    let files = folder.map(|file| file.expect("a file").path());
    let mut names: Vec<_> =
        files.map(|file| file.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn registry(modules: &[String]) -> String {
    let mut text =
        "//! The access patterns, one module per pattern.\n//!\n//! `make docs` writes this file from the names of the modules.\n\n\
         #![allow(missing_docs, reason = \"PATTERN declares the access pattern of its module\")]\n\n"
            .to_owned();
    for module in modules {
        let _ = writeln!(text, "pub mod {module};");
    }
    text += "\nuse crate::Pattern;\n\n/// Every access pattern of the domain, by number.\npub fn patterns() -> Vec<Pattern> {\n";
    let elements: Vec<String> = modules.iter().map(|module| format!("{module}::PATTERN")).collect();
    // rustfmt writes a short list on one line.
    let line = format!("    function::by_number(vec![{}])\n", elements.join(", "));
    if line.len() <= MAX_WIDTH {
        text += &line;
    } else {
        text += "    function::by_number(vec![\n";
        for element in elements {
            let _ = writeln!(text, "        {element},");
        }
        text += "    ])\n";
    }
    text + "}\n"
}

fn binary(name: &str, module: &str) -> String {
    let function = module.replace('_', "-");
    format!(
        "//! The Lambda `{function}`.\n\nfn main() -> std::process::ExitCode {{\n    \
         function::run({name}::patterns::{module}::PATTERN.function)\n}}\n"
    )
}

/// Writes the file if `UPDATE_DOCS` is set. Returns whether its content equals `wanted`.
fn is_current(path: &Path, wanted: &str) -> bool {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, wanted).expect("written");
    }
    fs::read_to_string(path).is_ok_and(|found| found == wanted)
}

#[test]
fn every_module_is_registered_and_has_a_binary() {
    let mut stale = Vec::new();
    for name in crates() {
        let (source, modules) = (root().join("crates").join(&name).join("src"), modules(&name));
        let mut files = vec![(source.join("patterns.rs"), registry(&modules))];
        for module in &modules {
            let path = source.join("bin").join(module.replace('_', "-")).with_extension("rs");
            files.push((path, binary(&name, module)));
        }
        let count = files.len();
        stale.extend(files.into_iter().filter(|(path, wanted)| !is_current(path, wanted)).map(|(path, _)| path));
        let binaries = fs::read_dir(source.join("bin")).expect("binaries").count();
        assert_eq!(binaries + 1, count, "{name}: one binary per pattern");
    }
    assert!(stale.is_empty(), "stale: run make docs: {stale:?}");
}
