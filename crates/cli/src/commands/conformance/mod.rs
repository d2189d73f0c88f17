//! `a2a conformance`: does an agent keep the rules of the protocol; does this program keep those of its own.

mod choice;
mod cli;
mod finding;
mod report;

use self::{
    choice::Choice,
    finding::{Finding, Report, Status},
};
use crate::{args::Conformance, context::Context, trouble::Trouble};

pub(crate) async fn run(context: &Context, args: &Conformance) -> Result<(), Trouble> {
    args.report.iter().try_for_each(|path| report::ending(path).map(drop))?;
    let choice = Choice { only: args.only.clone(), skip: args.skip.clone() };
    if args.cli {
        if args.list {
            return list(context, &cli::listed());
        }
        let found = cli::run(context, &choice)?;
        args.report.iter().try_for_each(|path| report::write(path, &found.report, &found.official))?;
        return told(context, args, &found.report);
    }
    Err(Trouble::not_built("conformance of agents"))
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

/// Shows what was found, and ends badly if it is bad.
fn told(context: &Context, args: &Conformance, report: &Report) -> Result<(), Trouble> {
    context.printer.result(&report.document(), |text| {
        text.field(if report.suite == "cli" { "Program" } else { "Agent" }, &report.subject);
        if !report.interfaces.is_empty() {
            text.field("Interfaces", &report.interfaces.join(", "));
        }
        for status in [Status::Failed, Status::NotTested] {
            for finding in report.findings.iter().filter(|finding| finding.status == status) {
                text.field(finding.word(), &format!("{}: {}", finding.heading(), finding.note));
            }
        }
        text.field("Result", &report.result());
        text.field("Verdict", &report.verdict.0);
    })?;
    match report.verdict.1 || args.fail_on == "never" {
        true => Ok(()),
        false => Err(Trouble::own("CHECKS_FAILED", report.verdict.0.clone()).reported()),
    }
}
