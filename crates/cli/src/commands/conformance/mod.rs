//! `a2a conformance`: does an agent keep the rules of the protocol; does this program keep those of its own.

mod cli;
mod report;
mod target;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use chancery_check::{FailOn, Finding, Level, Options, Progress, Report, Selection, Status, Suite};
use tokio::signal::unix::{SignalKind, signal};

use crate::{args::Conformance, context::Context, print::Notes, trouble::Trouble};

pub(crate) async fn run(context: &Context, args: &Conformance) -> Result<(), Trouble> {
    args.report.iter().try_for_each(|path| report::ending(path).map(drop))?;
    let selection = Selection { only: args.only.clone(), skip: args.skip.clone() };
    if args.cli {
        if args.list {
            return list(context, &cli::listed());
        }
        let found = check_program(context, selection).await?;
        args.report.iter().try_for_each(|path| report::write(path, &found.report, &found.official))?;
        return told(context, args, &found.report);
    }
    if args.suite == "acts" {
        return Err(Trouble::not_built("the suite acts").hint("a2a conformance --suite core, or tck"));
    }
    if args.suite == "all" {
        context.notes.note("the suite acts is not built yet; core and tck are run");
    }
    if let Some(id) = &args.explain {
        return explain(context, id);
    }
    let options = options(args, selection);
    if args.list {
        return list(context, &chancery_check::listed(&options));
    }
    let checking = async { if args.self_test { self_test(context, &options.selection).await } else { check(context, &options).await } };
    let mut report = tokio::select! {
        report = checking => report?,
        code = stopped() => return Err(Trouble::stopped(code)),
    };
    context.notes.clear();
    report.tool = format!("a2a {}", env!("CARGO_PKG_VERSION"));
    args.report.iter().try_for_each(|path| report::write(path, &report, &report.document()))?;
    told(context, args, &report)
}

fn options(args: &Conformance, selection: Selection) -> Options {
    Options {
        suite: match args.suite.as_str() {
            "tck" => Suite::Tck,
            "all" => Suite::All,
            _ => Suite::Core,
        },
        level: match args.level.as_str() {
            "must" => Level::Must,
            "should" => Level::Should,
            _ => Level::May,
        },
        selection,
        read_only: args.read_only,
        versions: args.versions.clone(),
        fail_on: match args.fail_on.as_str() {
            "should" | "any" => FailOn::Should,
            "never" => FailOn::Never,
            _ => FailOn::Must,
        },
    }
}

/// Checks the agent that the settings name.
async fn check(context: &Context, options: &Options) -> Result<Report, Trouble> {
    let target = target::target(context).await?;
    chancery_check::run(&target, options, &|progress| show(&context.notes, progress)).await.map_err(target::trouble)
}

/// Checks the checks: the demo of this program is the sound agent behind the faults.
async fn self_test(context: &Context, selection: &Selection) -> Result<Report, Trouble> {
    let desk = cli::Desk::open(&Arc::default())?;
    let progress = |progress: Progress<'_>| {
        if let Progress::Begun { id, .. } = progress {
            context.notes.progress(id);
        }
    };
    chancery_check::self_test(desk.port(), selection, &progress).await.map_err(target::trouble)
}

/// Draws how far a run is.
fn show(notes: &Notes, progress: Progress<'_>) {
    match progress {
        Progress::Begun { id, place } => notes.progress(&format!("{id} {place}")),
        Progress::Done { id, place, status, took } => {
            notes.debug(&format!("{id} {place} {status:?} {:.0} ms", took.as_secs_f64() * 1e3));
        }
        _ => {}
    }
}

