//! Derive macros. [docs/derives.md](../../../docs/derives.md) shows what they expand to.
//!
//! The crate `table` re-exports [`macro@Attributes`] as `table::Attributes`. Only the crate `keys`
//! uses [`macro@Key`].

mod attributes;
mod input;
mod key;

use proc_macro::TokenStream;
use syn::{DeriveInput, Error, parse_macro_input};

/// Generates a constant of type `table::Attribute` for each field. The field `added_at` gets the
/// constant `ADDED_AT`. The constant `ATTRIBUTES` lists all of them.
///
/// The value of a constant is the serde name of its field. `#[serde(rename = "…")]` on the field
/// takes precedence over `#[serde(rename_all = "PascalCase")]` on the struct. A constant has the
/// visibility of its field. Fields with `#[serde(flatten)]` or `#[serde(skip)]` get no constant.
///
/// Other `rename_all` rules are compile errors. Different names for serialization and
/// deserialization are compile errors as well.
#[proc_macro_derive(Attributes)]
pub fn attributes(input: TokenStream) -> TokenStream {
    expanded(input, attributes::expand)
}

/// Implements `Display`, `FromStr`, `Serialize` and `Deserialize` for a key type from one format
/// text, `#[key("OPEN#{number}#{payment:PaymentSort}")]`. An enum has a text for each variant.
///
/// - `{number}` stands for the text of a field, and `{0}` for that of a tuple field.
/// - `{payment:PaymentSort}` writes the field as a `PaymentSort`, a tuple struct around its type.
/// - `{scope+}` may contain the text that follows it. The field ends where this text occurs last.
///
/// Parsing accepts exactly the texts that formatting produces. The error is `Invalid::key` with the
/// name of the type, or has the message of `#[invalid("…")]`.
///
/// `#[range(all)]` and `#[range(of_day(day))]` generate functions that return the range of all
/// keys, and of the keys that begin with the given fields. `prefix` returns the text at which such
/// a range begins: it ends with the last `#` before the next field.
#[proc_macro_derive(Key, attributes(key, invalid, range))]
pub fn key(input: TokenStream) -> TokenStream {
    expanded(input, key::expand)
}

/// Implements `function::Input` for a struct whose fields say where they come from:
///
/// - `#[input(path)]`, `query`, `header` and `body` read a field with the name of the struct's
///   field in camel case, or with another name: `#[input(path = "accountId")]`.
/// - `#[input(part)]` reads a field that is itself an `Input`.
///
/// A field of type `Option` is optional. So is one with `default` or `default = <value>`. `via =
/// <type>` reads another type and converts it with `Into`. The documentation of a field is its
/// description in the OpenAPI document.
///
/// `#[input(…)]` on the struct has the options of the whole request:
///
/// - `body`: requests need a body although each member is optional.
/// - `idempotency_key`: requests need the header `Idempotency-Key`.
/// - `page = <limit>`: the request is for a list, with `limit` and `cursor`.
/// - `check = <function>(<fields>)`: calls the function with the `Fields`, and with an
///   `Option<&T>` for each named field. It records faults between fields, also if
///   other fields are invalid.
/// - `schema = <function>`: changes the schema of the body, such as for rules between members.
#[proc_macro_derive(Input, attributes(input))]
pub fn input(input: TokenStream) -> TokenStream {
    expanded(input, input::expand)
}

fn expanded(input: TokenStream, expand: fn(&DeriveInput) -> Result<proc_macro2::TokenStream, Error>) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}
