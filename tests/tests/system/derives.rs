//! Tests that docs/derives.md shows what the derive macros expand to. Its blocks of code are items,
//! each followed by its expansion.

#[path = "../../../crates/derives/src/attributes.rs"]
mod attributes;
#[path = "../../../crates/derives/src/input.rs"]
mod input;
#[path = "../../../crates/derives/src/key.rs"]
mod key;

use proc_macro2::TokenStream;
use syn::{DeriveInput, parse_str};
use system_tests::root;

#[test]
fn the_page_shows_the_expansions() {
    let page = std::fs::read_to_string(root().join("docs/derives.md")).expect("a page");
    let blocks: Vec<&str> =
        page.split("```rust\n").skip(1).map(|block| block.split("```").next().expect("a block")).collect();
    assert!(blocks.len() >= 4 && blocks.len().is_multiple_of(2), "items and expansions");
    for pair in blocks.chunks_exact(2) {
        let parsed: DeriveInput = parse_str(pair[0]).expect("an item");
        let expanded = match pair[0] {
            item if item.contains("#[key(") => key::expand(&parsed),
            item if item.contains("#[input(") => input::expand(&parsed),
            _ => attributes::expand(&parsed),
        };
        let shown: TokenStream = pair[1].parse().expect("code");
        let expanded = expanded.map(|code| code.to_string()).expect("an expansion");
        assert_eq!(tokens(&shown.to_string()), tokens(&expanded), "{}\n{expanded}", pair[0]);
    }
}

/// The code without what rustfmt adds and removes.
fn tokens(code: &str) -> String {
    code.replace([',', '{', '}', ' ', '\n'], "")
}

/// A mistake is an error at the place of the mistake.
#[test]
fn mistakes_are_compile_errors() {
    for (item, error) in [
        ("struct A(B);", "needs #[key(\"…\")]"),
        ("#[key(\"A#{0}{1}\")] struct A(B, C);", "two fields need a text between them"),
        (
            "#[key(\"A#{a}#{b}\")] #[range(of(b))] struct A { a: B, b: B }",
            "ranges begin with the first fields of the key",
        ),
        ("#[key(\"A#{a}\")] #[range(of(a))] struct A { b: B }", "is not a field"),
        ("#[key(\"A#{0\")] struct A(B);", "a field has no end"),
        ("#[key(\"A#{a}\")] #[range(of(a, b))] struct A { a: B }", "the key has fewer fields"),
        ("#[key(\"A\")] union A { b: B }", "only structs and enums are keys"),
    ] {
        let item: DeriveInput = parse_str(item).expect("an item");
        assert_eq!(key::expand(&item).expect_err(error).to_string(), error);
    }
    for (item, error) in [
        ("enum A { B }", "only structs have attributes"),
        ("struct A(B);", "only structs with named fields have attributes"),
        ("#[serde(rename_all = \"camelCase\")] struct A { b: B }", "the only supported rule is PascalCase"),
    ] {
        let item: DeriveInput = parse_str(item).expect("an item");
        assert_eq!(attributes::expand(&item).expect_err(error).to_string(), error);
    }
    for (item, error) in [
        ("enum A { B }", "only structs are inputs"),
        ("struct A { b: B }", "a field has a source: path, query, header, body or part"),
        ("struct A { #[input(cookie)] b: B }", "is not a source, default or via"),
        ("#[input(limit = 5)] struct A;", "is not body, idempotency_key, page, schema or check"),
    ] {
        let item: DeriveInput = parse_str(item).expect("an item");
        assert_eq!(input::expand(&item).expect_err(error).to_string(), error);
    }
}
