//! What `--debug` and `--dry-run` show of the wire: a command to paste for every call, and what came back.
//!
//! Nothing secret gets into these lines, whatever the flags: it is taken out where a line is made.

use std::sync::Arc;

use chancery_client::{CredentialKind, Notice, Observer, Wire, WireRequest};
use chancery_core::{Binding, security::ApiKeyLocation};
use http::HeaderMap;

use crate::{
    context::Context,
    print::Notes,
    redact::{Redacted, Redactor},
    resume::quoted,
};

/// Watches a client.
pub(crate) struct Watcher {
    notes: Arc<Notes>,
    redactor: Redactor,
    dry_run: bool,
    insecure: bool,
}

impl Watcher {
    /// A watcher for the settings of a run.
    pub(crate) fn new(context: &Context) -> Self {
        let settings = &context.settings;
        Self { notes: context.notes.clone(), redactor: Redactor::new(settings), dry_run: settings.dry_run, insecure: settings.insecure }
    }

    fn show(&self, text: &str) {
        let text = self.redactor.scrub(text);
        if self.dry_run && !self.notes.is_debug() {
            self.notes.insist(&text);
        } else {
            self.notes.debug(&text);
        }
    }

    fn request(&self, request: &WireRequest<'_>) {
        if self.insecure && !request.credentials.is_empty() {
            self.notes.danger_once("a credential is sent to a server whose certificate is not checked");
        }
        if !(self.notes.is_debug() || self.dry_run && request.operation.is_some()) {
            return;
        }
        let body = self.redactor.body(request.body);
        self.show(&command(request, &body));
        if !body.text.is_empty() {
            self.show(&format!("> {}", body.text));
        }
    }

    fn notice(&self, notice: &Notice) {
        match notice {
            Notice::UnusedCredential(kind) => {
                self.notes.warning(&format!("the card has no scheme for the {kind} that was given; it is not sent"))
            }
            Notice::Unencrypted { origin } => self.notes.warning(&format!("credentials go to {origin} without encryption")),
            Notice::Withheld { origin } => self.notes.warning(&format!("credentials are not shown at {origin}: the card is elsewhere")),
            Notice::Polling { reason } => self.notes.note(&self.redactor.scrub(&format!("the stream is lost, polling instead: {reason}"))),
            Notice::Resubscribe { attempt, reason } => {
                self.notes.note(&self.redactor.scrub(&format!("the stream was cut, subscribing again ({attempt}): {reason}")));
            }
            Notice::Retry { operation, attempt, pause, reason } => {
                self.show(&format!("retry {attempt} of {operation} in {} ms: {reason}", pause.as_millis()));
            }
            Notice::Fallback { version, binding, reason } => self.show(&format!("trying {binding} {version} instead: {reason}")),
            other => self.show(&format!("{other:?}")),
        }
    }
}

impl Observer for Watcher {
    fn see(&self, wire: &Wire<'_>) {
        match wire {
            Wire::Request(request) => self.request(request),
            Wire::Notice(notice) => self.notice(notice),
            _ if !self.notes.is_debug() => {}
            Wire::Chosen(chosen) => {
                let place = if chosen.place > 0 { format!(" ({} of {})", chosen.place, chosen.of) } else { String::new() };
                self.show(&format!("chose {} {} {}{place}", chosen.binding, chosen.version, chosen.url));
            }
            Wire::Response(response) => {
                let body = self.redactor.body(response.body);
                let size = response.body.len();
                self.show(&format!("< {} {} {size} bytes {}", response.status, response.content_type, body.text));
            }
            Wire::Event(event) => {
                let id = event.id.map(|id| format!("{id} ")).unwrap_or_default();
                self.show(&format!("< event {id}{}", self.redactor.body(event.data).text));
            }
            other => self.show(&format!("{other:?}")),
        }
    }
}

/// The call as a command to paste.
fn command(request: &WireRequest<'_>, body: &Redacted) -> String {
    let mut words = match request.binding {
        Binding::Grpc => vec!["grpcurl".to_owned()],
        _ => vec!["curl".to_owned(), "-sS".to_owned()],
    };
    let grpc = request.binding == Binding::Grpc;
    if grpc && !request.url.starts_with("https://") {
        words.push("-plaintext".to_owned());
    }
    if !grpc {
        if request.method != if request.body.is_empty() { "GET" } else { "POST" } {
            words.extend(["-X".to_owned(), request.method.to_owned()]);
        }
        words.push(url(request));
    }
    headers(request.headers, request, &mut words);
    if !body.text.is_empty() {
        words.extend(["-d".to_owned(), quoted(&body.text)]);
    }
    if grpc {
        let authority = request.url.split_once("://").map_or(request.url, |(_, rest)| rest);
        words.extend([authority.trim_end_matches('/').to_owned(), request.method.to_owned()]);
    }
    if body.shortened {
        words.push("# body shortened".to_owned());
    }
    words.join(" ")
}

/// The URL, with variables for the credentials in its query.
fn url(request: &WireRequest<'_>) -> String {
    let keys = request.credentials.iter().filter(|placed| placed.location == ApiKeyLocation::Query);
    let keys: Vec<_> = keys.map(|placed| format!("{}=${}", placed.name, variable(placed.kind))).collect();
    if keys.is_empty() {
        return quoted(request.url);
    }
    let joint = if request.url.contains('?') { '&' } else { '?' };
    format!("\"{}{joint}{}\"", request.url, keys.join("&"))
}

fn headers(headers: &HeaderMap, request: &WireRequest<'_>, words: &mut Vec<String>) {
    for (name, value) in headers {
        let place = request.credentials.iter().find(|placed| match placed.location {
            ApiKeyLocation::Header => placed.name.eq_ignore_ascii_case(name.as_str()),
            ApiKeyLocation::Cookie => name == http::header::COOKIE,
            ApiKeyLocation::Query => false,
        });
        let shown = canonical(name.as_str());
        let header = match place {
            Some(placed) => {
                let variable = variable(placed.kind);
                let value = match (placed.location, placed.kind) {
                    (ApiKeyLocation::Cookie, _) => format!("{}=${variable}", placed.name),
                    (_, CredentialKind::Bearer) => format!("Bearer ${variable}"),
                    (_, CredentialKind::Basic) => format!("Basic $(printf %s \"${variable}\" | base64)"),
                    _ => format!("${variable}"),
                };
                format!("\"{shown}: {}\"", value.replace('"', "\\\""))
            }
            // The header of the version is ours, whoever marks it.
            None if value.is_sensitive() && name != chancery_wire::headers::VERSION => quoted(&format!("{shown}: (hidden)")),
            None => quoted(&format!("{shown}: {}", value.to_str().unwrap_or("(no text)"))),
        };
        words.extend(["-H".to_owned(), header]);
    }
}

/// `a2a-version` as people write it.
fn canonical(name: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect::<String>())
    };
    let name = name.split('-').map(word).collect::<Vec<_>>().join("-");
    name.replace("A2a-", "A2A-").replace("X-Api-", "X-API-")
}

/// The variable that supplies a credential.
fn variable(kind: CredentialKind) -> &'static str {
    match kind {
        CredentialKind::ApiKey => "A2ACLI_API_KEY",
        CredentialKind::Basic => "A2ACLI_BASIC",
        _ => "A2ACLI_BEARER",
    }
}
