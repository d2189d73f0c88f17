//! Programs that speak `a2a-jsonl/1`.

use super::*;

/// Answers each line with what the function `on_task` and `on_message` of the test print.
fn speaker(functions: &str) -> String {
    format!(
        "on_message() {{ :; }}\non_cancel() {{ exit 0; }}\n{functions}\nwhile read -r line; do\n  echo \"$line\" >> heard\n  id=$(printf '%s' \"$line\" | sed 's/.*\"taskId\":\"\\([^\"]*\\)\".*/\\1/')\n  case \"$line\" in\n  *'\"type\":\"task\"'*) on_task;;\n  *'\"type\":\"message\"'*) on_message;;\n  *'\"type\":\"cancel\"'*) on_cancel;;\n  *'\"type\":\"shutdown\"'*) exit 0;;\n  esac\ndone\n"
    )
}

fn jsonl(settings: &str, functions: &str) -> Rig {
    Rig::new(&format!("mode = \"jsonl\"\n{settings}"), &speaker(functions))
}

fn heard(rig: &Rig) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(rig.folder.path("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_process_speaks_of_its_task() {
    let rig = jsonl(
        "",
        r#"on_task() {
          echo '{"type":"ready","skills":[]}'
          echo '{"type":"log","level":"debug","text":"begun"}'
          echo '{"type":"sing","tune":"la"}'
          echo '{"type":"status","state":"working","text":"thinking"}'
          echo '{"type":"artifact","artifactId":"a","text":"Hel","append":false}'
          echo '{"type":"artifact","artifactId":"a","text":"lo","append":true,"last":true}'
          echo '{"type":"artifact","artifactId":"b","parts":[{"data":{"x":1}},{"text":"y"}],"last":true}'
          echo '{"type":"status","state":"completed","text":"There you are."}'
        }"#,
    );
    let task = rig.send("hi").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Completed, "There you are."));
    let history: Vec<_> = task.history.iter().map(Message::text).collect();
    assert_eq!(history, ["hi", "thinking"]);
    let artifacts: Vec<_> = task.artifacts.iter().map(|artifact| (artifact.name.as_str(), artifact.parts.clone())).collect();
    assert_eq!(
        artifacts,
        [("a", vec![Part::text("Hel"), Part::text("lo")]), ("b", vec![Part::data(serde_json::json!({"x": 1})), Part::text("y")])]
    );
    rig.quiet().await;
    let heard = heard(&rig);
    assert_eq!(
        heard[0],
        serde_json::json!({"type":"hello","protocol":"a2a-jsonl/1","agent":{"id":"test","name":"test"},"lifetime":"task"})
    );
    assert_eq!((&heard[1]["taskId"], &heard[1]["message"]["parts"][0]["text"]), (&serde_json::json!(task.id), &serde_json::json!("hi")));
    assert_eq!(
        (&heard[1]["principal"], &heard[1]["handoff"], &heard[1]["skill"]),
        (&serde_json::Value::Null, &serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert!(heard[1]["deadline"].as_str().unwrap().ends_with('Z'));
    assert_eq!(heard[2]["type"], "shutdown");
}

/// The last line with something in it is the last chunk; a line that says nothing but that makes none.
#[tokio::test]
async fn the_last_chunk_of_a_process_is_one_with_content() {
    let rig = jsonl(
        "",
        r#"on_task() {
          echo '{"type":"status","state":"working"}'
          echo '{"type":"artifact","artifactId":"a","text":"Hel"}'
          echo '{"type":"artifact","artifactId":"a","parts":[{"text":"lo"},{"raw":"AAEC"}],"append":true,"last":true}'
          echo '{"type":"artifact","artifactId":"b","text":"x"}'
          echo '{"type":"artifact","artifactId":"b","append":true,"last":true}'
          echo '{"type":"status","state":"completed"}'
        }"#,
    );
    let mut stream = rig.engine.stream_message(&Caller::anonymous(), SendMessage::new("x")).await.unwrap();
    let mut chunks = Vec::new();
    while let Some(event) = within(poll_fn(|cx| stream.as_mut().poll_next(cx))).await {
        match event.unwrap().1.into_event() {
            Event::Artifact(update) => chunks.push((update.artifact.parts.len(), update.append, update.last_chunk)),
            Event::Status(update) => assert_eq!(update.status.message, None, "words that nobody said"),
            _ => {}
        }
    }
    assert_eq!(chunks[..2], [(1, false, false), (2, true, true)]);
    assert_eq!((chunks.len(), chunks[2].0), (3, 1), "{chunks:?}");
}

