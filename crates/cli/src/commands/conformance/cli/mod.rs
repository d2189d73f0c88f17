//! `a2a conformance --cli`: the requirements of the official CLI specification, checked on this very program.

mod check;
mod official;
mod table;
mod trial;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};

use chancery_check::{Finding, Level, Report, Selection, Status};
use chancery_core::sync::Mutex;

pub(super) use self::trial::Sandbox;
use self::{
    official::Outcome,
    table::{ROWS, Row},
    trial::{Checked, Miss},
};
use crate::{print::Progress, trouble::Trouble};

/// How many checks run at a time. Most of their time they wait.
const WORKERS: usize = 6;
/// Why something was not measured that was asked for.
const STOPPED: &str = "the run was stopped before";

/// What a run found, as our report and as the official one.
pub(super) struct Found {
    pub(super) report: Report,
    pub(super) official: serde_json::Value,
}

/// The requirements that a choice leaves, as findings that were not made yet.
pub(super) fn listed() -> Vec<Finding> {
    ROWS.iter().map(|row| finding(row, Outcome { status: "not_measured", note: String::new(), evidence: Vec::new() })).collect()
}

/// Runs every requirement that is chosen; the others are not measured. Once `stop` is set, nothing more is begun, and what is
/// being checked then is not measured either. An agent that is named takes the place of the demo.
pub(super) fn run(progress: &Progress<'_>, selection: &Selection, stop: &Arc<AtomicBool>, agent: Option<&str>) -> Result<Found, Trouble> {
    let begun = Instant::now();
    let sandbox = Sandbox::open(stop)?;
    let sandbox = match agent {
        Some(agent) => sandbox.replace(agent)?,
        None => sandbox,
    };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let total = ROWS.iter().filter(|row| selection.takes(row.id)).count();
    let stopped = || stop.load(Ordering::Relaxed);
    let not_measured = |why: &str| Outcome { status: "not_measured", note: why.to_owned(), evidence: Vec::new() };
    let outcomes = Mutex::new(vec![None; ROWS.len()]);
    let codes = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((at, row)) = ROWS.get(next.fetch_add(1, Ordering::Relaxed)).map(|row| (position(row), row)) {
                    let outcome = match (selection.takes(row.id), stopped()) {
                        (false, _) => not_measured("it was not asked for"),
                        (true, true) => not_measured(STOPPED),
                        (true, false) => one(&sandbox, row.id, &codes, row.check),
                    };
                    // What is ended from outside says nothing about the program.
                    let outcome =
                        if stopped() && selection.takes(row.id) && outcome.status != "pass" { not_measured(STOPPED) } else { outcome };
                    if selection.takes(row.id) {
                        let number = done.fetch_add(1, Ordering::Relaxed) + 1;
                        progress.done(&format!("{number} of {total} {}: {}", row.id, outcome.status));
                    }
                    outcomes.lock()[at] = Some(outcome);
                }
            });
        }
    });
    let default = |default: (&'static str, &'static str, &'static [&'static str])| match stopped() {
        true => (default.0, not_measured(STOPPED)),
        false => (default.0, one(&sandbox, &format!("default-{}", default.0), &codes, |trial| check::default(trial, default))),
    };
    let defaults: Vec<_> = check::DEFAULTS.into_iter().map(default).collect();
    let outcomes = outcomes.into_inner();
    let rows: Vec<_> = ROWS.iter().zip(outcomes).filter_map(|(row, outcome)| Some((row, outcome?))).collect();
    let codes = codes.into_inner();
    let official = official::document(&rows, &defaults, &codes, begun.elapsed());
    let complete = rows.iter().all(|(_, outcome)| outcome.note != STOPPED);
    let verdict = if complete { verdict(&rows) } else { (format!("stopped after {} of {total} checks", measured(&rows)), true) };
    let findings = rows.into_iter().map(|(row, outcome)| finding(row, outcome)).collect();
    let subject = format!("a2a {}", env!("CARGO_PKG_VERSION"));
    let tool = subject.clone();
    let took = begun.elapsed();
    let report = Report { subject, tool, suite: "cli".to_owned(), findings, took, complete, verdict, ..Report::default() };
    Ok(Found { report, official })
}

fn position(row: &Row) -> usize {
    ROWS.iter().position(|one| one.id == row.id).unwrap_or_default()
}

/// Runs one check in a home of its own.
fn one(sandbox: &Sandbox, name: &str, codes: &Mutex<BTreeSet<(String, i32)>>, check: impl FnOnce(&trial::Trial<'_>) -> Checked) -> Outcome {
    let trial = match sandbox.trial(name) {
        Ok(trial) => trial,
        Err(trouble) => return Outcome { status: "not_measured", note: trouble.message, evidence: Vec::new() },
    };
    let (status, note) = match check(&trial) {
        Ok(()) => ("pass", String::new()),
        Err(Miss::Fail(note)) => ("fail", note),
        Err(Miss::Partial(note)) => ("partial", note),
        Err(Miss::NotMeasured(note)) => ("not_measured", note),
    };
    codes.lock().extend(trial.codes());
    Outcome { status, note, evidence: trial.evidence() }
}

fn measured(rows: &[(&Row, Outcome)]) -> usize {
    rows.iter().filter(|(_, outcome)| outcome.status != "not_measured").count()
}

fn verdict(rows: &[(&Row, Outcome)]) -> (String, bool) {
    let failed = rows.iter().filter(|(_, outcome)| matches!(outcome.status, "fail")).count();
    let tier = official::tier(rows);
    let claim = match tier {
        0 => "no tier can be claimed".to_owned(),
        tier => format!("tier {tier} can be claimed"),
    };
    if failed == 0 { (claim, true) } else { (format!("{claim} ({failed} failed)"), false) }
}

fn finding(row: &Row, outcome: Outcome) -> Finding {
    let status = match outcome.status {
        "pass" => Status::Passed,
        "fail" => Status::Failed,
        _ => Status::NotTested,
    };
    let note = if outcome.status == "partial" { format!("partly: {}", outcome.note) } else { outcome.note };
    Finding {
        id: row.id.to_owned(),
        tck: Vec::new(),
        level: Level::Must,
        clause: format!("tier {}", row.tier),
        title: row.requirement.to_owned(),
        place: String::new(),
        status,
        note,
        evidence: outcome.evidence,
    }
}
