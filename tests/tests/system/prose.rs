//! Checks the prose of the repository: links, line width, the form of the decisions, the origin of
//! measured numbers, and names that were replaced.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
    process::Command,
};
use system_tests::root;

const MAX_WIDTH: usize = 100;
const MAX_README_LINES: usize = 110;
const MAX_DECISIONS: usize = 60;
/// `make docs` writes these pages, one line per fact.
const GENERATED: &str = "docs/access-patterns/";
const DECISION_HEADINGS: [&str; 4] = ["Context", "Options considered", "Decision", "Consequences"];

/// A measured number. Limits and settings have other words: "at most", "up to", "within", "after".
const MEASURED: &str = r"\b(?:[Aa]bout|costs?|had|met|need(?:ed|s)?|ran|runs|takes?|took|used?|uses) [0-9]+";
/// The date and the commit of a measurement.
const ORIGIN: &str = r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\W+(?:at )?commit [0-9a-f]{8}\b";

/// Names that were replaced by a standard term.
const RETIRED_NAMES: [&str; 25] = [
    "CartLine",
    "Ground",
    "Lane",
    "LineBody",
    "LineSort",
    "MOST",
    "MadeOnce",
    "Merged",
    "Milli",
    "NewLine",
    "Newer",
    "NoLine",
    "NoWords",
    "Once",
    "Reached",
    "Seen",
    "Standing",
    "Told",
    "UsesPartition",
    "Words",
    "find_item",
    "leaving",
    "line_of",
    "must_be_a_line",
    "open_lines",
];

/// The text files that git tracks, by path relative to the root.
fn files() -> BTreeMap<String, String> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().expect("git ls-files");
    let paths = String::from_utf8(listed.stdout).expect("UTF-8 paths");
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    let texts = paths.filter_map(|path| Some((path.to_owned(), fs::read_to_string(root().join(path)).ok()?)));
    let texts: BTreeMap<_, _> = texts.collect();
    assert!(texts.contains_key("README.md"), "git lists no files");
    texts
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    Path::new(path).extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted))
}

/// The anchor that GitHub gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

/// A page: the anchors of its headings, its headings by level, and the targets of its links.
struct Page {
    anchors: BTreeSet<String>,
    headings: Vec<String>,
    links: Vec<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { anchors: BTreeSet::new(), headings: Vec::new(), links: Vec::new() };
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let text = heading.take().unwrap_or_default();
                    page.anchors.insert(anchor(&text));
                    page.headings.push(text);
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.to_string());
                }
                _ => {}
            }
        }
        page
    }
}

/// Resolves `..` and `.` in a path without reading the file system.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut found, part| {
        match part {
            Component::ParentDir => {
                found.pop();
            }
            Component::CurDir => {}
            other => found.push(other),
        }
        found
    })
}

/// Returns the reason if `link` in `page` is broken.
fn broken(link: &str, page: &str, pages: &BTreeMap<String, Page>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        PathBuf::from(page)
    } else {
        normal(&Path::new(page).parent().unwrap_or(Path::new("")).join(path))
    };
    if !root().join(&target).exists() {
        return Some(format!("{page}: no file {}", target.display()));
    }
    let known = pages.get(target.to_str()?)?;
    let is_known = fragment.is_empty() || known.anchors.contains(fragment);
    (!is_known).then(|| format!("{page}: no heading #{fragment} in {}", target.display()))
}

fn pages(files: &BTreeMap<String, String>) -> BTreeMap<String, Page> {
    let markdown = files.iter().filter(|(path, _)| has_extension(path, &["md"]));
    markdown.map(|(path, text)| (path.clone(), Page::read(text))).collect()
}

#[test]
fn links_lead_to_existing_files_and_headings() {
    let files = files();
    let pages = pages(&files);
    let mut faults = Vec::new();
    for (path, page) in &pages {
        faults.extend(page.links.iter().filter_map(|link| broken(link, path, &pages)));
    }
    // Comments name pages by their path from the root, or by a relative link.
    let named =
        regex_lite::Regex::new(r"(?:\.\./)*docs/[A-Za-z0-9_/.-]+\.(?:md|yaml|svg)(?:#[a-z0-9-]+)?").expect("a pattern");
    let mut count = 0;
    for (path, text) in files.iter().filter(|(path, _)| !has_extension(path, &["md", "svg"])) {
        for link in named.find_iter(text).map(|found| found.as_str()) {
            count += 1;
            let from = if link.starts_with("..") { path } else { "README.md" };
            faults.extend(broken(link, from, &pages).map(|fault| format!("{fault}, named in {path}")));
        }
    }
    assert!(count > 50, "only {count} pages are named in comments");
    assert_eq!(faults, Vec::<String>::new());
}

/// The lines of a page, without code and generated parts.
fn lines_of_page(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut in_code, mut generated) = (false, false);
    text.lines().enumerate().filter(move |(_, line)| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        generated = (generated || line.starts_with("<!-- written by")) && !line.starts_with("<!-- end -->");
        !in_code && !generated
    })
}

/// The lines of prose of a page, without tables and images.
fn prose_of_page(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines_of_page(text).filter(|(_, line)| !line.starts_with(['|', '!']))
}

