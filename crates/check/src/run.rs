//! The run of all checks over an agent, one after the other.

use std::time::Instant;

use crate::{
    FailOn, OnTimeout, Options, Progress, Result, Target,
    agent::{self, Agent, Miss, Place},
    checks::{CHECKS, Check, Scope},
    finding::{Finding, Level, Report, Status},
};

/// Runs the checks that the options choose, and tells how far it is.
///
/// # Errors
/// As [`Run::begin`]. What the agent does wrong is in the report.
pub async fn run(target: &Target, options: &Options, progress: &dyn Fn(Progress<'_>)) -> Result<Report> {
    let mut run = Run::begin(target, options).await?;
    while run.next(progress).await {}
    Ok(run.report())
}

/// A run, check by check: whoever stops halfway has the report of what was done.
pub struct Run<'a> {
    options: &'a Options,
    agent: Agent,
    steps: Vec<Step>,
    findings: Vec<Finding>,
    /// How many of the steps are done.
    done: usize,
    /// How many of them were not tested because something did not come in time.
    late: usize,
    begun: Instant,
}

/// One check in one place.
struct Step {
    check: &'static Check,
    /// The number of the interface, for checks of interfaces.
    interface: Option<usize>,
    /// Why it is not done.
    skipped: Option<&'static str>,
}

impl<'a> Run<'a> {
    /// A run of which nothing is done yet.
    ///
    /// # Errors
    /// The agent cannot be reached, or not with these options.
    pub async fn begin(target: &Target, options: &'a Options) -> Result<Self> {
        let begun = Instant::now();
        let (agent, findings) = agent::agent(target, options).await?;
        let steps = CHECKS.iter().filter(|check| options.takes(check)).flat_map(|check| steps(check, &agent, options)).collect();
        Ok(Self { options, agent, steps, findings, done: 0, late: 0, begun })
    }

    /// Does the next check, and says whether there was one. A future that is dropped before its end has done nothing.
    pub async fn next(&mut self, progress: &dyn Fn(Progress<'_>)) -> bool {
        let Some(step) = self.steps.get(self.done) else { return false };
        let (check, interface) = (step.check, step.interface.and_then(|at| self.agent.interfaces.get(at)));
        let place = interface.map(|interface| interface.binding.to_string()).unwrap_or_default();
        let (status, note) = match step.skipped {
            Some(why) => (Status::NotTested, why.to_owned()),
            None => {
                let (number, total) = (self.done + 1, self.steps.len());
                progress(Progress::Begun { id: check.id, place: &place, title: check.title, number, total });
                let begun = Instant::now();
                let (status, note, late) = outcome((check.run)(&Place { agent: &self.agent, interface }).await, self.options.on_timeout);
                self.late += usize::from(late);
                progress(Progress::Done { id: check.id, place: &place, status, took: begun.elapsed() });
                (status, note)
            }
        };
        self.findings.push(finding(check, &place, status, note));
        self.done += 1;
        true
    }

    /// What was found. Checks that are not done are not tested.
    #[must_use]
    pub fn report(self) -> Report {
        let Self { options, agent, steps, mut findings, done, late, begun } = self;
        let complete = done == steps.len();
        for step in &steps[done..] {
            let place = step.interface.and_then(|at| agent.interfaces.get(at)).map(|interface| interface.binding.to_string());
            findings.push(finding(step.check, &place.unwrap_or_default(), Status::NotTested, "the run was stopped before".to_owned()));
        }
        let (mut words, good) = verdict(&findings, options.fail_on);
        if late > 0 {
            words.push_str(&format!("; {late} {} ran out of time", if late == 1 { "check" } else { "checks" }));
        }
        if !complete {
            words = format!("stopped after {done} of {} checks: {words}", steps.len());
        }
        Report {
            subject: format!("{} {}", agent.card.name, agent.card.version),
            interfaces: agent.interfaces.iter().map(|interface| format!("{} 1.0", interface.binding)).collect(),
            suite: options.suite.as_str().to_owned(),
            findings,
            late,
            complete,
            took: begun.elapsed(),
            verdict: (words, good),
            ..Report::default()
        }
    }
}

/// Where a check is done.
fn steps(check: &'static Check, agent: &Agent, options: &Options) -> Vec<Step> {
    let skipped = (options.read_only && check.makes).then_some("it makes a task");
    if matches!(check.scope, Scope::Card | Scope::Agent) {
        return vec![Step { check, interface: None, skipped }];
    }
    let covered = agent.interfaces.iter().enumerate().filter(|(_, interface)| check.scope.covers(interface.binding));
    let steps: Vec<_> = covered.map(|(at, _)| Step { check, interface: Some(at), skipped }).collect();
    match steps.is_empty() {
        true => vec![Step { check, interface: None, skipped: Some("no interface of this kind is checked") }],
        false => steps,
    }
}

/// What a check came to: its status, why, and whether something did not come in time.
fn outcome(checked: Result<(), Miss>, on_timeout: OnTimeout) -> (Status, String, bool) {
    match checked {
        Ok(()) => (Status::Passed, String::new(), false),
        Err(Miss::Fail(note)) => (Status::Failed, note, false),
        Err(Miss::NotTested(note)) => (Status::NotTested, note, false),
        Err(Miss::Late(note)) if on_timeout == OnTimeout::Fail => (Status::Failed, note, false),
        Err(Miss::Late(note)) => (Status::NotTested, note, true),
    }
}

pub(crate) fn finding(check: &Check, place: &str, status: Status, note: String) -> Finding {
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
fn verdict(findings: &[Finding], fail_on: FailOn) -> (String, bool) {
    let failed = |level: Level| findings.iter().filter(|finding| finding.status == Status::Failed && finding.level == level).count();
    let (must, should) = (failed(Level::Must), failed(Level::Should) + failed(Level::May));
    let passed = findings.iter().filter(|finding| finding.status == Status::Passed).count();
    let bad = match fail_on {
        FailOn::Should => must + should,
        FailOn::Never => 0,
        FailOn::Must => must,
    };
    match (must, passed) {
        (0, 0) => ("nothing was tested".to_owned(), true),
        (0, _) if bad == 0 => ("conformant as far as it was tested".to_owned(), true),
        (0, _) => (format!("conformant, but {should} should failed"), false),
        _ => (format!("not conformant ({must} must failed)"), bad == 0),
    }
}
