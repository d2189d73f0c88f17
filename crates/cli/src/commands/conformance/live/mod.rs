//! The checks of an agent: its card, and every interface that speaks v1.0.

mod check;
mod line;

use std::time::Instant;

use chancery_core::{Binding, Card, Version, security::SecurityScheme};
use chancery_net::Options;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tokio::sync::OnceCell;

use self::{
    check::{CHECKS, Check, Scope},
    line::Line,
};
use super::{
    choice::Choice,
    finding::{Finding, Level, Report, Status},
};
use crate::{card, connect, context::Context, trouble::Trouble};

/// Why a rule is broken, or not seen to be kept.
#[derive(Debug, Clone)]
pub(super) enum Miss {
    Fail(String),
    NotTested(String),
}

/// What is checked.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) suite: String,
    pub(super) level: Level,
    pub(super) choice: Choice,
    pub(super) read_only: bool,
    pub(super) versions: Vec<String>,
    pub(super) fail_on: String,
}

impl Wanted {
    /// Whether a check is wanted at all.
    fn takes(&self, check: &Check) -> bool {
        (self.suite != "tck" || !check.tck.is_empty()) && check.level <= self.level && self.choice.takes(check.id)
    }
}

/// The agent.
struct Site {
    card: Card,
    /// The card as it came.
    body: Value,
    /// Where it was served, and its headers.
    served: Option<(String, HeaderMap)>,
    http: reqwest::Client,
    lines: Vec<Line>,
    has_credentials: bool,
}

impl Site {
    /// Every media type that the agent takes.
    fn input_modes(&self) -> Vec<&str> {
        let skills = self.card.skills.iter().flat_map(|skill| &skill.input_modes);
        self.card.default_input_modes.iter().chain(skills).map(String::as_str).collect()
    }
}

/// Where a check is done.
struct Place<'a> {
    site: &'a Site,
    line: Option<&'a Line>,
}

impl Place<'_> {
    /// The interface.
    fn line(&self) -> Result<&Line, Miss> {
        self.line.ok_or_else(|| Miss::NotTested("there is no interface".to_owned()))
    }
}

/// Whether a URL leads to this machine.
fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The checks that a choice leaves, not done yet.
pub(super) fn listed(wanted: &Wanted) -> Vec<Finding> {
    CHECKS.iter().filter(|check| wanted.takes(check)).map(|check| finding(check, "", Status::NotTested, String::new())).collect()
}

/// What is known about a check.
pub(super) fn explained(id: &str) -> Option<(Finding, String)> {
    let check =
        CHECKS.iter().find(|check| check.id.eq_ignore_ascii_case(id) || check.tck.iter().any(|tck| tck.eq_ignore_ascii_case(id)))?;
    let scope = match check.scope {
        Scope::Card => "the card, once",
        Scope::Agent => "all interfaces together",
        Scope::Any => "every interface",
        Scope::Json => "every interface that speaks JSON",
        Scope::Rpc => "JSON-RPC",
        Scope::Rest => "HTTP+JSON",
        Scope::Grpc => "gRPC",
    };
    let makes = if check.makes { "makes tasks" } else { "makes no task" };
    Some((finding(check, "", Status::NotTested, String::new()), format!("{scope}; {makes}")))
}

/// Runs the checks.
pub(super) async fn run(context: &Context, wanted: &Wanted) -> Result<Report, Trouble> {
    let begun = Instant::now();
    let (site, mut findings) = site(context, wanted).await?;
    for check in CHECKS.iter().filter(|check| wanted.takes(check)) {
        match check.scope {
            Scope::Card | Scope::Agent => findings.push(one(context, wanted, check, &site, None).await),
            scope => {
                let lines: Vec<_> = site.lines.iter().filter(|line| scope.covers(line.binding)).collect();
                if lines.is_empty() {
                    findings.push(finding(check, "", Status::NotTested, "no interface of this kind is checked".to_owned()));
                }
                for line in lines {
                    findings.push(one(context, wanted, check, &site, Some(line)).await);
                }
            }
        }
    }
    context.notes.clear();
    let interfaces = site.lines.iter().map(|line| format!("{} 1.0", line.binding)).collect();
    let subject = format!("{} {}", site.card.name, site.card.version);
    let verdict = verdict(&findings, &wanted.fail_on);
    Ok(Report { subject, interfaces, suite: wanted.suite.clone(), findings, took: begun.elapsed(), verdict })
}

/// Does one check in one place.
async fn one(context: &Context, wanted: &Wanted, check: &Check, site: &Site, line: Option<&Line>) -> Finding {
    let name = line.map(|line| line.binding.to_string()).unwrap_or_default();
    if wanted.read_only && check.makes {
        return finding(check, &name, Status::NotTested, "it makes a task".to_owned());
    }
    context.notes.progress(&format!("{} {name}", check.id));
    let begun = Instant::now();
    let place = Place { site, line };
    let (status, note) = match (check.run)(&place).await {
        Ok(()) => (Status::Passed, String::new()),
        Err(Miss::Fail(note)) => (Status::Failed, note),
        Err(Miss::NotTested(note)) => (Status::NotTested, note),
    };
    context.notes.debug(&format!("{} {name} {status:?} {:.0} ms", check.id, begun.elapsed().as_secs_f64() * 1e3));
    finding(check, &name, status, note)
}

