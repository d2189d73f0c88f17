//! What `chancery::testing` says when an agent does something else than a test expects.

use chancery::{Artifact, Failure, Outcome, Turn, testing::Client};

async fn writer(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Writing").await?;
    let mut poem = turn.artifact("poem.txt");
    poem.push_all(["The tide ", "comes "]).await?;
    poem.push_all(Vec::<String>::new()).await?;
    poem.push("and goes.").await?;
    poem.finish().await?;
    Ok(Outcome::complete_with(Artifact::of(["one", "two"]).named("list")))
}

/// What a test that fails says.
async fn words(test: impl Future<Output = ()> + Send + 'static) -> String {
    let panic = tokio::spawn(test).await.expect_err("the test passes").into_panic();
    *panic.downcast::<String>().expect("a panic with words")
}

#[tokio::test]
async fn an_event_that_does_not_come_is_named_with_what_came() {
    let test = async {
        let mut events = Client::new(writer).stream("go").await.unwrap();
        events.expect_working("Reading").await;
    };
    let said = words(test).await;
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[0].contains("tests/it/testing.rs:"), "where it was expected: {said}");
    assert!(lines[0].ends_with(r#"expected the status TASK_STATE_WORKING "Reading", but the stream ended"#), "{said}");
    assert_eq!(lines[1], "what came:");
    assert!(lines[2].starts_with("  1 task "), "{said}");
    assert!(said.contains(r#"artifact "poem.txt": "The tide comes ""#), "{said}");
    assert!(said.ends_with(r#"status TASK_STATE_COMPLETED """#), "{said}");
}

#[tokio::test]
async fn an_answer_that_is_another_is_shown() {
    let test = async {
        Client::new(writer).send("go").await.unwrap().expect_completed().expect_artifact("The tide comes and goes.").expect_message("done");
    };
    let said = words(test).await;
    assert_eq!(
        said,
        r#"expected the message "done", but the answer is a task: TASK_STATE_COMPLETED "", the artifact "poem.txt": "The tide comes and goes.", the artifact "list": "onetwo""#
    );
}

#[tokio::test]
async fn parts_that_are_pushed_at_once_come_in_one_event() {
    let agent = Client::new(writer);
    let mut events = agent.stream("go").await.unwrap();
    let first = events.expect_artifact("The tide comes ").await;
    assert_eq!(first.parts.len(), 2);
    events.expect_artifact("The tide comes and goes.").await;
    assert_eq!(events.expect_artifact("onetwo").await.parts.len(), 2);
    events.expect_completed().await;
    events.expect_end().await;
}
