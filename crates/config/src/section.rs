//! One table of a configuration file, read key by key; each value knows where it stands.

use std::{borrow::Cow, collections::BTreeMap, fmt::Write as _, ops::Range, time::Duration};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    error::Error,
    quantity::{duration, size},
};

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The text of a file and the variables around it.
pub(crate) struct Document<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
    pub(crate) variables: &'t BTreeMap<String, String>,
}

/// The keys that a table may have.
pub(crate) struct Keys {
    /// What is read.
    pub(crate) known: Cow<'static, [&'static str]>,
    /// What will be read by a later release, and is refused until then.
    pub(crate) later: &'static [&'static str],
}

impl Keys {
    pub(crate) const fn new(known: &'static [&'static str], later: &'static [&'static str]) -> Self {
        Self { known: Cow::Borrowed(known), later }
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Value<T> {
    pub(crate) value: T,
    place: Place,
}

#[derive(Debug, Clone)]
enum Place {
    Span(Range<usize>),
    Variable(String),
}

/// A table that is being read.
pub(crate) struct Section<'d, 't> {
    document: &'d Document<'t>,
    /// As it is written in the file: `[server]`.
    title: &'static str,
    /// The beginning of the variables that come before the file: `A2A_SERVER_`.
    prefix: Option<String>,
    pub(crate) span: Range<usize>,
    table: DeTable<'t>,
}

impl<'t> Document<'t> {
    /// Something is wrong at a place.
    pub(crate) fn error_at(&self, span: &Range<usize>, what: impl Into<String>) -> Error {
        Error::at(self.file, self.text, span, what)
    }

    /// Replaces each `${NAME}` by the variable.
    fn expand(&self, text: &str, place: &Place) -> Result<String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else {
                return Err(self.error(place, "\"${\" has no closing \"}\""));
            };
            let value = self.variables.get(name).ok_or_else(|| self.error(place, format!("the variable {name} is not set")))?;
            // Writing to a string does not fail.
            let _ = write!(out, "{before}{value}");
            rest = behind;
        }
        out.push_str(rest);
        Ok(out)
    }

    fn error(&self, place: &Place, what: impl Into<String>) -> Error {
        match place {
            Place::Span(span) => self.error_at(span, what),
            Place::Variable(name) => Error::of_variable(name.clone(), what),
        }
    }
}

impl<'d, 't> Section<'d, 't> {
    /// A table of which every key must be known. Variables are looked at for tables that exist once.
    pub(crate) fn open(
        document: &'d Document<'t>,
        title: &'static str,
        table: DeTable<'t>,
        span: Range<usize>,
        keys: &Keys,
        variables: bool,
    ) -> Result<Self> {
        let prefix = variables.then(|| format!("A2A_{}_", title.trim_matches(['[', ']']).to_ascii_uppercase()));
        // The table is sorted by name; the first in the file is the one to speak of.
        let strange = table.keys().filter(|key| !keys.known.contains(&key.get_ref().as_ref())).min_by_key(|key| key.span().start);
        if let Some(key) = strange {
            let name = key.get_ref().as_ref();
            if keys.later.contains(&name) {
                let what = format!("the key {name:?} of {title} is not supported in this release");
                return Err(document.error_at(&key.span(), what).with_hint("remove it, or wait for a later release"));
            }
            let error = document.error_at(&key.span(), format!("{title} has no key {name:?}"));
            return Err(error.suggest(name, keys.known.iter().copied()));
        }
        Ok(Self { document, title, prefix, span, table })
    }