fn finding(check: &Check, place: &str, status: Status, note: String) -> Finding {
    Finding {
        id: check.id.to_owned(),
        tck: check.tck.iter().map(|id| (*id).to_owned()).collect(),
        level: check.level,
        clause: check.clause.to_owned(),
        title: check.title.to_owned(),
        place: place.to_owned(),
        status,
        note,
        evidence: Vec::new(),
    }
}

/// The verdict: what counts is what the user says counts.
fn verdict(findings: &[Finding], fail_on: &str) -> (String, bool) {
    let failed = |level: Level| findings.iter().filter(|finding| finding.status == Status::Failed && finding.level == level).count();
    let (must, should) = (failed(Level::Must), failed(Level::Should) + failed(Level::May));
    let passed = findings.iter().filter(|finding| finding.status == Status::Passed).count();
    let bad = match fail_on {
        "should" | "any" => must + should,
        "never" => 0,
        _ => must,
    };
    match (must, passed) {
        (0, 0) => ("nothing was tested".to_owned(), true),
        (0, _) if bad == 0 => ("conformant as far as it was tested".to_owned(), true),
        (0, _) => (format!("conformant, but {should} should failed"), false),
        _ => (format!("not conformant ({must} must failed)"), bad == 0),
    }
}

/// Finds the agent and its interfaces; what is not checked of them is told.
async fn site(context: &Context, wanted: &Wanted) -> Result<(Site, Vec<Finding>), Trouble> {
    let found = card::find(context).await?;
    let http = http(context)?;
    let body: Value =
        serde_json::from_slice(&found.body).map_err(|error| Trouble::card_invalid(format!("the card is no JSON: {error}")))?;
    let served = match &found.url {
        Some(url) => {
            let answer = http.get(url).send().await;
            let answer = answer.map_err(|error| Trouble::unreachable(crate::trouble::with_cause(&error)))?;
            Some((url.clone(), answer.headers().clone()))
        }
        None => None,
    };
    let settings = &context.settings;
    let extensions: Vec<_> = found.card.capabilities.extensions.iter().filter(|one| one.required).map(|one| one.uri.clone()).collect();
    let headers = headers(context, &found.card)?;
    let mut lines = Vec::new();
    let mut untested = Vec::new();
    for interface in &found.card.supported_interfaces {
        let Some(binding) = Binding::from_name(&interface.protocol_binding) else { continue };
        if !settings.transports.is_empty() && !settings.transports.contains(&binding) {
            continue;
        }
        if !wanted.versions.is_empty() && !wanted.versions.iter().any(|version| interface.protocol_version.starts_with(version.as_str())) {
            continue;
        }
        if !interface.protocol_version.starts_with("1.0") {
            untested.push((interface.protocol_version.clone(), binding));
            continue;
        }
        // One that repeats itself is one.
        if lines.iter().any(|line: &Line| line.binding == binding && line.url == interface.url) {
            continue;
        }
        let builder = connect::builder(context)?.resubscribes(0).retries(0).poll_failures(0);
        let client = builder.over(binding, Version::V1_0, &interface.url)?;
        lines.push(Line {
            binding,
            url: interface.url.clone(),
            tenant: interface.tenant.clone(),
            extensions: extensions.clone(),
            http: http.clone(),
            headers: headers.clone(),
            client,
            done: OnceCell::new(),
        });
    }
    let findings = untested.into_iter().map(|(version, binding)| older(&version, binding)).collect();
    let given = &settings.given;
    let has_credentials = given.bearer.is_some() || given.api_key.is_some() || given.basic.is_some();
    Ok((Site { card: found.card, body, served, http, lines, has_credentials }, findings))
}

/// An interface of an older version, for which there are no checks.
fn older(version: &str, binding: Binding) -> Finding {
    let family = version.split('.').take(2).collect::<String>();
    Finding {
        id: format!("V{family}-*"),
        tck: Vec::new(),
        level: Level::Must,
        clause: version.to_owned(),
        title: format!("the rules of {version}"),
        place: binding.to_string(),
        status: Status::NotTested,
        note: format!("this suite has no checks of {version}"),
        evidence: Vec::new(),
    }
}

/// A client that puts nothing right.
fn http(context: &Context) -> Result<reqwest::Client, Trouble> {
    let options = Options::new().connect_timeout(context.settings.connect_timeout).no_timeout().tls(&crate::connect::tls(context)?);
    let made = chancery_net::Client::trusted(&options);
    made.map_err(|error| Trouble::usage(format!("no HTTP client can be made: {}", crate::trouble::with_cause(&error))))
}

/// The headers that the user adds: parameters, and credentials where the card wants them in a header.
fn headers(context: &Context, card: &Card) -> Result<HeaderMap, Trouble> {
    let settings = &context.settings;
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let (name, value) = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(name), Ok(mut value)) = (name, value) else { return Err(Trouble::usage("a credential cannot be a header")) };
        value.set_sensitive(true);
        headers.append(name, value);
        Ok(())
    };
    for (name, value) in &settings.svc_params {
        add(name, value.expose())?;
    }
    if let Some(token) = &settings.given.bearer {
        add("authorization", &format!("Bearer {}", token.expose()))?;
    }
    if let Some(key) = &settings.given.api_key {
        let scheme = card.security_schemes.values().find_map(|scheme| match scheme {
            SecurityScheme::ApiKey(scheme) if scheme.location == chancery_core::security::ApiKeyLocation::Header => {
                Some(scheme.name.clone())
            }
            _ => None,
        });
        add(scheme.as_deref().unwrap_or("x-api-key"), key.expose())?;
    }
    Ok(headers)
}
