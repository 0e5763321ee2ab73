//! [`Key`](macro@crate::Key): a key type from its format text.

use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Index, LitStr, Member, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

/// A part of a format text.
enum Piece {
    Text(String),
    Field(Box<Part>),
}

/// A field in a format text: `{member}`, `{member:Via}` or `{member+}`.
struct Part {
    member: Member,
    /// The tuple struct that formats the field.
    via: Option<Type>,
    /// Whether the field may contain the text that follows it.
    is_long: bool,
}

impl Part {
    fn parse(text: &str) -> Result<Self, syn::Error> {
        let (name, via) = text.split_once(':').map_or((text, None), |(name, via)| (name, Some(via)));
        let via = via.map(syn::parse_str).transpose()?;
        let (name, is_long) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        Ok(Self { member: syn::parse_str(name)?, via, is_long })
    }

    /// The variable that holds the field.
    fn variable(&self) -> Ident {
        match &self.member {
            Member::Named(name) => name.clone(),
            Member::Unnamed(Index { index, .. }) => format_ident!("field_{index}"),
        }
    }

    /// The field as it is written.
    fn written(&self) -> Tokens {
        let variable = self.variable();
        self.via.as_ref().map_or_else(|| quote!(#variable), |via| quote!(#via(#variable.clone())))
    }

    /// Parses the variable that has the text of the field.
    fn parsed(&self) -> Tokens {
        let variable = self.variable();
        let pattern = self.via.as_ref().map_or_else(|| quote!(#variable), |via| quote!(#via(#variable)));
        quote!(let #pattern = #variable.parse().ok()?;)
    }
}

/// A format text.
struct Format(Vec<Piece>);

impl Format {
    /// Reads `#[key("…")]`.
    fn of(attributes: &[Attribute], at: &Ident) -> Result<Self, Error> {
        let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("key"));
        let literal: LitStr = attribute.ok_or_else(|| Error::new_spanned(at, "needs #[key(\"…\")]"))?.parse_args()?;
        let (text, mut pieces) = (literal.value(), Vec::new());
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (before, after) = rest.split_once('{').map_or((rest, None), |(before, after)| (before, Some(after)));
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            rest = "";
            if let Some(after) = after {
                let end = after.split_once('}');
                let (field, after) = end.ok_or_else(|| Error::new(literal.span(), "a field has no end"))?;
                let field = Part::parse(field).map_err(|error| Error::new(literal.span(), error))?;
                if matches!(pieces.last(), Some(Piece::Field(_))) {
                    return Err(Error::new(literal.span(), "two fields need a text between them"));
                }
                pieces.push(Piece::Field(Box::new(field)));
                rest = after;
            }
        }
        Ok(Self(pieces))
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.0.iter().filter_map(|piece| if let Piece::Field(part) = piece { Some(&**part) } else { None })
    }

    /// The text with the names of the fields.
    fn shown(&self) -> String {
        let shown = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Field(part) => format!("<{}>", part.variable()),
        };
        self.0.iter().map(shown).collect()
    }

    /// Writes the text to `out`.
    fn display(&self) -> Tokens {
        let text: String =
            self.0.iter().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "{}" }).collect();
        let written = self.parts().map(Part::written);
        quote!(write!(out, #text #(, #written)*))
    }

    /// Returns the key whose text is `rest`, in a function that returns an `Option`.
    fn parse(&self, constructor: &Tokens) -> Tokens {
        let mut steps = Vec::new();
        for (at, piece) in self.0.iter().enumerate() {
            let part = match piece {
                Piece::Text(text) if at == 0 => {
                    steps.push(quote!(let rest = rest.strip_prefix(#text)?;));
                    continue;
                }
                // The field before has split it off.
                Piece::Text(_) => continue,
                Piece::Field(part) => part,
            };
            let variable = part.variable();
            steps.push(match self.0.get(at + 1) {
                Some(Piece::Text(text)) if at + 2 == self.0.len() => {
                    quote!(let #variable = rest.strip_suffix(#text)?;)
                }
                Some(Piece::Text(text)) if part.is_long => quote!(let (#variable, rest) = rest.rsplit_once(#text)?;),
                Some(Piece::Text(text)) => quote!(let (#variable, rest) = rest.split_once(#text)?;),
                _ => quote!(let #variable = rest;),
            });
            steps.push(part.parsed());
        }
        let check = if self.parts().next().is_none() {
            quote!(rest.is_empty().then_some(#constructor))
        } else {
            quote!(Some(#constructor))
        };
        quote!({ #(#steps)* #check })
    }

    /// The text before the given number of fields and a format for them, up to the last `#` before
    /// the next field.
    fn prefix(&self, fields: usize) -> String {
        let (mut text, mut seen) = (String::new(), 0);
        for piece in &self.0 {
            match piece {
                Piece::Field(_) if seen == fields => break,
                Piece::Field(_) => {
                    text.push_str("{}");
                    seen += 1;
                }
                Piece::Text(piece) if seen == fields => {
                    text.push_str(piece.rfind('#').map_or(piece, |at| &piece[..=at]));
                }
                Piece::Text(piece) => text.push_str(piece),
            }
        }
        text
    }
}

/// `#[range(name(field, …))]`: a function that returns the range of the keys with these fields.
struct Range {
    name: Ident,
    fields: Punctuated<Ident, Token![,]>,
}

impl Parse for Range {
    fn parse(input: ParseStream<'_>) -> Result<Self, Error> {
        let name = input.parse()?;
        if input.is_empty() {
            return Ok(Self { name, fields: Punctuated::new() });
        }
        let fields;
        parenthesized!(fields in input);
        Ok(Self { name, fields: fields.parse_terminated(Ident::parse, Token![,])? })
    }
}

impl Range {
    /// The function. The fields are the first ones of the format.
    fn function(&self, format: &Format, fields: &Fields) -> Result<Tokens, Error> {
        if self.fields.len() > format.parts().count() {
            return Err(Error::new_spanned(&self.name, "the key has fewer fields"));
        }
        let (mut parameters, mut written, mut shown) = (Vec::new(), Vec::new(), format.prefix(self.fields.len()));
        for (name, part) in self.fields.iter().zip(format.parts()) {
            if part.member != Member::Named(name.clone()) {
                return Err(Error::new_spanned(name, "ranges begin with the first fields of the key"));
            }
            let is_field = |field: &&Field| field.ident.as_ref() == Some(name);
            let of = fields.iter().find(is_field).ok_or_else(|| Error::new_spanned(name, "is not a field"))?;
            let of = &of.ty;
            parameters.push(quote!(#name: &#of));
            written.push(part.written());
            shown = shown.replacen("{}", &format!("<{name}>"), 1);
        }
        let (name, text) = (&self.name, format.prefix(self.fields.len()));
        let doc = format!("The range of the keys that begin with `{shown}`.");
        Ok(quote! {
            #[doc = #doc]
            pub fn #name(#(#parameters),*) -> crate::KeyRange {
                crate::KeyRange::beginning_with(format!(#text #(, #written)*))
            }
        })
    }
}

/// The pattern and constructor of a struct or variant, from the variables of its fields.
fn shape(name: &Tokens, fields: &Fields) -> Tokens {
    let variables =
        fields.iter().enumerate().map(|(at, field)| field.ident.clone().unwrap_or(format_ident!("field_{at}")));
    match fields {
        Fields::Named(_) => quote!(#name { #(#variables),* }),
        Fields::Unnamed(_) => quote!(#name(#(#variables),*)),
        Fields::Unit => name.clone(),
    }
}

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens, Error> {
    let (name, mut ranges, mut formats) = (&input.ident, Vec::new(), Vec::new());
    match &input.data {
        Data::Struct(data) => {
            let format = Format::of(&input.attrs, name)?;
            for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("range")) {
                ranges.push(attribute.parse_args::<Range>()?.function(&format, &data.fields)?);
            }
            formats.push((format, shape(&quote!(Self), &data.fields)));
        }
        Data::Enum(data) => {
            for variant in &data.variants {
                let of = &variant.ident;
                formats.push((Format::of(&variant.attrs, of)?, shape(&quote!(Self::#of), &variant.fields)));
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(name, "only structs and enums are keys")),
    }
    let message = input.attrs.iter().find(|attribute| attribute.path().is_ident("invalid"));
    let message = message.map(Attribute::parse_args::<LitStr>).transpose()?;
    let text = name.to_string();
    let error = message.map_or_else(|| quote!(crate::Invalid::key(#text)), |text| quote!(crate::Invalid::new(#text)));
    let texts: Vec<String> = formats.iter().map(|(format, _)| format!("`{}`", format.shown())).collect();
    let doc = format!("Writes {}.", texts.join(" or "));
    let (displays, shapes) =
        (formats.iter().map(|(format, _)| format.display()), formats.iter().map(|(_, shape)| shape));
    let parses = formats.iter().map(|(format, shape)| format.parse(shape));
    let tries: Vec<Ident> = (1..=formats.len()).map(|at| format_ident!("key_{at}")).collect();
    let (first, others) = tries.split_first().ok_or_else(|| Error::new_spanned(name, "needs a variant"))?;
    let ranges = if ranges.is_empty() { quote!() } else { quote!(impl #name { #(#ranges)* }) };
    Ok(quote! {
        #[doc = #doc]
        #[automatically_derived]
        impl ::std::fmt::Display for #name {
            fn fmt(&self, out: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self { #(#shapes => #displays,)* }
            }
        }

        #[automatically_derived]
        impl ::std::str::FromStr for #name {
            type Err = crate::Invalid;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                #(let #tries = |rest: &str| -> Option<Self> #parses;)*
                #first(text) #(.or_else(|| #others(text)))* .ok_or(#error)
            }
        }

        crate::text::serde_as_text!(#name);

        #ranges
    })
}
