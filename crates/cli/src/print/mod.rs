//! What is printed: results on stdout, talk on stderr.
//!
//! stdout never carries an escape byte. A result is text (labels and blocks), one JSON document, JSON
//! lines, or a table; which of them is the user's choice, not the command's.

pub(crate) mod card;
mod filter;
pub(crate) mod live;
mod notes;
mod progress;
mod table;
pub(crate) mod task;
pub(crate) mod text;
pub(crate) mod wrap;

use std::{io::Write as _, sync::Arc};

use chancery_core::sync::Mutex;
use serde::Serialize;

pub(crate) use self::{notes::Notes, progress::Progress, table::Table, text::Text};
use crate::{
    print::filter::Filter,
    settings::{Form, Settings},
    trouble::{Told, Trouble},
};

/// Prints results.
#[derive(Debug)]
pub(crate) struct Printer {
    pub(crate) form: Form,
    /// Whether every object is one line.
    lines: bool,
    filter: Option<Filter>,
    notes: Arc<Notes>,
    /// The first thing that could not be written: nobody reads any more.
    closed: Mutex<bool>,
}

impl Printer {
    /// A printer as the settings want it.
    pub(crate) fn new(settings: &Settings, notes: Arc<Notes>) -> Result<Self, Trouble> {
        let filter = settings.jq.as_deref().map(Filter::new).transpose()?;
        let form = if filter.is_some() && settings.form == Form::Text { Form::Json } else { settings.form };
        Ok(Self { form, lines: settings.stream || settings.compact, filter, notes, closed: Mutex::default() })
    }

    /// A printer for errors of arguments, when the settings could not be read.
    pub(crate) fn plain(form: Form, lines: bool, notes: Arc<Notes>) -> Self {
        Self { form, lines, filter: None, notes, closed: Mutex::default() }
    }

    /// Whether results are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.form == Form::Json
    }

    /// Prints a result in whatever form it is wanted: the document as JSON, or what `text` makes of it.
    pub(crate) fn result(&self, document: &impl Serialize, text: impl FnOnce(&mut Text)) -> Result<(), Trouble> {
        if self.is_json() {
            return self.document(document);
        }
        let mut made = Text::default();
        text(&mut made);
        self.text(&made)
    }

    /// As [`result`](Self::result), for lists: `table` is for those who ask for one.
    pub(crate) fn list(
        &self,
        document: &impl Serialize,
        text: impl FnOnce(&mut Text),
        table: impl FnOnce() -> Table,
    ) -> Result<(), Trouble> {
        match self.form {
            Form::Table => self.write(&table().to_string()),
            _ => self.result(document, text),
        }
    }

    /// Prints one JSON document.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<(), Trouble> {
        let json = if self.lines { serde_json::to_string(document) } else { serde_json::to_string_pretty(document) };
        self.json(&json.map_err(|error| Trouble::internal(format!("the result is no JSON: {error}")))?)
    }

    /// Prints one JSON object on its own line.
    pub(crate) fn line(&self, document: &impl Serialize) -> Result<(), Trouble> {
        let json = serde_json::to_string(document).map_err(|error| Trouble::internal(format!("the event is no JSON: {error}")))?;
        self.json(&json)
    }

    fn json(&self, json: &str) -> Result<(), Trouble> {
        match &self.filter {
            None => self.write(&format!("{json}\n")),
            Some(filter) => self.write(&filter.apply(json, self.lines)?),
        }
    }

    /// Prints labels and blocks.
    pub(crate) fn text(&self, text: &Text) -> Result<(), Trouble> {
        self.write(text.as_str())
    }

    /// Writes to stdout at once. Whoever does not read any more ends the run, and that is no error.
    pub(crate) fn write(&self, text: &str) -> Result<(), Trouble> {
        self.notes.clear();
        let mut closed = self.closed.lock();
        if *closed {
            return Err(Trouble::closed());
        }
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => {
                self.notes.wrote(text);
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                *closed = true;
                Err(Trouble::closed())
            }
            Err(error) => Err(Trouble::internal(format!("stdout cannot be written: {error}"))),
        }
    }

    /// Whoever types at a prompt has ended its line.
    pub(crate) fn line_ended(&self) {
        self.notes.wrote("\n");
    }

    /// Whether a note has ended the line that was being written: what comes now begins another.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.notes.has_interrupted()
    }

    /// Tells what went wrong: with JSON as the object that takes the place of the result, else on stderr.
    pub(crate) fn trouble(&self, trouble: &Trouble) {
        trouble.findings.iter().for_each(|finding| self.notes.insist(&format!("Finding: {finding}")));
        match trouble.told {
            Told::Nothing => {}
            Told::OneLine => self.notes.error(&trouble.to_string()),
            Told::Fully if self.is_json() => {
                let document = trouble.document();
                let json = if self.lines { serde_json::to_string(&document) } else { serde_json::to_string_pretty(&document) };
                // If nobody reads stdout, stderr still says it.
                drop(self.write(&format!("{}\n", json.unwrap_or_default())));
                self.notes.error(&trouble.to_string());
            }
            Told::Fully => {
                let mut text = Text::default();
                text.field("Message", &trouble.message);
                text.field("Hint", trouble.hint.as_deref().unwrap_or("none"));
                text.field("Code", &trouble.a2a_code.map_or_else(|| "none".to_owned(), |code| code.to_string()));
                self.notes.fields(&trouble.code, text.as_str());
            }
        }
    }
}
