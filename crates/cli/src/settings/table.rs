//! One table: every global option with its variable, its default and its help.

/// A global option, which is also a variable and a line of a settings file.
#[derive(Debug)]
pub(crate) struct Spec {
    /// The long flag, without its dashes.
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) aliases: &'static [&'static str],
    /// What stands after it; `None` for a switch.
    pub(crate) value: Option<&'static str>,
    /// Whether it may be given several times.
    pub(crate) repeats: bool,
    /// Whether its value is never shown.
    pub(crate) secret: bool,
    /// What holds when nothing is said; empty for nothing.
    pub(crate) default: &'static str,
    /// The words that it may be, if they are few, each with another spelling or none.
    pub(crate) words: &'static [(&'static str, &'static str)],
    pub(crate) help: &'static str,
    /// Whether only the command line is asked.
    pub(crate) flag_only: bool,
    /// Under which heading help shows it.
    pub(crate) heading: &'static str,
}

impl Spec {
    /// The variable of the option.
    pub(crate) fn variable(&self) -> String {
        variable(self.name)
    }
}

/// The variable of a flag: `A2ACLI_` and the flag in upper snake case.
pub(crate) fn variable(flag: &str) -> String {
    format!("A2ACLI_{}", flag.replace('-', "_").to_ascii_uppercase())
}

/// The option of this name.
pub(crate) fn spec(name: &str) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.name == name)
}

const AGENT: &str = "Agent";
const CALL: &str = "Call";
const CREDENTIAL: &str = "Credentials";
const SHOWN: &str = "Output";
pub(crate) const OTHER: &str = "Settings";

const fn switch(heading: &'static str, name: &'static str, help: &'static str) -> Spec {
    Spec {
        name,
        short: None,
        aliases: &[],
        value: None,
        repeats: false,
        secret: false,
        default: "",
        words: &[],
        help,
        flag_only: false,
        heading,
    }
}

const fn option(heading: &'static str, name: &'static str, value: &'static str, help: &'static str) -> Spec {
    Spec { value: Some(value), ..switch(heading, name, help) }
}

/// Every global option, in the order of help.
pub(crate) const TABLE: &[Spec] = &[
    Spec { short: Some('a'), ..option(AGENT, "agent-card", "REF", "The agent: host, card URL, file or -; see `a2a help references`") },
    Spec { short: Some('e'), ..option(AGENT, "endpoint", "URL", "An interface without a card; needs exactly one --transport") },
    Spec {
        repeats: true,
        default: "the card's order",
        words: &[("jsonrpc", ""), ("rest", "HTTP+JSON"), ("grpc", "")],
        ..option(AGENT, "transport", "BINDING", "jsonrpc, rest or grpc; repeat it for an order, best first")
    },
    Spec {
        default: "highest common, not below 1.0",
        words: &[("1.0", ""), ("0.3", ""), ("0.2", ""), ("0.1", ""), ("any", "")],
        ..option(AGENT, "a2a-version", "VERSION", "1.0, 0.3, 0.2, 0.1, or any for whatever the card says")
    },
    option(AGENT, "tenant", "ID", "The tenant, with --endpoint; a card declares its own"),
    option(AGENT, "registry", "URL", "Where urn: references are looked up"),
    switch(AGENT, "require-signature", "Refuse a card that is not verified"),
    switch(AGENT, "no-cache", "Ask for the card anew"),
    Spec { aliases: &["no-wait", "return-immediately"], ..switch(CALL, "async", "Return the ids at once [default: off, send waits]") },
    Spec { aliases: &["watch"], ..switch(CALL, "wait", "Block until the task is over or wants something [default: on for send]") },
    Spec { default: "2s", ..option(CALL, "poll-interval", "TIME", "The first pause between polls") },
    Spec {
        default: "10m",
        ..option(CALL, "timeout", "TIME", "The whole wait; single calls end after 30s unless it is given; 0 for no limit")
    },
    Spec { default: "10s", ..option(CALL, "connect-timeout", "TIME", "How long a connection may take to come about") },
    option(CALL, "context-id", "ID", "Continue an interaction"),
    option(CALL, "task-id", "ID", "Continue a task"),
    Spec { repeats: true, ..option(CALL, "metadata", "JSON", "An object for the request; later keys win") },
    Spec { repeats: true, ..option(CALL, "svc-param", "K:V", "A header, or metadata of gRPC") },
    Spec { repeats: true, default: "those the card requires", ..option(CALL, "extension", "URI", "An extension to activate") },
    Spec {
        secret: true,
        ..option(
            CREDENTIAL,
            "bearer",
            "TOKEN",
            "A bearer token. Prefer A2ACLI_BEARER: a flag shows in the process list and in shell history",
        )
    },
    Spec {
        secret: true,
        ..option(CREDENTIAL, "api-key", "KEY", "An API key. Prefer A2ACLI_API_KEY: a flag shows in the process list and in shell history")
    },
    Spec {
        secret: true,
        ..option(
            CREDENTIAL,
            "basic",
            "USER:PASSWORD",
            "Basic authentication. Prefer A2ACLI_BASIC: a flag shows in the process list and in shell history",
        )
    },
    option(CREDENTIAL, "client-cert", "FILE", "A client certificate, for mutual TLS"),
    option(CREDENTIAL, "client-key", "FILE", "The key of the client certificate"),
    option(CREDENTIAL, "ca-cert", "FILE", "A certificate authority to trust"),
    switch(CREDENTIAL, "insecure", "Check no certificate; always warns [default: off, certificates are checked]"),
    Spec {
        short: Some('o'),
        default: "text",
        words: &[("text", ""), ("json", ""), ("table", "")],
        ..option(SHOWN, "output", "FORM", "text, json, or table for lists")
    },
    Spec { flag_only: true, ..switch(SHOWN, "stream", "Show events as they come; with json one object per line") },
    switch(SHOWN, "compact", "A JSON document on one line"),
    option(SHOWN, "jq", "EXPR", "A filter for JSON on stdout"),
    switch(SHOWN, "verbose", "Everything that was sent and received [default: off, concise]"),
    switch(SHOWN, "debug", "What is done, on stderr, with the messages on the wire"),
    switch(SHOWN, "dry-run", "Show the request, and send nothing"),
    Spec { short: Some('q'), ..switch(SHOWN, "quiet", "No notes or warnings on stderr") },
    Spec {
        default: "auto",
        words: &[("auto", ""), ("always", ""), ("never", "")],
        ..option(SHOWN, "color", "WHEN", "Color of stderr: auto, always or never")
    },
    Spec { aliases: &["env-file"], ..option(OTHER, "config", "FILE", "A settings file instead of the nearest .env") },
    option(OTHER, "profile", "NAME", "Short for --config ~/.config/a2a-cli/profiles/NAME.env"),
];
