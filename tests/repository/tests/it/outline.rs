//! What is public in a source file, without bodies and without documentation.

use std::collections::BTreeSet;

use syn::{Attribute, Block, Field, Fields, ImplItem, Item, ItemImpl, ItemMacro, TraitItem, Type, Visibility, parse_quote};

/// The types of a file that others cannot name.
pub(crate) fn private_types(source: &str) -> syn::Result<Vec<String>> {
    let private = |item: &Item| match item {
        Item::Enum(known) if !is_public(&known.vis) => Some(known.ident.to_string()),
        Item::Struct(known) if !is_public(&known.vis) => Some(known.ident.to_string()),
        Item::Trait(known) if !is_public(&known.vis) => Some(known.ident.to_string()),
        _ => None,
    };
    Ok(syn::parse_file(source)?.items.iter().filter_map(private).collect())
}

/// The public items of a file, formatted; empty when there are none.
pub(crate) fn outline(source: &str, private: &BTreeSet<String>) -> syn::Result<String> {
    let file = syn::parse_file(source)?;
    let is_private = |item: &Item| matches!(item, Item::Impl(known) if names(known).any(|name| private.contains(&name)));
    let items: Vec<Item> = file.items.into_iter().filter(|item| !is_private(item)).filter_map(public).collect();
    Ok(prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items }))
}

/// The type that something is implemented for, and the trait.
fn names(known: &ItemImpl) -> impl Iterator<Item = String> {
    let of_type = match &*known.self_ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => None,
    };
    let of_trait = known.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()).map(|last| last.ident.to_string());
    of_type.into_iter().chain(of_trait)
}

/// An item as others see it; `None` when they do not.
fn public(mut item: Item) -> Option<Item> {
    if is_hidden(attributes(&item)?) {
        return None;
    }
    match &mut item {
        Item::Const(known) => is_public(&known.vis).then(|| *known.expr = parse_quote!(..))?,
        Item::Static(known) => is_public(&known.vis).then(|| *known.expr = parse_quote!(..))?,
        Item::Fn(known) => is_public(&known.vis).then(|| *known.block = empty())?,
        Item::Type(known) => is_public(&known.vis).then_some(())?,
        Item::Use(known) => is_public(&known.vis).then_some(())?,
        Item::Union(known) => is_public(&known.vis).then_some(())?,
        Item::TraitAlias(known) => is_public(&known.vis).then_some(())?,
        Item::Struct(known) => {
            is_public(&known.vis).then_some(())?;
            visible(&mut known.fields);
        }
        Item::Enum(known) => {
            is_public(&known.vis).then_some(())?;
            known.variants.iter_mut().for_each(|variant| {
                variant.attrs.clear();
                variant.fields.iter_mut().for_each(|field| field.attrs.clear());
            });
        }
        Item::Trait(known) => {
            is_public(&known.vis).then_some(())?;
            known.items.iter_mut().for_each(declared);
        }
        Item::Impl(known) => implemented(known)?,
        Item::Mod(known) => {
            is_public(&known.vis).then_some(())?;
            if let Some((_, items)) = &mut known.content {
                *items = std::mem::take(items).into_iter().filter_map(public).collect();
            }
        }
        // What a macro makes is shown as it is called, if it has a name that begins with a letter: `id! { … }`.
        Item::Macro(known) => called(known)?,
        _ => return None,
    }
    keep_shape(&mut item);
    Some(item)
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => return None,
    })
}

