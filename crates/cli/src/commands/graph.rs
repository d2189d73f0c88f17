//! `a2a graph`: a workflow, checked before it runs, and drawn.

use std::{collections::BTreeMap, path::Path};

use chancery_core::{Card, SecurityScheme};
use chancery_engine::clock::{Clock as _, SystemClock};
use chancery_lattice::{Code, EdgeReport, Kind, Known, Level, Report, Scope};

use crate::{
    args::{Graph, GraphFile, GraphShow, Picture},
    card,
    context::{Context, read},
    print::Text,
    reference::Reference,
    trouble::{Trouble, UNREACHABLE},
    trust, wallet,
};

pub(crate) async fn run(context: &Context, graph: &Graph) -> Result<(), Trouble> {
    match graph {
        Graph::Check(check) => {
            let (report, unreachable) = checked(context, &check.file).await?;
            context.printer.result(&report, |text| lines(text, &report))?;
            verdict(&report, unreachable)
        }
        Graph::Show(show) => draw(context, show).await,
    }
}

/// Bad workflows end with 1, and those of which cards could not be had and nothing else is wrong with 3; the report has said why.
fn verdict(report: &Report, unreachable: bool) -> Result<(), Trouble> {
    let errors: Vec<_> = report.findings.iter().filter(|finding| finding.level == Level::Error).collect();
    let trouble = match errors.as_slice() {
        [] => return Ok(()),
        [first, ..] if errors.iter().all(|finding| finding.code == Code::E05) => match unreachable {
            true => Trouble::unreachable(first.message.clone()),
            false => Trouble::own("SCOPE", first.message.clone()),
        },
        [_] => Trouble::own("SCOPE", "the workflow breaks its rules in 1 place"),
        several => Trouble::own("SCOPE", format!("the workflow breaks its rules in {} places", several.len())),
    };
    Err(trouble.reported())
}

async fn draw(context: &Context, show: &GraphShow) -> Result<(), Trouble> {
    let (report, _) = checked(context, &show.file).await?;
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
    let all = report.edges.len();
    let unchecked = report.edges.iter().filter(|edge| edge.unchecked.is_some()).count();
    let bad = report.edges.iter().filter(|edge| !edge.ok && edge.unchecked.is_none()).count();
    let verdict = match (report.is_good(), bad) {
        (false, 0) if unchecked > 0 => format!("{unchecked} of {all} edges cannot be checked without the cards"),
        (true, _) if all == 1 => "the edge is within its scope".to_owned(),
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
    if let Some(why) = &edge.unchecked {
        return format!("{} -> {} {kind} not checked ({why})", edge.from, edge.to);
    }
    let result = if edge.ok { "ok" } else { "violation" };
    let (needs, allowed) = (names(&edge.required, "any skill"), names(&edge.effective, "nothing"));
    format!("{} -> {} {kind} {result} (needs {needs}; allowed {allowed})", edge.from, edge.to)
}

/// Reads the file, finds the cards, and checks every path; says too whether a card could not be reached.
async fn checked(context: &Context, file: &GraphFile) -> Result<(Report, bool), Trouble> {
    let path = &file.file;
    // Files that are not there have their own hint.
    read(path, "FILE")?;
    let mut workflow =
        chancery_config::workflow(path).map_err(|error| Trouble::of_file(&error).or_hint(|| "a2a graph check --help".to_owned()))?;
    if let Some(from) = &file.scope_from {
        let scope = Scope::parse(&read(from, "--scope-from")?).map_err(|error| {
            let hint = "write it like {\"skills\": [\"refund\"], \"hops\": 3}";
            Trouble::usage(format!("--scope-from: {}: {error}", from.display())).hint(hint)
        })?;
        workflow.scope = workflow.scope.meet(&scope);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let (mut cards, mut unreachable) = (BTreeMap::new(), false);
    for agent in &workflow.agents {
        let Some(reference) = agent.card.as_deref().or(agent.url.as_deref()) else { continue };
        let found = card_of(context, folder, reference, file.offline).await;
        let found = found.and_then(|(there, card)| Ok((kinds(&there, &card)?, card)));
        let found = found.map(|(kinds, card)| known(card, agent.url.as_deref(), &kinds));
        unreachable |= found.as_ref().is_err_and(|trouble| trouble.exit == UNREACHABLE);
        cards.insert(agent.id.clone(), found.map_err(|trouble| format!("{reference}: {}", trouble.message)));
    }
    Ok((workflow.check(&cards, SystemClock.now()), unreachable))
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
fn kinds(there: &Context, found: &card::Found) -> Result<Kinds, Trouble> {
    let given = &there.settings.given;
    let stored = wallet::stored(&there.settings)?;
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
async fn card_of(context: &Context, folder: &Path, reference: &str, offline: bool) -> Result<(Context, card::Found), Trouble> {
    let home = context.settings.layers.around.home.as_deref();
    let beside = folder.join(reference);
    let reference = if beside.is_file() { beside.to_string_lossy().into_owned() } else { reference.to_owned() };
    let read = Reference::read(&reference, home)?;
    if offline && !matches!(read, Reference::File(_)) {
        return Err(Trouble::usage("it is no file, and nothing is fetched with --offline"));
    }
    let there = context.with_agent(&reference)?;
    let found = card::find(&there).await?;
    let checked = trust::checked(&there, found).await?;
    Ok((there, checked))
}
