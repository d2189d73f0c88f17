//! The checks against a small agent of the library.

use chancery::{Card, Failure, Outcome, Server, Turn, store::Memory};
use chancery_check::{FailOn, Level, Options, Selection, Status, Suite, Target};
use chancery_client::Client;

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::complete_with(chancery::Artifact::new(turn.text()).named("echo")))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_the_library_keeps_every_rule_that_can_be_provoked() {
    let card = Card::new("Echo", "Repeats").skill("echo", "Says your words back").streaming(true).push_notifications(true);
    let running = Server::new(card, echo).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let target = Target::read(Client::builder(), running.url()).await.unwrap();
    let options = Options { level: Level::Must, fail_on: FailOn::Must, ..Options::default() };
    let report = chancery_check::run(&target, &options, &|_| {}).await.unwrap();
    let failed: Vec<_> = report.findings.iter().filter(|finding| finding.status == Status::Failed).collect();
    assert!(failed.is_empty() && report.verdict.1, "{failed:#?}");
    assert!(report.count("Passed") > 100 && report.interfaces.len() == 3, "{}", report.result());

    // Only what is chosen is run, and nothing that makes tasks when that is not wanted.
    let selection = Selection { only: vec!["V10-GET-*".to_owned()], skip: vec!["*-002".to_owned()] };
    let options = Options { suite: Suite::Tck, selection, read_only: true, versions: vec!["1.0".to_owned()], ..Options::default() };
    let report = chancery_check::run(&target, &options, &|_| {}).await.unwrap();
    assert!(report.findings.iter().all(|finding| finding.id == "V10-GET-001" && finding.note == "it makes a task"), "{report:?}");
    running.shutdown().await;
}
