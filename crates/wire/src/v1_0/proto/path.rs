//! Where in a message a wrong field is.

use std::fmt::Display;

use chancery_core::{Error, Result};

/// Puts a field name before what went wrong inside that field.
pub(crate) fn within<T>(field: impl Display, inner: Result<T>) -> Result<T> {
    inner.map_err(|error| below(&field, &error))
}

/// Reads every element of a repeated field.
pub(crate) fn each<T, U>(field: &str, items: Vec<T>, read: impl Fn(T) -> Result<U>) -> Result<Vec<U>> {
    items.into_iter().enumerate().map(|(at, item)| within(format_args!("{field}[{at}]"), read(item))).collect()
}

#[cold]
fn below(field: &dyn Display, error: &Error) -> Error {
    let path = |inner: &str| if inner.is_empty() { field.to_string() } else { format!("{field}.{inner}") };
    let outer = Error::new(error.kind(), error.message());
    error.violations().iter().fold(outer, |outer, violation| outer.violation(path(&violation.field), &violation.description))
}