/// Checks this program on threads of their own, and ends them when the user wants that.
async fn check_program(context: &Context, selection: Selection) -> Result<cli::Found, Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    let (notes, asked) = (context.notes.clone(), stop.clone());
    let mut running = tokio::task::spawn_blocking(move || cli::run(&notes, &selection, &asked));
    let ended = tokio::select! {
        ended = &mut running => ended,
        code = stopped() => {
            stop.store(true, Ordering::Relaxed);
            // The server and the folder of the run go with it.
            drop(running.await);
            return Err(Trouble::stopped(code));
        }
    };
    ended.map_err(|error| Trouble::internal(format!("the checks broke off: {error}")))?
}

/// Waits for Ctrl-C or a request to end, and gives the exit code of it.
async fn stopped() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => 130,
        _ = terminate.recv() => 143,
    }
}

/// Says what a check is about.
fn explain(context: &Context, id: &str) -> Result<(), Trouble> {
    let Some((finding, scope)) = chancery_check::explained(id) else {
        return Err(Trouble::usage(format!("there is no check {id}")).hint("a2a conformance --list"));
    };
    let document = serde_json::json!({
        "id": finding.id, "tck": finding.tck, "level": finding.level, "clause": finding.clause, "title": finding.title, "scope": scope,
    });
    context.printer.result(&document, |text| {
        text.field("Check", &finding.id);
        text.known("TCK", &finding.tck.join(", "));
        text.field("Level", &finding.level.to_string());
        text.field("Clause", &format!("A2A 1.0, {}", finding.clause));
        text.field("Rule", &finding.title);
        text.field("Checked on", &scope);
    })
}

/// Shows which checks there are.
fn list(context: &Context, findings: &[Finding]) -> Result<(), Trouble> {
    let rows: Vec<_> = findings
        .iter()
        .map(|one| serde_json::json!({"id": one.id, "tck": one.tck, "level": one.level, "clause": one.clause, "title": one.title}))
        .collect();
    context.printer.result(&serde_json::json!({"checks": rows}), |text| {
        for finding in findings {
            text.field("Check", &format!("{}: {}", finding.heading(), finding.title));
        }
        text.field("Total", &findings.len().to_string());
    })
}

/// What was not tested, a line for each reason in a family of rules.
fn untested(findings: &[Finding]) -> Vec<(String, &str)> {
    let mut groups: Vec<(&str, &str, Vec<&Finding>)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.status == Status::NotTested) {
        let family = finding.id.rsplit_once(['-', '_']).map_or(finding.id.as_str(), |(family, _)| family);
        match groups.iter_mut().find(|group| group.0 == family && group.1 == finding.note) {
            Some(group) => group.2.push(finding),
            None => groups.push((family, &finding.note, vec![finding])),
        }
    }
    let named = |family: &str, group: &[&Finding]| match group {
        [only] => only.heading(),
        _ if group.iter().all(|one| one.id == group[0].id) => format!("{} ({})", group[0].id, group.len()),
        _ => format!("{}* ({})", &group[0].id[..=family.len()], group.len()),
    };
    groups.into_iter().map(|(family, note, group)| (named(family, &group), note)).collect()
}

/// Shows what was found, and ends badly if it is bad.
fn told(context: &Context, args: &Conformance, report: &Report) -> Result<(), Trouble> {
    context.printer.result(&report.document(), |text| {
        text.field(if report.suite == "cli" { "Program" } else { "Agent" }, &report.subject);
        if !report.interfaces.is_empty() {
            text.field("Interfaces", &report.interfaces.join(", "));
        }
        for finding in report.findings.iter().filter(|finding| finding.status == Status::Failed) {
            text.field(finding.word(), &format!("{}: {}", finding.heading(), finding.note));
        }
        for (which, note) in untested(&report.findings) {
            text.field("Not tested", &format!("{which}: {note}"));
        }
        text.field("Result", &report.result());
        text.field("Verdict", &report.verdict.0);
    })?;
    match report.verdict.1 || args.fail_on == "never" {
        true => Ok(()),
        false => Err(Trouble::own("CHECKS_FAILED", report.verdict.0.clone()).reported()),
    }
}
