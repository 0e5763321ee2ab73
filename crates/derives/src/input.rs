//! [`Input`](macro@crate::Input): the fields of a request, from the source of each field.

use proc_macro2::TokenStream as Tokens;
use quote::{ToTokens, format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, GenericArgument, Ident, Lit, LitStr, Member, Meta, Path,
    PathArguments, Token, Type, ext::IdentExt, meta::ParseNestedMeta, parenthesized, punctuated::Punctuated,
};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only structs are inputs"));
    };
    let sources = data.fields.members().zip(&data.fields).map(|(member, field)| Source::of(member, field));
    let sources = sources.collect::<Result<Vec<_>, _>>()?;
    let options = Options::of(&input.attrs)?;
    let needs_body = options.body || sources.iter().any(|source| source.kind == "body" && source.is_required());
    let parts = sources.iter().filter(|source| source.kind == "part").map(Source::wire);
    let reads = sources.iter().map(Source::read);
    let describes = sources.iter().map(Source::describe);
    let fields = sources.iter().map(Source::field);
    let Options { read: more_reads, describe: more_describes, checks, .. } = &options;
    let (generics, types, wheres) = input.generics.split_for_impl();
    let (ident, name) = (&input.ident, input.ident.to_string());
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::function::Input for #ident #types #wheres {
            const BODY: bool = #needs_body #(|| <#parts as ::function::Input>::BODY)*;

            fn read(fields: &mut ::function::Fields) -> Option<Self> {
                #(#more_reads)*
                #(#reads)*
                #(#checks)*
                Some(Self { #(#fields),* })
            }

            fn describe(contract: &mut ::function::Contract) {
                #(#describes)*
                #(#more_describes)*
                contract.name(#name);
            }
        }
    })
}

/// The options of the struct.
#[derive(Default)]
struct Options {
    body: bool,
    read: Vec<Tokens>,
    describe: Vec<Tokens>,
    checks: Vec<Tokens>,
}