#[tokio::test]
async fn every_end_has_its_state() {
    for (line, state, said) in [
        (r#"{"type":"status","state":"completed"}"#, TaskState::Completed, ""),
        (r#"{"type":"status","state":"completed","text":"Done so."}"#, TaskState::Completed, "Done so."),
        (r#"{"type":"status","state":"failed","text":"Too stormy."}"#, TaskState::Failed, "Too stormy."),
        (r#"{"type":"status","state":"failed"}"#, TaskState::Failed, "The agent failed."),
        (r#"{"type":"status","state":"rejected","parts":[{"text":"No."}]}"#, TaskState::Rejected, "No."),
        (r#"{"type":"status","state":"canceled"}"#, TaskState::Failed, "The agent gave up the task."),
        (
            r#"{"type":"handoff","agent":"other"}"#,
            TaskState::Failed,
            "The task is not handed over: the file of this agent has no section [handoff].",
        ),
        ("not json", TaskState::Failed, "The agent's process broke its protocol."),
    ] {
        let rig = jsonl("", &format!("on_task() {{ echo '{line}'; }}"));
        let task = rig.send("hi").await;
        assert_eq!((task.state(), words(&task).as_str()), (state, said), "{line}");
        rig.quiet().await;
    }
}

#[tokio::test]
async fn a_reply_needs_no_task() {
    let rig = jsonl("", r#"on_task() { echo '{"type":"reply","text":"hello"}'; }"#);
    let reply = within(rig.engine.send_message(&Caller::anonymous(), SendMessage::new("hi"))).await.unwrap();
    assert!(matches!(reply, SendReply::Message(message) if message.text() == "hello"));
}

#[tokio::test]
async fn an_exit_ends_the_task() {
    let task = jsonl("", "on_task() { exit 0; }").send("x").await;
    assert_eq!(task.state(), TaskState::Completed);
    let crash = r#"on_task() { echo '{"type":"artifact","artifactId":"a","text":"half"}'; exit 9; }"#;
    let task = jsonl("", crash).send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent's process ended with exit status 9."));
    assert_eq!(text_of(&task), "half");
}

#[tokio::test]
async fn a_question_is_answered_to_the_same_process() {
    let functions = r#"
      on_task() { echo '{"type":"status","state":"input-required","text":"Which quay?"}'; }
      on_message() { echo '{"type":"artifact","text":"same '$$'","last":true}'; echo $$ > pid; echo '{"type":"status","state":"completed"}'; }
    "#;
    for lifetime in ["task", "pool"] {
        let rig = jsonl(&format!("lifetime = \"{lifetime}\"\n"), functions);
        let asked = rig.send("book").await;
        assert_eq!((asked.state(), words(&asked).as_str()), (TaskState::InputRequired, "Which quay?"));
        let done = rig.answer(&asked, "north").await;
        assert_eq!((done.state(), text_of(&done)), (TaskState::Completed, format!("same {}", rig.written("pid").await)));
        let heard = heard(&rig);
        assert_eq!(
            (&heard[2]["type"], &heard[2]["message"]["parts"][0]["text"]),
            (&serde_json::json!("message"), &serde_json::json!("north"))
        );
    }
}

#[tokio::test]
async fn a_process_that_asks_and_goes_is_started_again_with_the_history() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"history":[]'*) echo '{"type":"status","state":"input-required","text":"Which quay?"}'; exit 0;;
        *) echo '{"type":"status","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("", functions);
    let asked = rig.send("book").await;
    assert_eq!(asked.state(), TaskState::InputRequired);
    assert_eq!(rig.answer(&asked, "north").await.state(), TaskState::Completed);
    rig.quiet().await;
    let heard = heard(&rig);
    let second = heard.iter().rfind(|line| line["type"] == "task").unwrap();
    let history: Vec<_> =
        second["history"].as_array().unwrap().iter().map(|message| message["parts"][0]["text"].as_str().unwrap()).collect();
    assert_eq!((history, &second["message"]["parts"][0]["text"]), (vec!["book", "Which quay?"], &serde_json::json!("north")));
}

#[tokio::test]
async fn nothing_is_delegated_when_nothing_is_said_about_it() {
    let functions = r#"
      on_task() { echo '{"type":"delegate","call":"c1","agent":"other","text":"x"}'; read -r line; echo "$line" >> heard; echo '{"type":"status","state":"completed"}'; }
    "#;
    let rig = jsonl("", functions);
    assert_eq!(rig.send("x").await.state(), TaskState::Completed);
    let answer = heard(&rig).into_iter().find(|line| line["type"] == "delegated").unwrap();
    assert_eq!(
        (&answer["call"], &answer["error"]["code"], &answer["error"]["message"]),
        (&"c1".into(), &"not_configured".into(), &"the file of this agent has no section [handoff]".into())
            as (&serde_json::Value, &serde_json::Value, &serde_json::Value)
    );
}

#[tokio::test]
async fn lines_that_are_no_json_are_text_when_that_is_wanted() {
    let rig = jsonl("lenient = true\n", r#"on_task() { echo hello; echo there; echo '{"type":"status","state":"completed"}'; }"#);
    let task = rig.send("x").await;
    assert_eq!((task.state(), text_of(&task).as_str()), (TaskState::Completed, "hello\nthere\n"));
}

#[tokio::test]
async fn a_line_may_not_be_too_long() {
    let rig =
        jsonl("kill_after = \"100ms\"\n", "on_task() { awk 'BEGIN { for (i = 0; i < 1100000; i++) printf \"x\"; printf \"\\n\" }'; }");
    let task = rig.send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent's process broke its protocol."));
    rig.quiet().await;
}

#[tokio::test]
async fn cancel_is_said_before_it_is_enforced() {
    let polite = jsonl("kill_after = \"1h\"\n", "on_task() { echo x > ready; }\non_cancel() { echo \"$line\" > canceled; exit 0; }");
    let task = polite.begin("x").await;
    polite.written("ready").await;
    polite.cancel(&task.id).await;
    assert!(polite.written("canceled").await.contains(task.id.as_str()));
    polite.quiet().await;
    let deaf = jsonl("kill_after = \"100ms\"\n", "trap '' TERM\non_task() { echo $$ > pid; while :; do sleep 0.05; done; }");
    let task = deaf.begin("x").await;
    let pid = deaf.written("pid").await;
    deaf.cancel(&task.id).await;
    until(|| (!alive(&pid)).then_some(())).await;
    deaf.quiet().await;
}

#[tokio::test]
async fn a_pool_serves_many_tasks_with_one_process_and_is_started_again_after_a_crash() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"text":"crash"'*) exit 1;;
        *) echo '{"type":"artifact","taskId":"'$id'","text":"'$$'","last":true}'; echo '{"type":"status","taskId":"'$id'","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nmax_processes = 1\n", functions);
    let first = text_of(&rig.send("x").await);
    assert_eq!(text_of(&rig.send("x").await), first);
    let crashed = rig.send("crash").await;
    assert_eq!((crashed.state(), words(&crashed).as_str()), (TaskState::Failed, "The agent's process ended with exit status 1."));
    let began = std::time::Instant::now();
    let second = rig.send("x").await;
    assert_eq!(second.state(), TaskState::Completed);
    assert_ne!(text_of(&second), first);
    // The pause of one second began with the crash, which was noticed at most a moment before.
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    within(rig.children.stop()).await;
    assert!(!alive(&first));
}

#[tokio::test]
async fn a_canceled_task_of_a_pool_leaves_the_others_alone() {
    let functions = r#"
      on_task() { echo "$id" >> tasks; }
      on_cancel() { echo "$id" > canceled; }
      on_message() { echo '{"type":"status","taskId":"'$id'","state":"completed"}'; }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nmax_processes = 1\nkill_after = \"100ms\"\n", functions);
    let (first, second) = (rig.begin("x").await, rig.begin("x").await);
    until(|| std::fs::read_to_string(rig.folder.path("tasks")).ok().filter(|text| text.lines().count() == 2)).await;
    rig.cancel(&first.id).await;
    assert_eq!(rig.written("canceled").await, first.id.as_str());
    assert_eq!(rig.answer(&second, "go").await.state(), TaskState::Completed);
    within(rig.children.stop()).await;
}

#[tokio::test]
async fn a_process_of_a_pool_that_breaks_the_protocol_is_replaced() {
    let functions = r#"
      on_task() {
        case "$line" in
        *'"text":"babble"'*) echo $$ > pid; echo babble;;
        *) echo '{"type":"status","taskId":"'$id'","state":"completed"}';;
        esac
      }
    "#;
    let rig = jsonl("lifetime = \"pool\"\nkill_after = \"100ms\"\n", functions);
    let broken = rig.send("babble").await;
    assert_eq!((broken.state(), words(&broken).as_str()), (TaskState::Failed, "The agent's process broke its protocol."));
    let pid = rig.written("pid").await;
    until(|| (!alive(&pid)).then_some(())).await;
    assert_eq!(rig.send("x").await.state(), TaskState::Completed);
    within(rig.children.stop()).await;
}

#[tokio::test]
async fn only_the_time_of_the_process_counts() {
    let functions = r#"
      on_task() { echo '{"type":"status","state":"auth-required","text":"Sign in"}'; }
      on_message() { echo '{"type":"status","state":"completed"}'; }
    "#;
    let settings = "timeout = \"1s\"\nkill_after = \"50ms\"\n";
    let (asking, silent) = (jsonl(settings, functions), jsonl(settings, "on_task() { :; }"));
    let asked = asking.send("x").await;
    assert_eq!(asked.state(), TaskState::AuthRequired);
    // Begun later and over: so the client took longer for its answer than the agent may.
    let task = silent.send("x").await;
    assert_eq!((task.state(), words(&task).as_str()), (TaskState::Failed, "The agent took too long."));
    silent.quiet().await;
    assert_eq!(asking.answer(&asked, "done").await.state(), TaskState::Completed);
}

/// The queue to a client that reads nothing is finite; what is said arrives all the same.
#[tokio::test]
async fn a_process_that_says_much_is_slowed_and_nothing_is_lost() {
    let functions = "on_task() { awk 'BEGIN { for (i = 0; i < 5000; i++) printf \"{\\\"type\\\":\\\"artifact\\\",\\\"artifactId\\\":\\\"a\\\",\\\"text\\\":\\\"%d \\\",\\\"append\\\":%s}\\n\", i, (i ? \"true\" : \"false\") }'; echo '{\"type\":\"status\",\"state\":\"completed\"}'; }";
    let task = jsonl("", functions).send("x").await;
    let expected: String = (0..5_000).map(|number| format!("{number} ")).collect();
    assert_eq!((task.state(), text_of(&task)), (TaskState::Completed, expected));
}