    /// A text, with variables put in.
    pub(crate) fn text(&mut self, key: &str) -> Result<Option<Value<String>>> {
        let Some(Value { value, place }) = self.take(key) else { return Ok(None) };
        match value {
            DeValue::String(text) => {
                let value = self.document.expand(&text, &place)?;
                Ok(Some(Value { value, place }))
            }
            other => Err(self.mistyped(key, "a string", &other, &place)),
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, key: &str) -> Result<Option<Value<Vec<Value<String>>>>> {
        let Some(Value { value, place }) = self.take(key) else { return Ok(None) };
        let items = match (value, &place) {
            (DeValue::Array(items), _) => items.into_iter().collect::<Vec<_>>(),
            (DeValue::String(list), Place::Variable(_)) => {
                let words = list.split(',').map(|word| Spanned::new(0..0, DeValue::String(Cow::Owned(word.trim().to_owned()))));
                words.collect()
            }
            (DeValue::String(text), _) => {
                let error = self.mistyped(key, "a list of strings", &DeValue::String(Cow::Borrowed("")), &place);
                return Err(error.with_hint(format!("write {key} = {}", listed(key, &text))));
            }
            (other, _) => return Err(self.mistyped(key, "a list of strings", &other, &place)),
        };
        let mut texts = Vec::new();
        for item in items {
            let own = if matches!(place, Place::Span(_)) { Place::Span(item.span()) } else { place.clone() };
            match item.into_inner() {
                DeValue::String(text) => texts.push(Value { value: self.document.expand(&text, &own)?, place: own }),
                other => return Err(self.mistyped(key, "a list of strings", &other, &own)),
            }
        }
        Ok(Some(Value { value: texts, place }))
    }

    /// Yes or no.
    pub(crate) fn flag(&mut self, key: &str) -> Result<Option<Value<bool>>> {
        let Some(Value { value, place }) = self.take(key) else { return Ok(None) };
        let value = match (&value, &place) {
            (DeValue::Boolean(flag), _) => *flag,
            (DeValue::String(text), Place::Variable(_)) if text == "true" => true,
            (DeValue::String(text), Place::Variable(_)) if text == "false" => false,
            (other, _) => return Err(self.mistyped(key, "true or false", other, &place)),
        };
        Ok(Some(Value { value, place }))
    }

    /// A whole number that is at least one.
    pub(crate) fn count(&mut self, key: &str) -> Result<Option<Value<usize>>> {
        let Some(Value { value, place }) = self.take(key) else { return Ok(None) };
        let number = match (&value, &place) {
            (DeValue::Integer(number), _) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok(),
            (DeValue::String(text), Place::Variable(_)) => text.parse().ok(),
            (other, _) => return Err(self.mistyped(key, "a whole number", other, &place)),
        };
        match number.and_then(|number| usize::try_from(number).ok()).filter(|number| *number > 0) {
            Some(value) => Ok(Some(Value { value, place })),
            None => Err(self.document.error(&place, format!("{key} must be a whole number of at least 1"))),
        }
    }

    /// A length of time.
    pub(crate) fn duration(&mut self, key: &str) -> Result<Option<Value<Duration>>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        let value = self.measured(key, &text)?;
        Ok(Some(Value { value, place: text.place }))
    }

    /// A list of lengths of time.
    pub(crate) fn durations(&mut self, key: &str) -> Result<Option<Vec<Duration>>> {
        let Some(texts) = self.texts(key)? else { return Ok(None) };
        texts.value.iter().map(|text| self.measured(key, text)).collect::<Result<_>>().map(Some)
    }