/// The comments of a source file, without table rows.
fn comments<'a>(path: &str, text: &'a str) -> Box<dyn Iterator<Item = (usize, &'a str)> + 'a> {
    let marks: &[&str] = match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("rs") => &["//"],
        Some("sql") => &["--"],
        Some("py" | "yaml" | "yml" | "toml" | "sh") => &["# "],
        _ => return Box::new(std::iter::empty()),
    };
    let lines = text.lines().enumerate();
    Box::new(lines.filter(move |(_, line)| {
        let line = line.trim_start();
        marks.iter().any(|mark| line.starts_with(mark)) && !line.contains(" | ")
    }))
}

#[test]
fn prose_is_at_most_100_columns_wide() {
    let mut faults = Vec::new();
    for (path, text) in files().iter().filter(|(path, _)| !path.starts_with(GENERATED)) {
        let lines: Box<dyn Iterator<Item = (usize, &str)>> =
            if has_extension(path, &["md"]) { Box::new(prose_of_page(text)) } else { comments(path, text) };
        let wide = lines.filter(|(_, line)| line.chars().count() > MAX_WIDTH);
        // A link or a command cannot be wrapped.
        let wide = wide.filter(|(_, line)| line.split_whitespace().all(|word| word.chars().count() < MAX_WIDTH - 20));
        faults.extend(wide.map(|(number, _)| format!("{path}:{}", number + 1)));
    }
    assert_eq!(faults, Vec::<String>::new());
}

/// The text of each section of a page, in one line.
fn sections(text: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    for (_, line) in lines_of_page(text) {
        if line.starts_with('#') {
            sections.push(String::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push_str(line.trim());
            section.push(' ');
        }
    }
    sections
}

#[test]
fn measured_numbers_have_a_date_and_a_commit() {
    let measured = regex_lite::Regex::new(MEASURED).expect("a pattern");
    let origin = regex_lite::Regex::new(ORIGIN).expect("a pattern");
    let (mut dated, mut faults) = (0, Vec::new());
    for (path, text) in files() {
        let is_in_docs = path.starts_with("docs/") && path.matches('/').count() == 1 && has_extension(&path, &["md"]);
        // `make bench` writes these pages from files of results.
        let is_generated = ["docs/performance.md", "docs/numbers.md"].contains(&path.as_str());
        if path != "README.md" && (!is_in_docs || is_generated) {
            continue;
        }
        for section in sections(&text) {
            match measured.find(&section) {
                Some(_) if origin.is_match(&section) => dated += 1,
                Some(found) => faults.push(format!("{path}: {}", found.as_str())),
                None => {}
            }
        }
    }
    assert!(dated > 0, "no section has a measured number");
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).expect("the README").lines().count();
    assert!(lines <= MAX_README_LINES, "{lines} lines");
}

#[test]
fn decisions_have_one_form_and_are_in_the_index_and_linked_from_code() {
    let files = files();
    let index = &files["docs/decisions/README.md"];
    let code: Vec<&String> = files
        .iter()
        .filter(|(path, _)| !path.starts_with("docs/") && !has_extension(path, &["md"]))
        .map(|(_, text)| text)
        .collect();
    let mut faults = Vec::new();
    let mut pages = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.starts_with("docs/decisions/")) {
        let name = path.trim_start_matches("docs/decisions/");
        if name == "README.md" {
            continue;
        }
        pages += 1;
        // A page with one decision has its title. A page with several has a title for each.
        let headings = Page::read(text).headings;
        let decisions = if headings.len() == 1 + DECISION_HEADINGS.len() { &headings[..] } else { &headings[1..] };
        let mut each = decisions.chunks(1 + DECISION_HEADINGS.len());
        if !each.all(|decision| decision[1..] == DECISION_HEADINGS) {
            faults.push(format!("{name}: the headings are {headings:?}"));
        }
        let dates = text.lines().filter(|line| line.starts_with("Date: 20")).count();
        if dates != decisions.len() / (1 + DECISION_HEADINGS.len()) {
            faults.push(format!("{name}: {dates} dates of {} headings", decisions.len()));
        }
        if !index.contains(&format!("]({name})")) {
            faults.push(format!("{name}: not in the index"));
        }
        if !code.iter().any(|text| text.contains(&format!("docs/decisions/{name}"))) {
            faults.push(format!("{name}: not linked from code"));
        }
    }
    if pages > MAX_DECISIONS {
        faults.push(format!("{pages} pages"));
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn no_retired_name_remains() {
    let names = regex_lite::Regex::new(&format!(r"\b(?:{})\b", RETIRED_NAMES.join("|"))).expect("a pattern");
    let mut faults = Vec::new();
    for (path, text) in files() {
        let is_code = has_extension(&path, &["rs", "yaml", "json"]) && !path.ends_with("system/prose.rs");
        if !is_code {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            // Quoted text may use any word.
            let code = code.split('"').step_by(2).collect::<Vec<_>>().join(" ");
            faults.extend(names.find(&code).map(|found| format!("{path}:{}: {}", number + 1, found.as_str())));
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}
