//! `a2a doctor`: what is wrong here, on the way to an agent, and there.
//!
//! ```text
//!  here.rs         settings, variables, proxies, token, a2a.toml
//!  way.rs          name -> connection -> TLS -> an answer, and its clock
//!  there.rs        card -> every interface -> version header -> stream
//!  readers.rs      the card as the clients of others read it
//! ```
//!
//! What cannot be looked at because of an earlier problem is left out. Nothing is changed; one message is sent to the
//! agent, unless `--read-only` is said.

mod certificate;
mod here;
mod readers;
mod there;
mod way;

use serde_json::json;

use crate::{
    args::Doctor,
    context::Context,
    reference::Reference,
    trouble::{Trouble, UNREACHABLE},
};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Ok,
    /// Worth knowing, and nobody's fault here.
    Note,
    Warning,
    Problem,
}

/// Something that was found out, and what to do about it.
#[derive(Debug)]
struct Finding {
    level: Level,
    check: &'static str,
    message: String,
    next: Option<String>,
}

/// Everything that was found out.
#[derive(Debug, Default)]
struct Findings {
    all: Vec<Finding>,
    /// Whether the agent could not be asked.
    unreachable: bool,
}

impl Findings {
    fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        self.all.push(Finding { level: Level::Ok, check, message: message.into(), next: None });
    }

    fn warning(&mut self, check: &'static str, message: impl Into<String>, next: impl Into<String>) {
        self.add(Level::Warning, check, message, next);
    }

    fn problem(&mut self, check: &'static str, message: impl Into<String>, next: impl Into<String>) {
        self.add(Level::Problem, check, message, next);
    }

    fn add(&mut self, level: Level, check: &'static str, message: impl Into<String>, next: impl Into<String>) {
        self.all.push(Finding { level, check, message: message.into(), next: Some(next.into()) });
    }

    fn count(&self, level: Level) -> usize {
        self.all.iter().filter(|finding| finding.level == level).count()
    }
}

pub(crate) async fn run(context: &Context, args: &Doctor) -> Result<(), Trouble> {
    // What was kept of a card says nothing about the agent of today.
    let mut settings = context.settings.clone();
    settings.no_cache = true;
    let printer = crate::print::Printer::new(&settings, context.notes.clone())?;
    let context = &Context { settings, printer, notes: context.notes.clone() };
    let mut findings = Findings::default();
    here::settings(context, &mut findings);
    here::token(context, &mut findings);
    if let Some(file) = &args.file {
        here::file(file, &mut findings);
    }
    match target(context)? {
        Some(Target::Endpoint(url)) => {
            here::proxies(context, Some(&url), &mut findings);
            if way::travel(context, &url, &mut findings).await {
                there::endpoint(context, &mut findings).await;
            }
        }
        Some(Target::Card(Some(url))) => {
            here::proxies(context, Some(&url), &mut findings);
            if way::travel(context, &url, &mut findings).await {
                there::agent(context, args, &mut findings).await;
            }
        }
        Some(Target::Card(None)) => there::agent(context, args, &mut findings).await,
        None => {
            here::proxies(context, None, &mut findings);
            if args.file.is_none() {
                context.notes.note("no agent is named: add -a REF to look at the way to it");
            }
        }
    }
    report(context, &findings)
}

/// What is looked at.
enum Target {
    /// A card, and where it is fetched from if it is.
    Card(Option<url::Url>),
    Endpoint(url::Url),
}

fn target(context: &Context) -> Result<Option<Target>, Trouble> {
    let settings = &context.settings;
    if let Some(agent) = &settings.agent {
        return Ok(Some(Target::Card(match Reference::read(agent, settings.layers.around.home.as_deref())? {
            Reference::Host(url) | Reference::Card(url) => Some(url),
            _ => None,
        })));
    }
    let Some(endpoint) = &settings.endpoint else { return Ok(None) };
    let text = if endpoint.contains("://") { endpoint.clone() } else { format!("http://{endpoint}") };
    let url = url::Url::parse(&text).map_err(|error| Trouble::usage(format!("--endpoint: {error}")))?;
    Ok(Some(Target::Endpoint(url)))
}

/// Prints everything, and ends as good or bad.
fn report(context: &Context, findings: &Findings) -> Result<(), Trouble> {
    let (problems, warnings) = (findings.count(Level::Problem), findings.count(Level::Warning));
    let written = |finding: &Finding| {
        let Finding { level, check, message, next } = finding;
        json!({"level": word(*level).to_lowercase(), "check": check, "message": message, "next": next})
    };
    let all: Vec<_> = findings.all.iter().map(written).collect();
    let document = json!({"findings": all, "problems": problems, "warnings": warnings});
    let verdict = match (problems, warnings) {
        (0, 0) => "all is well".to_owned(),
        _ => format!("{}, {}", count(problems, "problem"), count(warnings, "warning")),
    };
    context.printer.result(&document, |text| {
        for finding in &findings.all {
            text.field(word(finding.level), &finding.message.replace('\n', "; "));
            if let Some(next) = &finding.next {
                text.field("Next", &next.replace('\n', "; "));
            }
        }
        text.field("Verdict", &verdict);
    })?;
    if problems == 0 {
        return Ok(());
    }
    let trouble = Trouble::own("CHECKS_FAILED", verdict).reported();
    Err(if findings.unreachable { Trouble { code: "A2ACLI_ERR_UNREACHABLE".into(), exit: UNREACHABLE, ..trouble } } else { trouble })
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Ok => "Ok",
        Level::Note => "Note",
        Level::Warning => "Warning",
        Level::Problem => "Problem",
    }
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The options that name the agent, for commands to paste.
fn same(context: &Context) -> String {
    crate::resume::same(&context.settings)
}
