//! What every command works with: settings, a printer, and somewhere to talk.

use std::{sync::Arc, time::Duration};

use crate::{
    files,
    print::{Notes, Printer},
    settings::{LONGEST, Settings},
    trouble::Trouble,
};

/// How long a single call may take when nothing is said.
const CALL: Duration = Duration::from_secs(30);

/// The circumstances of a run.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) printer: Printer,
    pub(crate) notes: Arc<Notes>,
}

impl Context {
    /// The circumstances that the settings make.
    pub(crate) fn new(settings: Settings) -> Result<Self, Trouble> {
        let notes = Arc::new(Notes::new(settings.quiet, settings.debug, settings.color));
        let printer = Printer::new(&settings, notes.clone())?;
        let context = Self { settings, printer, notes };
        context.warn();
        Ok(context)
    }

    /// Says what is noteworthy about the settings.
    fn warn(&self) {
        let layers = &self.settings.layers;
        layers.warnings().iter().for_each(|warning| self.notes.warning(warning));
        if self.settings.insecure {
            self.notes.danger("certificates are not checked: anybody may pretend to be the agent");
        }
        if let Some((agent, file)) = layers.agent_of_local_file() {
            self.notes.note(&format!("agent {agent} from {file}"));
        }
    }

    /// The same circumstances with another agent, as if `--agent-card` had named it.
    pub(crate) fn with_agent(&self, reference: &str) -> Result<Self, Trouble> {
        self.with_flag("agent-card", reference)
    }

    /// The same circumstances, as if a flag had been given.
    pub(crate) fn with_flag(&self, name: &'static str, value: &str) -> Result<Self, Trouble> {
        let layers = self.settings.layers.with_flag(name, value)?;
        let settings = Settings::new(layers)?;
        let printer = Printer::new(&settings, self.notes.clone())?;
        Ok(Self { settings, printer, notes: self.notes.clone() })
    }

    /// How long a single call may take.
    pub(crate) fn call_limit(&self) -> Duration {
        let settings = &self.settings;
        if settings.timeout_given { settings.timeout.unwrap_or(LONGEST) } else { CALL }
    }
}

/// Reads a file that an option names.
pub(crate) fn read(path: &std::path::Path, option: &str) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path)
        .map_err(|error| Trouble::usage(format!("{option}: {}", files::unreadable(path, &error))).hint(files::hint(path, &error)))
}
