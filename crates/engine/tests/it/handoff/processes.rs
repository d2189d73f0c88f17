//! Handoffs by processes that share a store: one takes over from another, and two do not do the same.

use super::*;

/// Processes of agent A that share a store, and time that moves when the test says so.
struct House {
    net: Net,
    store: Arc<dyn Store>,
    clock: ManualClock,
}

impl House {
    fn new() -> Self {
        Self { net: Net::default(), store: Arc::new(Memory::new()), clock: ManualClock::new(1_800_000_000_000) }
    }

    fn process(&self, passing: Passing) -> Engine {
        let builder = Engine::new(card("a"), agent).passing(passing).shared_store(self.store.clone());
        builder.clock(self.clock.clone()).lease(Duration::from_secs(15)).by_hand().start()
    }
}

/// HO-15, HO-T1, HO-T2: a process that dies after the message was sent, and another that takes over. With an agent that knows of handoffs
/// there is one task in the end; with another one it cannot be known, and nothing is done twice unless that is wanted.
#[tokio::test]
async fn another_process_finishes_a_handoff() {
    for (old, policy, tasks_there, end) in [
        (false, OnAmbiguous::Fail, 1, TaskState::Completed),
        (true, OnAmbiguous::Fail, 1, TaskState::Failed),
        (true, OnAmbiguous::Retry, 2, TaskState::Completed),
    ] {
        let house = House::new();
        let b = if old { Engine::new(card("b"), agent).start() } else { builder(&house.net, "b").start() };
        house.net.add("b", b.clone());
        let first = house.process(house.net.passing("a").on_ambiguous(policy));
        house.net.fail(Fault::Never);
        let begun = begin(&first, &aware(), "to b wait").await;
        // The message arrives, and whoever sent it is gone before the answer comes.
        while tasks(&b).await.is_empty() {
            tokio::task::yield_now().await;
        }
        let prepared = task(&first, &aware(), &begun.id).await;
        assert!(prepared.status.message.unwrap().text().contains("Handing over"));
        first.shutdown(Duration::ZERO).await;
        drop(first);
        let second = house.process(house.net.passing("a").on_ambiguous(policy));
        house.clock.advance(Duration::from_secs(60));
        second.look_after().await.unwrap();
        let done = until(&second, &aware(), &begun.id, |task| task.status.state.is_terminal()).await;
        assert_eq!(done.status.state, end, "{old} {policy:?}: {done:?}");
        assert_eq!(tasks(&b).await.len(), tasks_there, "{old} {policy:?}");
        if end == TaskState::Failed {
            assert_eq!(code(&done), "ambiguous");
        } else if !old {
            assert_eq!(transfer(&done).task_id, tasks(&b).await[0].id);
        }
    }
}

/// HO-15, HO-22: what a client says while its task is being handed over reaches the other agent, also when the process dies meanwhile.
#[tokio::test]
async fn a_message_to_a_task_that_is_being_handed_over_is_not_lost() {
    let house = House::new();
    let b = start(&house.net, "b");
    let first = house.process(house.net.passing("a"));
    house.net.fail(Fault::Never);
    let begun = begin(&first, &unaware(), "to b converse").await;
    while tasks(&b).await.is_empty() {
        tokio::task::yield_now().await;
    }
    let mut more = SendMessage::new(Message::user("North").to_task(begun.id.clone()));
    more.configuration.return_immediately = true;
    first.send_message(&unaware(), more).await.unwrap();
    first.shutdown(Duration::ZERO).await;
    drop(first);
    let second = house.process(house.net.passing("a"));
    house.clock.advance(Duration::from_secs(60));
    second.look_after().await.unwrap();
    let done = until(&second, &unaware(), &begun.id, |task| task.status.state.is_terminal()).await;
    assert_eq!((done.status.state, done.artifacts.last().unwrap().parts[0].as_text()), (TaskState::Completed, Some("North")));
    assert_eq!(tasks(&b).await.len(), 1);
}

/// HO-15, HO-23: a relay goes on in another process, and nothing is told twice.
#[tokio::test]
async fn another_process_goes_on_with_a_relay() {
    let house = House::new();
    let b = start(&house.net, "b");
    let first = house.process(house.net.passing("a"));
    let begun = begin(&first, &unaware(), "to b converse").await;
    until(&first, &unaware(), &begun.id, |task| task.status.state == TaskState::InputRequired).await;
    first.shutdown(Duration::ZERO).await;
    drop(first);
    let second = house.process(house.net.passing("a"));
    house.clock.advance(Duration::from_secs(60));
    second.look_after().await.unwrap();
    let waits = until(&second, &unaware(), &begun.id, |task| task.status.state == TaskState::InputRequired).await;
    assert_eq!(waits.artifacts.len(), 1);
    let said: Vec<_> = waits.history.iter().chain(&waits.status.message).map(|message| message.message_id.clone()).collect();
    assert_eq!(said.iter().collect::<std::collections::BTreeSet<_>>().len(), said.len(), "{:?}", waits.history);
    let answer = SendMessage::new(Message::user("North").to_task(begun.id.clone()));
    let SendReply::Task(done) = second.send_message(&unaware(), answer).await.unwrap() else { panic!("no task") };
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(done.artifacts.iter().map(|artifact| artifact.artifact_id.as_str()).collect::<Vec<_>>(), ["result", "answer"]);
    assert_eq!(tasks(&b).await.len(), 1);
}

