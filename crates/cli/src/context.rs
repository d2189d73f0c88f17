//! What every command works with: settings, a printer, and somewhere to talk.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use crate::{
    print::{Notes, Printer},
    settings::Settings,
    trouble::{Trouble, with_cause},
};

/// How long a single call may take when nothing is said.
const CALL: Duration = Duration::from_secs(30);

/// The circumstances of a run.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) printer: Printer,
    pub(crate) notes: Arc<Notes>,
    /// When the run began; `--timeout` counts from here.
    pub(crate) begun: Instant,
    http: OnceLock<reqwest::Client>,
}

impl Context {
    /// The circumstances that the settings make.
    pub(crate) fn new(settings: Settings) -> Result<Self, Trouble> {
        let notes = Arc::new(Notes::new(settings.quiet, settings.debug, settings.color));
        let printer = Printer::new(&settings, notes.clone())?;
        let context = Self { settings, printer, notes, begun: Instant::now(), http: OnceLock::new() };
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
        let layers = self.settings.layers.with_flag("agent-card", reference)?;
        let settings = Settings::new(layers)?;
        let printer = Printer::new(&settings, self.notes.clone())?;
        Ok(Self { settings, printer, notes: self.notes.clone(), begun: self.begun, http: OnceLock::new() })
    }

    /// How long a single call may take.
    pub(crate) fn call_limit(&self) -> Duration {
        let settings = &self.settings;
        if settings.timeout_given { settings.timeout.unwrap_or(Duration::MAX / 4) } else { CALL }
    }

    /// When the whole wait is over.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.settings.timeout.and_then(|limit| self.begun.checked_add(limit))
    }

    /// A pool of connections for what is not a call to the agent: cards, files.
    pub(crate) fn http(&self) -> Result<&reqwest::Client, Trouble> {
        if let Some(http) = self.http.get() {
            return Ok(http);
        }
        let http = self.new_http()?;
        Ok(self.http.get_or_init(|| http))
    }

    fn new_http(&self) -> Result<reqwest::Client, Trouble> {
        let given = &self.settings.given;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("a2a/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.settings.connect_timeout)
            .redirect(reqwest::redirect::Policy::none());
        if let Some(path) = &given.ca_cert {
            let pem = read(path, "--ca-cert")?;
            let certs = reqwest::Certificate::from_pem_bundle(&pem);
            builder = builder.tls_certs_merge(certs.map_err(|error| Trouble::usage(format!("--ca-cert: {}", with_cause(&error))))?);
        }
        if let (Some(cert), Some(key)) = (&given.client_cert, &given.client_key) {
            let pem = [read(cert, "--client-cert")?, b"\n".to_vec(), read(key, "--client-key")?].concat();
            let identity = reqwest::Identity::from_pem(&pem);
            builder = builder.identity(identity.map_err(|error| Trouble::usage(format!("--client-cert: {}", with_cause(&error))))?);
        }
        let built = builder.tls_danger_accept_invalid_certs(self.settings.insecure).build();
        built.map_err(|error| Trouble::internal(format!("no connection can be made: {}", with_cause(&error))))
    }
}

/// Reads a file that an option names.
pub(crate) fn read(path: &std::path::Path, option: &str) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path).map_err(|error| Trouble::usage(format!("{option}: {} cannot be read: {error}", path.display())))
}
