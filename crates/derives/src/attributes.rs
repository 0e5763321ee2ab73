//! [`Attributes`](macro@crate::Attributes): the names of DynamoDB attributes, from the serde
//! attributes of an item struct.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, LitStr, ext::IdentExt, meta::ParseNestedMeta};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only structs have attributes"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&input.ident, "only structs with named fields have attributes"));
    };
    let pascal_case = is_pascal_case(&input.attrs)?;
    let constants = fields.named.iter().map(|field| constant(field, pascal_case)).collect::<Result<Vec<_>, _>>()?;
    let (constants, names): (Vec<_>, Vec<_>) = constants.into_iter().flatten().unzip();
    let (generics, types, wheres) = input.generics.split_for_impl();
    let name = &input.ident;
    Ok(quote! {
        #[automatically_derived]
        #[allow(dead_code, clippy::disallowed_methods)]
        impl #generics #name #types #wheres {
            #(#constants)*
            /// The attributes of the fields, in order.
            pub const ATTRIBUTES: &'static [::table::Attribute] = &[#(Self::#names),*];
        }
    })
}

/// Returns whether the struct has `rename_all = "PascalCase"`. Any other rule is an error.
fn is_pascal_case(attributes: &[Attribute]) -> Result<bool, Error> {
    let mut found = false;
    for_each_serde_meta(attributes, |meta| {
        if meta.path.is_ident("rename_all") {
            let rule: LitStr = meta.value()?.parse()?;
            if rule.value() != "PascalCase" {
                return Err(Error::new_spanned(rule, "the only supported rule is PascalCase"));
            }
            found = true;
            return Ok(());
        }
        skip_value(meta)
    })?;
    Ok(found)
}

fn constant(field: &Field, pascal_case: bool) -> Result<Option<(Tokens, Ident)>, Error> {
    let Some(ident) = &field.ident else { return Ok(None) };
    let (mut renamed, mut is_attribute) = (None, true);
    for_each_serde_meta(&field.attrs, |meta| {
        if meta.path.is_ident("rename") {
            renamed = Some(meta.value()?.parse::<LitStr>()?.value());
            return Ok(());
        }
        is_attribute &= !meta.path.is_ident("flatten") && !meta.path.is_ident("skip");
        skip_value(meta)
    })?;
    if !is_attribute {
        return Ok(None);
    }
    let written = renamed.unwrap_or_else(|| serde_name(ident, pascal_case));
    let name = format_ident!("{}", ident.unraw().to_string().to_uppercase(), span = ident.span());
    let (visibility, doc) = (&field.vis, format!("The attribute `{written}`."));
    let constant = quote! {
        #[doc = #doc]
        #visibility const #name: ::table::Attribute = ::table::Attribute::of_field(#written);
    };
    Ok(Some((constant, name)))
}

/// Returns the serde name of a field that has no `rename`.
fn serde_name(ident: &Ident, pascal_case: bool) -> String {
    let field = ident.unraw().to_string();
    if !pascal_case {
        return field;
    }
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
    };
    field.split('_').map(capitalized).collect()
}

fn for_each_serde_meta(
    attributes: &[Attribute],
    mut visit: impl FnMut(&ParseNestedMeta<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    serde.into_iter().try_for_each(|attribute| attribute.parse_nested_meta(|meta| visit(&meta)))
}

/// Skips an option that does not affect names, with its value.
fn skip_value(meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
    if meta.input.peek(syn::Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    }
    Ok(())
}
