//! `a2a graph`: a workflow, checked before it runs, and drawn.

use std::{collections::BTreeMap, path::Path};

use chancery_core::{Card, SecurityScheme};
use chancery_engine::clock::{Clock as _, SystemClock};
use chancery_lattice::{EdgeReport, Kind, Known, Level, Report, Scope, Workflow};

use crate::{
    args::{Graph, GraphFile, GraphShow, Picture},
    card,
    context::{Context, read},
    print::Text,
    reference::Reference,
    trouble::Trouble,
    trust, wallet,
};

pub(crate) async fn run(context: &Context, graph: &Graph) -> Result<(), Trouble> {
    match graph {
        Graph::Check(check) => {
            let report = checked(context, &check.file).await?;
            context.printer.result(&report, |text| lines(text, &report))?;
            verdict(&report)
        }
        Graph::Show(show) => draw(context, show).await,
    }
}

/// Bad workflows end with 1; the report has said why.
fn verdict(report: &Report) -> Result<(), Trouble> {
    if report.is_good() {
        return Ok(());
    }
    let errors = report.findings.iter().filter(|finding| finding.level == Level::Error).count();
    Err(Trouble::own("SCOPE", format!("the workflow breaks its rules in {errors} places")).reported())
}

async fn draw(context: &Context, show: &GraphShow) -> Result<(), Trouble> {
    let report = checked(context, &show.file).await?;
    let drawn = match show.format {
        Picture::Text => {
            let mut text = Text::default();
            lines(&mut text, &report);
            text.as_str().to_owned()
        }
        Picture::Json => serde_json::to_string_pretty(&report).map_err(|error| Trouble::internal(error.to_string()))? + "\n",
        Picture::Dot => report.to_dot(),
        Picture::Mermaid => report.to_mermaid(),
        Picture::Svg => report.to_svg(),
    };
    match &show.out {
        Some(file) => crate::files::write(file, "--out", drawn),
        None => context.printer.write(&drawn),
    }
}

fn lines(text: &mut Text, report: &Report) {
    for edge in &report.edges {
        text.field("Edge", &edge_line(edge));
    }
    for finding in &report.findings {
        let label = if finding.level == Level::Error { "Error" } else { "Warning" };
        text.field(label, &format!("{:?} {}: {}", finding.code, finding.place, finding.message));
    }
    let (all, bad) = (report.edges.len(), report.edges.iter().filter(|edge| !edge.ok).count());
    let verdict = match (report.is_good(), bad) {
        (true, _) => format!("all {all} edges are within their scope"),
        (false, 0) => "the edges are within their scope, but the workflow has errors".to_owned(),
        (false, 1) => format!("1 of {all} edges breaks the scope"),
        (false, bad) => format!("{bad} of {all} edges break the scope"),
    };
    text.field("Verdict", &verdict);
}

/// `triage -> billing handoff ok (needs refund; allowed lookup, refund)`
fn edge_line(edge: &EdgeReport) -> String {
    let kind = match edge.kind {
        Kind::Handoff => "handoff",
        Kind::Delegate => "delegate",
    };
    let names = |names: &std::collections::BTreeSet<String>, otherwise: &str| {
        if names.is_empty() { otherwise.to_owned() } else { names.iter().map(String::as_str).collect::<Vec<_>>().join(", ") }
    };
    let result = if edge.ok { "ok" } else { "violation" };
    let (needs, allowed) = (names(&edge.required, "any skill"), names(&edge.effective, "nothing"));
    format!("{} -> {} {kind} {result} (needs {needs}; allowed {allowed})", edge.from, edge.to)
}

/// Reads the file, finds the cards, and checks every path.
async fn checked(context: &Context, file: &GraphFile) -> Result<Report, Trouble> {
    let path = &file.file;
    let text = String::from_utf8(read(path, "FILE")?).map_err(|_| Trouble::usage(format!("{} is no text", path.display())))?;
    let mut workflow = Workflow::parse(&text).map_err(|error| Trouble::usage(format!("{}: {error}", path.display())))?;
    if let Some(from) = &file.scope_from {
        let scope: Scope = serde_json::from_slice(&read(from, "--scope-from")?)
            .map_err(|error| Trouble::usage(format!("--scope-from: {} is no scope: {error}", from.display())))?;
        workflow.scope = workflow.scope.meet(&scope);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut cards = BTreeMap::new();
    for agent in &workflow.agents {
        let Some(reference) = agent.card.as_deref().or(agent.url.as_deref()) else { continue };
        let found = card_of(context, folder, reference, file.offline).await;
        let found = found.and_then(|(there, card)| Ok((kinds(&there, &card)?, card)));
        cards.insert(agent.id.clone(), found.map(|(kinds, card)| known(card, agent.url.as_deref(), &kinds)));
    }
    Ok(workflow.check(&cards, SystemClock.now()))
}

/// What an agent can be shown, by the kinds of schemes that take it.
#[derive(Debug, Default)]
struct Kinds {
    token: bool,
    key: bool,
    password: bool,
    certificate: bool,
}

/// What is configured here for an agent: settings, and what a sign-in has left.
fn kinds(there: &Context, found: &card::Found) -> Result<Kinds, String> {
    let given = &there.settings.given;
    let stored = wallet::stored(&there.settings).map_err(|trouble| trouble.message)?;
    Ok(Kinds {
        token: given.bearer.is_some() || stored.iter().any(|token| token.is_of(found.url.as_deref())),
        key: given.api_key.is_some(),
        password: given.basic.is_some(),
        certificate: given.client_cert.is_some(),
    })
}

impl Kinds {
    /// Whether an agent takes any of it, or demands nothing (LA-42, W05).
    fn suit(&self, card: &Card) -> bool {
        let takes = |name: &String| match card.security_schemes.get(name) {
            Some(SecurityScheme::ApiKey(_)) => self.key,
            Some(SecurityScheme::HttpAuth(scheme)) if scheme.scheme.eq_ignore_ascii_case("basic") => self.password,
            Some(SecurityScheme::HttpAuth(_) | SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_)) => self.token,
            Some(SecurityScheme::MutualTls(_)) => self.certificate,
            _ => false,
        };
        let free = card.security_requirements.is_empty();
        free || card.security_requirements.iter().any(|requirement| requirement.schemes.keys().all(takes))
    }
}

fn known(found: card::Found, url: Option<&str>, kinds: &Kinds) -> Known {
    let callable = kinds.suit(&found.card);
    let first = found.card.supported_interfaces.first().map(|interface| interface.url.clone());
    let url = url.map(str::to_owned).or(found.url).or(first).unwrap_or_default();
    Known::new(found.card, url).callable(callable)
}

/// The card that a reference of the file leads to; files are looked for beside it.
async fn card_of(context: &Context, folder: &Path, reference: &str, offline: bool) -> Result<(Context, card::Found), String> {
    let home = context.settings.layers.around.home.as_deref();
    let beside = folder.join(reference);
    let reference = if beside.is_file() { beside.to_string_lossy().into_owned() } else { reference.to_owned() };
    let read = Reference::read(&reference, home).map_err(|trouble| trouble.message)?;
    if offline && !matches!(read, Reference::File(_)) {
        return Err("it is no file, and nothing is fetched with --offline".to_owned());
    }
    let there = context.with_agent(&reference).map_err(|trouble| trouble.message)?;
    let found = card::find(&there).await.map_err(|trouble| trouble.message)?;
    let checked = trust::checked(&there, found).await.map_err(|trouble| trouble.message)?;
    Ok((there, checked))
}