    /// A number of bytes.
    pub(crate) fn size(&mut self, key: &str) -> Result<Option<Value<u64>>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        match size(&text.value) {
            Some(value) => Ok(Some(Value { value, place: text.place })),
            None => {
                let what = format!("{key} must be a size, not {:?}", text.value);
                Err(self.error(&text, what).with_hint("write it like \"512\", \"64k\" or \"16MiB\""))
            }
        }
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&mut self, key: &str, choices: &[(&'static str, T)]) -> Result<Option<Value<T>>> {
        let Some(text) = self.text(key)? else { return Ok(None) };
        self.choose(key, text, choices).map(Some)
    }

    /// Some of a few words.
    pub(crate) fn choices<T: Copy>(&mut self, key: &str, choices: &[(&'static str, T)]) -> Result<Option<Vec<T>>> {
        let Some(texts) = self.texts(key)? else { return Ok(None) };
        if texts.value.is_empty() {
            return Err(self.error(&texts, format!("{key} must not be empty")));
        }
        texts.value.into_iter().map(|text| self.choose(key, text, choices).map(|chosen| chosen.value)).collect::<Result<_>>().map(Some)
    }

    /// Something is wrong with a value.
    pub(crate) fn error<T>(&self, value: &Value<T>, what: impl Into<String>) -> Error {
        self.document.error(&value.place, what)
    }

    /// Something is wrong at a place of the file.
    pub(crate) fn error_at(&self, span: &Range<usize>, what: impl Into<String>) -> Error {
        self.document.error_at(span, what)
    }

    /// Something is wrong with the table as a whole.
    pub(crate) fn table_error(&self, what: impl Into<String>) -> Error {
        self.document.error_at(&self.span, what)
    }

    /// Whether the key is there, and where.
    pub(crate) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.table.keys().find(|known| known.get_ref().as_ref() == key).map(Spanned::span)
    }

    fn measured(&self, key: &str, text: &Value<String>) -> Result<Duration> {
        duration(&text.value).ok_or_else(|| {
            let what = format!("{key} must be a duration, not {:?}", text.value);
            self.error(text, what).with_hint("write it like 500ms, 2s, 5m or 1h30m")
        })
    }

    fn choose<T: Copy>(&self, key: &str, text: Value<String>, choices: &[(&'static str, T)]) -> Result<Value<T>> {
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text.value) {
            return Ok(Value { value: *value, place: text.place });
        }
        let names: Vec<_> = choices.iter().map(|(name, _)| format!("{name:?}")).collect();
        let error = self.error(&text, format!("{key} must be {}, not {:?}", names.join(" or "), text.value));
        Err(error.suggest(&text.value, choices.iter().map(|(name, _)| *name)))
    }

    fn take(&mut self, key: &str) -> Option<Value<DeValue<'t>>> {
        let own = self.table.remove(key).map(|value| Value { place: Place::Span(value.span()), value: value.into_inner() });
        let variable = self.prefix.as_ref().map(|prefix| format!("{prefix}{}", key.to_ascii_uppercase()));
        let set = variable.and_then(|name| self.document.variables.get(&name).map(|text| (name, text.clone())));
        match set {
            Some((name, text)) => Some(Value { value: DeValue::String(Cow::Owned(text)), place: Place::Variable(name) }),
            None => own,
        }
    }

    fn mistyped(&self, key: &str, expected: &str, got: &DeValue<'_>, place: &Place) -> Error {
        self.document.error(place, format!("{key} of {} must be {expected}, not {}", self.title, kind(got)))
    }
}

/// A text as the list that was probably meant.
fn listed(key: &str, text: &str) -> String {
    let words = match key {
        // What only a shell understands is given to one.
        "command" if text.contains(['|', '&', ';', '<', '>', '$', '`', '*', '\\']) => {
            vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()]
        }
        "command" => shell_words(text),
        _ => text.split(',').map(|word| word.trim().to_owned()).collect(),
    };
    let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(", "))
}

/// The words of a command line, as a shell splits it.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The kind of a value, in words.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_command_line_is_suggested_as_its_words() {
        for (line, expected) in [
            ("wc -w", r#"["wc", "-w"]"#),
            ("grep -c 'two words' \"\" a", r#"["grep", "-c", "two words", "", "a"]"#),
            ("tr a b | sort", r#"["sh", "-c", "tr a b | sort"]"#),
        ] {
            assert_eq!(listed("command", line), expected, "{line}");
        }
        assert_eq!(listed("versions", "1.0, 0.3"), r#"["1.0", "0.3"]"#);
    }
}