/// HO-T9: two processes hand over one task at the same moment; one of them wins, and the other agent has one task.
#[tokio::test]
async fn of_two_handoffs_of_one_task_one_wins() {
    let house = House::new();
    let b = start(&house.net, "b");
    let asks = |turn: Turn| async move {
        if turn.text() == "ask" { Ok(Outcome::ask("To whom?")) } else { Ok(Outcome::transfer(Handoff::to(url("b")).part("wait"))) }
    };
    let process = || {
        let builder = Engine::new(card("a"), asks).passing(house.net.passing("a")).shared_store(house.store.clone());
        builder.clock(house.clock.clone()).by_hand().start()
    };
    let (first, second) = (process(), process());
    let waits = send(&first, &aware(), "ask").await;
    // Both know the task before either of them changes it.
    assert_eq!(task(&second, &aware(), &waits.id).await.status.state, TaskState::InputRequired);
    let hold = house.net.hold();
    let mut sending = tokio::task::JoinSet::new();
    for engine in [first.clone(), second.clone()] {
        let request = SendMessage::new(Message::user("b").to_task(waits.id.clone()));
        sending.spawn(async move { engine.send_message(&aware(), request).await });
    }
    hold.add_permits(100);
    let (mut won, mut lost) = (0, 0);
    while let Some(sent) = sending.join_next().await {
        match sent.unwrap() {
            Ok(SendReply::Task(task)) => won += usize::from(transfer(&task).agent_endpoint == url("b")),
            Ok(other) => panic!("{other:?}"),
            Err(error) => lost += usize::from(matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::UnsupportedOperation)),
        }
    }
    assert_eq!((won, lost, tasks(&b).await.len()), (1, 1, 1));
}

/// HO-15, HO-T9: while a process hands a task over, another takes neither messages for it nor its cancelation. When that process
/// is gone, a message is enough for the other to go on with the handoff, and to bring the message along.
#[tokio::test]
async fn a_handoff_of_another_process_is_left_alone_or_gone_on_with() {
    let house = House::new();
    let b = start(&house.net, "b");
    let (first, second) = (house.process(house.net.passing("a")), house.process(house.net.passing("a")));
    house.net.fail(Fault::Never);
    let begun = begin(&first, &unaware(), "to b converse").await;
    while house.net.sent() == 0 {
        tokio::task::yield_now().await;
    }
    let word = || SendMessage::new(Message::user("North").to_task(begun.id.clone()));
    let refused = second.send_message(&unaware(), word()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message()), (ErrorKind::Unavailable, "Another process works on this task"));
    let refused = second.cancel_task(&unaware(), CancelTask::new(begun.id.clone())).await.unwrap_err();
    assert_eq!((refused.kind(), refused.message()), (ErrorKind::Unavailable, "Another process works on this task"));
    assert_eq!((house.net.sent(), tasks(&b).await.len()), (1, 1));

    first.shutdown(Duration::ZERO).await;
    drop(first);
    house.clock.advance(Duration::from_secs(60));
    let mut word = word();
    word.configuration.return_immediately = true;
    second.send_message(&unaware(), word).await.unwrap();
    let end = until(&second, &unaware(), &begun.id, |task| task.status.state.is_terminal()).await;
    assert_eq!(end.status.state, TaskState::Completed, "{end:?}");
    assert_eq!(end.artifacts.iter().map(|artifact| artifact.artifact_id.as_str()).collect::<Vec<_>>(), ["result", "answer"]);
    assert_eq!(tasks(&b).await.len(), 1);
}

/// A process does not end the turn of another by sending a message; it can cancel the task.
#[tokio::test]
async fn a_turn_of_another_process_goes_on_unless_it_is_canceled() {
    let house = House::new();
    let (first, second) = (house.process(house.net.passing("a")), house.process(house.net.passing("a")));
    let begun = begin(&first, &aware(), "wait").await;
    let word = SendMessage::new(Message::user("more").to_task(begun.id.clone()));
    assert_eq!(second.send_message(&aware(), word).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(task(&first, &aware(), &begun.id).await.status.state, TaskState::Working);
    let canceled = second.cancel_task(&aware(), CancelTask::new(begun.id.clone())).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled);
}
