//! Tests that the modules of a crate import each other in no circle, and that each crate depends
//! only on crates above it in the layout of docs/architecture.md.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use regex_lite::Regex;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use system_tests::root;

/// A name at the root of a crate, and the module that declares it.
type Exports = BTreeMap<String, String>;
/// The modules that each module names.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
    found
}

fn crates() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("crates")).expect("the crates");
    let crates = folders.map(|entry| entry.expect("an entry").path());
    let others = ["tests", "tests/sim", "bench/measure"].map(|folder| root().join(folder));
    crates.chain(others).collect()
}

fn tokens(file: &Path) -> Vec<TokenTree> {
    let text = fs::read_to_string(file).expect("a file");
    text.parse::<TokenStream>().expect("Rust").into_iter().collect()
}

/// The first names of the paths that follow `root::`, such as `a` and `b` in `crate::{a::c, b}`.
/// Modules with `#[cfg(test)]` are passed over.
fn named(tokens: &[TokenTree], root: &str, names: &mut BTreeSet<String>) {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string().replace(' ', "") == text);
    let mut at = 0;
    while at < tokens.len() {
        if is(at, "#") && is(at + 1, "[cfg(test)]") && (is(at + 2, "mod") || is(at + 3, "mod")) {
            at += 5;
        } else if is(at, root) && is(at + 1, ":") && is(at + 2, ":") {
            match tokens.get(at + 3) {
                Some(TokenTree::Group(group)) => names.extend(firsts(group.stream())),
                Some(name) => drop(names.insert(name.to_string())),
                None => {}
            }
            at += 3;
        } else {
            if let TokenTree::Group(group) = &tokens[at] {
                named(&group.stream().into_iter().collect::<Vec<_>>(), root, names);
            }
            at += 1;
        }
    }
}

/// The first name of each path in a group.
fn firsts(group: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<TokenTree> = group.into_iter().collect();
    tokens.split(|token| token.to_string() == ",").filter_map(|path| Some(path.first()?.to_string())).collect()
}

/// The names that `pub use module::…` at the root gives to the names of modules.
fn exports(root: &Path, modules: &BTreeSet<String>) -> Exports {
    fn leaves(tokens: TokenStream, names: &mut BTreeSet<String>) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => drop(names.insert(name.to_string())),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => leaves(group.stream(), names),
                _ => {}
            }
        }
    }
    let mut exports = Exports::new();
    for statement in tokens(root).split(|token| token.to_string() == ";") {
        let Some(at) = statement.iter().rposition(|token| token.to_string() == "use") else { continue };
        let path = &statement[at + 1..];
        let Some(module) = path.iter().map(ToString::to_string).find(|name| modules.contains(name)) else { continue };
        let mut names = BTreeSet::new();
        leaves(path.iter().skip(1).cloned().collect(), &mut names);
        exports.extend(names.into_iter().map(|name| (name, module.clone())));
    }
    exports
}

fn graph(folder: &Path) -> Graph {
    let source = folder.join("src");
    let is_test = |file: &Path| {
        file.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs" | "bin")))
    };
    let mut graph = Graph::new();
    let mut of = Vec::new();
    for file in files(&source) {
        let inner = file.strip_prefix(&source).expect("a file of the crate").to_owned();
        let module =
            inner.iter().next().and_then(|name| name.to_str()).expect("a name").trim_end_matches(".rs").to_owned();
        if !is_test(&inner) && !matches!(module.as_str(), "lib" | "main") {
            graph.entry(module.clone()).or_default();
            of.push((module, file));
        }
    }
    let modules: BTreeSet<String> = graph.keys().cloned().collect();
    let root = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|file| file.exists());
    let exports = root.map(|root| exports(&root, &modules)).unwrap_or_default();
    for (module, file) in of {
        let mut names = BTreeSet::new();
        named(&tokens(&file), "crate", &mut names);
        let used = names
            .into_iter()
            .filter_map(|name| if modules.contains(&name) { Some(name) } else { exports.get(&name).cloned() });
        let used: Vec<String> = used.filter(|name| *name != module).collect();
        graph.entry(module).or_default().extend(used);
    }
    graph
}

/// The modules that are left when modules that name no others, or that no others name, are removed
/// again and again.
fn circle(mut graph: Graph) -> Graph {
    loop {
        let named: BTreeSet<String> = graph.values().flatten().cloned().collect();
        let count = graph.len();
        graph.retain(|module, used| !used.is_empty() && named.contains(module));
        if graph.len() == count {
            return graph;
        }
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        for used in graph.values_mut() {
            used.retain(|module| left.contains(module));
        }
    }
}

#[test]
fn no_modules_of_a_crate_form_a_circle() {
    let mut count = 0;
    for folder in crates() {
        let graph = graph(&folder);
        count += graph.values().map(BTreeSet::len).sum::<usize>();
        let circle = circle(graph);
        assert!(circle.is_empty(), "{} has a circle: {circle:#?}", folder.display());
    }
    assert!(count > 300, "only {count} imports were found");
}

#[test]
fn a_circle_is_found() {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("Rust").into_iter().collect::<Vec<_>>();
    let names = |text: &str| {
        let mut names = BTreeSet::new();
        named(&tokens(text), "crate", &mut names);
        names.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(names("use crate::{a::{b, c}, d}; fn f() { crate::e::g() }"), ["a", "d", "e"]);
    assert_eq!(names("// crate::x\n#[cfg(test)] mod tests { use crate::y; }"), Vec::<String>::new());
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*to).to_owned()).or_default();
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        circle(graph).into_keys().collect::<Vec<_>>()
    };
    assert_eq!(graph(&[("a", "b"), ("b", "c")]), Vec::<String>::new());
    assert_eq!(graph(&[("a", "b"), ("b", "c"), ("c", "b"), ("d", "c")]), ["b", "c"]);
}

#[test]
fn crates_depend_only_on_crates_above_them() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).expect("the page");
    let (_, table) = page.split_once("\n## Layout\n").expect("the layout");
    let (table, _) = table.split_once("\n## ").expect("a next section");
    let link = Regex::new(r"\]\(\.\./((?:crates|bench|tests)[a-z/-]*)\)").expect("a pattern");
    let order: Vec<PathBuf> = link.captures_iter(table).map(|found| root().join(&found[1])).collect();
    let name = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
        manifest.lines().find_map(|line| Some(line.strip_prefix("name = \"")?.trim_end_matches('"').to_owned()))
    };
    let names: Vec<String> = order.iter().filter_map(|folder| name(folder)).collect();
    for folder in crates() {
        let name = name(&folder).expect("a manifest");
        let place = names.iter().position(|known| *known == name).expect("docs/architecture.md lists the crate");
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        for below in &names[place + 1..] {
            let is_used = manifest.lines().any(|line| {
                line.starts_with(&format!("{below}.workspace")) || line.starts_with(&format!("{below} = {{"))
            });
            assert!(!is_used, "{name} depends on {below}, which docs/architecture.md lists below it");
        }
    }
}