/// Of the attributes only those stay that change what users may do.
fn keep_shape(item: &mut Item) {
    let attributes = match item {
        Item::Const(item) => &mut item.attrs,
        Item::Enum(item) => &mut item.attrs,
        Item::Fn(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        Item::Macro(item) => &mut item.attrs,
        Item::Mod(item) => &mut item.attrs,
        Item::Static(item) => &mut item.attrs,
        Item::Struct(item) => &mut item.attrs,
        Item::Trait(item) => &mut item.attrs,
        Item::Type(item) => &mut item.attrs,
        Item::Use(item) => &mut item.attrs,
        _ => return,
    };
    attributes.retain(|attribute| ["cfg", "derive", "non_exhaustive", "must_use"].iter().any(|name| attribute.path().is_ident(name)));
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether something is for tests or not for users.
fn is_hidden(attributes: &[Attribute]) -> bool {
    let says = |attribute: &Attribute, name: &str, word: &str| {
        attribute.path().is_ident(name) && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == word)
    };
    attributes
        .iter()
        .any(|attribute| says(attribute, "cfg", "test") || says(attribute, "doc", "hidden") || says(attribute, "cfg", "doctest"))
}

fn empty() -> Block {
    parse_quote!({})
}

/// Leaves the public fields. Private ones of a tuple keep their place.
fn visible(fields: &mut Fields) {
    match fields {
        Fields::Named(named) => {
            let all = std::mem::take(&mut named.named);
            named.named = all.into_iter().filter(|field| is_public(&field.vis)).map(bare).collect();
        }
        Fields::Unnamed(unnamed) => unnamed.unnamed.iter_mut().for_each(|field| {
            field.attrs.clear();
            if !is_public(&field.vis) {
                field.ty = parse_quote!(_);
            }
        }),
        Fields::Unit => {}
    }
}

fn bare(mut field: Field) -> Field {
    field.attrs.clear();
    field
}

/// An item of a trait, without what it does by default.
fn declared(item: &mut TraitItem) {
    match item {
        TraitItem::Fn(method) => {
            method.attrs.clear();
            method.default = method.default.take().map(|_| empty());
        }
        TraitItem::Const(known) => known.attrs.clear(),
        TraitItem::Type(known) => known.attrs.clear(),
        _ => {}
    }
}

/// The public methods of a type, or that it implements a trait. `None` when there is nothing to see.
fn implemented(known: &mut ItemImpl) -> Option<()> {
    if known.trait_.is_some() {
        // Which traits a type implements is API; how is not.
        known.items.retain(|item| matches!(item, ImplItem::Type(_)));
        return Some(());
    }
    let items = std::mem::take(&mut known.items);
    known.items = items.into_iter().filter_map(method).collect();
    (!known.items.is_empty()).then_some(())
}

fn method(mut item: ImplItem) -> Option<ImplItem> {
    match &mut item {
        ImplItem::Fn(known) if is_public(&known.vis) && !is_hidden(&known.attrs) => {
            known.attrs.retain(|attribute| attribute.path().is_ident("cfg"));
            known.block = empty();
        }
        ImplItem::Const(known) if is_public(&known.vis) && !is_hidden(&known.attrs) => {
            known.attrs.clear();
            known.expr = parse_quote!(..);
        }
        _ => return None,
    }
    Some(item)
}

/// A macro that is called for its items; those that define macros or have no effect outside are left out.
fn called(known: &mut ItemMacro) -> Option<()> {
    let name = known.mac.path.segments.last()?.ident.to_string();
    (!["macro_rules", "thread_local", "pin_project"].contains(&&*name)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_see_is_listed_without_bodies_and_words() {
        let source = "
            /// Words.
            #[derive(Clone)] pub struct A { pub b: u8, c: u8 }
            impl A { pub fn d(&self) -> u8 { self.c } fn e(&self) {} }
            impl Drop for A { fn drop(&mut self) {} }
            impl A { fn hidden(&self) {} }
            pub(crate) fn f() {}
            #[doc(hidden)] pub fn g() {}
            #[cfg(test)] mod tests { pub fn h() {} }
            struct I;
            impl Clone for I { fn clone(&self) -> Self { I } }
        ";
        let private: BTreeSet<_> = private_types(source).unwrap().into_iter().collect();
        assert!(private.iter().eq(["I"]));
        let expected =
            "#[derive(Clone)]\npub struct A {\n    pub b: u8,\n}\nimpl A {\n    pub fn d(&self) -> u8 {}\n}\nimpl Drop for A {}\n";
        assert_eq!(outline(source, &private).unwrap(), expected);
    }
}
