//! `a2a conformance`: does an agent keep the rules of the protocol; does this program keep those of its own.

mod cli;
mod report;
mod target;

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use chancery_check::{FailOn, Finding, Level, OnTimeout, Options, Report, Run, Selection, Status, Suite};

use crate::{args::Conformance, context::Context, print::Progress, settings::Source, stop, trouble::Trouble};

pub(crate) async fn run(context: &Context, args: &Conformance) -> Result<(), Trouble> {
    args.report.iter().try_for_each(|path| report::ending(path).map(drop))?;
    let selection = Selection { only: args.only.clone(), skip: args.skip.clone() };
    if args.cli {
        if args.list {
            return list(context, &cli::listed());
        }
        let (found, stopped) = check_program(context, selection).await?;
        args.report.iter().try_for_each(|path| report::write(path, &found.report, &found.official))?;
        return told(context, args, &found.report, stopped);
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
    let options = options(context, args, selection);
    if args.list {
        return list(context, &chancery_check::listed(&options));
    }
    let (mut report, stopped) =
        if args.self_test { (self_test(context, &options.selection).await?, None) } else { check(context, &options).await? };
    context.notes.clear();
    report.tool = format!("a2a {}", env!("CARGO_PKG_VERSION"));
    args.report.iter().try_for_each(|path| report::write(path, &report, &report.document()))?;
    told(context, args, &report, stopped)
}

fn options(context: &Context, args: &Conformance, selection: Selection) -> Options {
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
        timeout: context.call_limit(),
        on_timeout: if args.on_timeout == "fail" { OnTimeout::Fail } else { OnTimeout::Skip },
    }
}

/// Checks the agent that the settings name. Whoever stops it has what was found so far, and the exit code of that.
async fn check(context: &Context, options: &Options) -> Result<(Report, Option<u8>), Trouble> {
    let mut stop = pin!(stop::asked());
    let begun = async {
        let target = target::target(context).await?;
        Run::begin(&target, options).await.map_err(target::trouble)
    };
    let mut run = tokio::select! {
        run = begun => run?,
        code = &mut stop => return Err(Trouble::stopped(code)),
    };
    let line = Progress::new(&context.notes, context.printer.is_json());
    let show = |progress: chancery_check::Progress<'_>| show(context, &line, progress);
    loop {
        tokio::select! {
            biased;
            code = &mut stop => return Ok((run.report(), Some(code))),
            more = line.during(run.next(&show)) => {
                if !more {
                    return Ok((run.report(), None));
                }
            }
        }
    }
}

/// Checks the checks: the demo of this program is the sound agent behind the faults.
async fn self_test(context: &Context, selection: &Selection) -> Result<Report, Trouble> {
    let sandbox = cli::Sandbox::open(&Arc::default())?;
    let line = Progress::new(&context.notes, context.printer.is_json());
    let show = |progress: chancery_check::Progress<'_>| show(context, &line, progress);
    tokio::select! {
        report = line.during(chancery_check::self_test(sandbox.port(), selection, &show)) => report.map_err(target::trouble),
        code = stop::asked() => Err(Trouble::stopped(code)),
    }
}

/// Tells how far a run is.
fn show(context: &Context, line: &Progress<'_>, progress: chancery_check::Progress<'_>) {
    use chancery_check::Progress as P;
    match progress {
        P::Begun { id, place, title, number, total } => {
            let place = if place.is_empty() { String::new() } else { format!(" {place}") };
            line.show(&format!("{number} of {total} {id}{place}: {title}"));
        }
        P::Done { id, place, status, took } => {
            context.notes.debug(&format!("{id} {place} {status:?} {:.0} ms", took.as_secs_f64() * 1e3));
        }
        _ => {}
    }
}

/// Checks this program on threads of their own, and ends them when the user wants that.
async fn check_program(context: &Context, selection: Selection) -> Result<(cli::Found, Option<u8>), Trouble> {
    let stop = Arc::new(AtomicBool::new(false));
    let (notes, asked, is_json) = (context.notes.clone(), stop.clone(), context.printer.is_json());
    // Only who names an agent here means it: a variable is for other commands.
    let named = context.settings.layers.raw("agent-card").filter(|raw| raw.source == Source::Flag);
    let agent = named.and_then(|_| context.settings.agent.clone());
    let mut running = tokio::task::spawn_blocking(move || cli::run(&Progress::new(&notes, is_json), &selection, &asked, agent.as_deref()));
    let (ended, code) = tokio::select! {
        ended = &mut running => (ended, None),
        code = stop::asked() => {
            stop.store(true, Ordering::Relaxed);
            // The server and the folder of the run go with it.
            (running.await, Some(code))
        }
    };
    let found = ended.map_err(|error| Trouble::internal(format!("the checks broke off: {error}")))??;
    context.notes.clear();
    Ok((found, code))
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

/// Shows what was found, and ends badly if it is bad, or as whoever stopped it wants.
fn told(context: &Context, args: &Conformance, report: &Report, stopped: Option<u8>) -> Result<(), Trouble> {
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
    if report.late > 0 {
        context
            .notes
            .note("what does not come in time says nothing: a longer --timeout waits for it, --on-timeout fail counts it as failed");
    }
    match (stopped, report.verdict.1 || args.fail_on == "never") {
        (Some(code), _) => Err(Trouble::stopped(code)),
        (None, true) => Ok(()),
        (None, false) => Err(Trouble::own("CHECKS_FAILED", report.verdict.0.clone()).reported()),
    }
}