impl Options {
    fn of(attributes: &[Attribute]) -> Result<Self, Error> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("input")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("body") {
                    options.body = true;
                } else if meta.path.is_ident("idempotency_key") {
                    options.read.push(quote!(fields.needs_header("idempotency-key");));
                    options.describe.push(quote!(contract.idempotency_key(true);));
                } else if meta.path.is_ident("page") {
                    let limit: Expr = meta.value()?.parse()?;
                    options.read.push(quote!(fields.paging(#limit);));
                    options.describe.push(quote!(contract.paging(#limit);));
                } else if meta.path.is_ident("schema") {
                    let adapt: Path = meta.value()?.parse()?;
                    options.describe.push(quote!(contract.adapt_body(#adapt);));
                } else if meta.path.is_ident("check") {
                    let check: Path = meta.value()?.parse()?;
                    let content;
                    parenthesized!(content in meta.input);
                    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
                    let names = names.iter();
                    options.checks.push(quote!(#check(fields #(, #names.as_ref())*);));
                } else {
                    return Err(meta.error("is not body, idempotency_key, page, schema or check"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

/// A field with its source.
struct Source<'a> {
    kind: String,
    member: Member,
    local: Ident,
    /// The name in the request.
    name: String,
    /// The type without `Option`.
    inner: &'a Type,
    is_optional: bool,
    /// The default of an absent field. Empty if it is that of the type.
    default: Option<Tokens>,
    via: Option<Type>,
    about: String,
}

impl<'a> Source<'a> {
    fn of(member: Member, field: &'a Field) -> Result<Self, Error> {
        let local = match &member {
            Member::Named(name) => name.clone(),
            Member::Unnamed(index) => format_ident!("field_{}", index.index),
        };
        let optional = option_of(&field.ty);
        let mut source = Self {
            kind: String::new(),
            name: camel_case(&local.unraw().to_string()),
            inner: optional.unwrap_or(&field.ty),
            is_optional: optional.is_some(),
            default: None,
            via: None,
            about: about(&field.attrs),
            member,
            local,
        };
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("input")) {
            attribute.parse_nested_meta(|meta| source.option(&meta))?;
        }
        if source.kind.is_empty() {
            return Err(Error::new_spanned(field, "a field has a source: path, query, header, body or part"));
        }
        Ok(source)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<(), Error> {
        const KINDS: [&str; 5] = ["path", "query", "header", "body", "part"];
        let has_value = meta.input.peek(Token![=]);
        if let Some(kind) = KINDS.into_iter().find(|kind| meta.path.is_ident(kind)) {
            kind.clone_into(&mut self.kind);
            if has_value {
                self.name = meta.value()?.parse::<LitStr>()?.value();
            }
        } else if meta.path.is_ident("default") {
            let value = has_value.then(|| meta.value()?.parse::<Expr>()).transpose()?;
            self.default = Some(value.map(Expr::into_token_stream).unwrap_or_default());
        } else if meta.path.is_ident("via") {
            self.via = Some(meta.value()?.parse()?);
        } else {
            return Err(meta.error("is not a source, default or via"));
        }
        Ok(())
    }

    fn is_required(&self) -> bool {
        !self.is_optional && self.default.is_none()
    }

    /// The type that is read.
    fn wire(&self) -> &Type {
        self.via.as_ref().unwrap_or(self.inner)
    }

    fn read(&self) -> Tokens {
        let (local, name, wire) = (&self.local, &self.name, self.wire());
        let into = self.via.as_ref().map(|_| quote!(.map(Into::into)));
        let value = match self.kind.as_str() {
            "part" => quote!(<#wire as ::function::Input>::read(fields)),
            "path" if self.is_required() => quote!(fields.path::<#wire>(#name)),
            "path" => quote!(fields.path_if_any::<#wire>(#name)),
            "query" => quote!(fields.query::<#wire>(#name)),
            "header" => quote!(fields.header::<#wire>(#name)),
            _ if self.is_required() => quote!(fields.body::<#wire>(#name)),
            _ => quote!(fields.body_if_any::<#wire>(#name)),
        };
        quote!(let #local = #value #into;)
    }

    fn field(&self) -> Tokens {
        let (member, local) = (&self.member, &self.local);
        match &self.default {
            Some(default) if default.is_empty() => quote!(#member: #local.unwrap_or_default()),
            Some(default) => quote!(#member: #local.unwrap_or_else(|| #default)),
            None if self.is_optional => quote!(#member: #local),
            None => quote!(#member: #local?),
        }
    }

    fn describe(&self) -> Tokens {
        let (name, about, inner, wire) = (&self.name, &self.about, self.inner, self.wire());
        let default = match &self.default {
            None => quote!(None),
            Some(default) if default.is_empty() => quote!(::serde_json::to_value(<#inner>::default()).ok()),
            Some(default) => quote!(::serde_json::to_value(#default).ok()),
        };
        match self.kind.as_str() {
            "part" => quote!(<#wire as ::function::Input>::describe(contract);),
            "path" => quote!(contract.path::<#wire>(#name, #about);),
            "query" => quote!(contract.query::<#wire>(#name, #about, #default);),
            "header" => quote!(contract.header::<#wire>(#name, #about);),
            _ if self.default.is_some() => quote!(contract.body_or::<#wire>(#name, #about, #default);),
            _ => {
                let is_required = self.is_required();
                quote!(contract.body::<#wire>(#name, #about, #is_required);)
            }
        }
    }
}

/// The type `T` of an `Option<T>`.
fn option_of(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(inner) => Some(inner),
        _ => None,
    })
}

fn camel_case(field: &str) -> String {
    let mut name = String::new();
    for (index, word) in field.split('_').enumerate() {
        let (head, tail) = word.split_at(usize::from(index > 0).min(word.len()));
        name += &head.to_uppercase();
        name += tail;
    }
    name
}

/// The documentation of a field, as one line.
fn about(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) if doc.path.is_ident("doc") => match &doc.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}
