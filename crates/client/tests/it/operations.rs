//! Every operation in every way, against our own server.

use chancery_core::{
    Binding, CancelTask, DeletePushConfig, ErrorKind, Event, GetExtendedCard, GetPushConfig, GetTask, ListPushConfigs, ListTasks, Message,
    Operations, PushConfig, SendMessage, SendReply, Subscribe, TaskState, Version,
};

use crate::agent::{JSON_WAYS, Way, all, caller, next, serve, text_of, written};

pub async fn a_message_gets_its_answer(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let agent = way.to(server.url());
        let reply = agent.send("work hard").await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!((reply.text().as_str(), reply.state()), ("hard", TaskState::Completed), "{way:?}");
        // A direct answer is a message, but v0.1 has tasks only.
        let reply = agent.send("reply at once").await.unwrap();
        assert_eq!(reply.text(), "at once", "{way:?}");
        assert_eq!(reply.task().is_some(), way.1 == Version::V0_1, "{way:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_message_gets_its_answer_in_every_way() {
    a_message_gets_its_answer(&JSON_WAYS).await;
}

pub async fn a_stream_shows_every_event_once_and_in_order(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let events = way.to(server.url()).stream_message(&caller(), SendMessage::new("chunks 20")).await.unwrap();
        let events = all(events).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert!(matches!(&events[0].1, Event::Task(_)), "{way:?}: {:?}", events[0]);
        let expected: String = (0..20).map(|number| format!("{number};")).collect();
        assert_eq!(written(&events), expected, "{way:?}");
        let numbers: Vec<u64> = events.iter().map(|(seq, _)| seq.get()).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{way:?}");
        assert_eq!(events.last().unwrap().1.state(), Some(TaskState::Completed), "{way:?}");
        let task = events[0].1.task_id().unwrap();
        assert!(events.iter().all(|(_, event)| event.task_id() == Some(task)), "{way:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_stream_shows_every_event_once_and_in_order_in_every_way() {
    a_stream_shows_every_event_once_and_in_order(&JSON_WAYS).await;
}

pub async fn a_task_is_read_listed_watched_and_canceled(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let agent = way.to(server.url());
        let mut events = agent.stream_message(&caller(), SendMessage::new("wait for it")).await.unwrap();
        let (_, first) = next(&mut events).await.unwrap().unwrap();
        let id = first.task_id().unwrap().clone();

        let task = agent.task(id.clone()).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!((&task.id, task.state().is_terminal()), (&id, false), "{way:?}");

        match agent.list().await {
            Ok(page) => assert_eq!(page.tasks.iter().filter(|task| task.id == id).count(), 1, "{way:?}"),
            // CONV-SEND-001: v0.1 has no list.
            Err(error) => {
                assert_eq!((error.kind(), way.1), (ErrorKind::UnsupportedOperation, Version::V0_1), "{error:?}");
                assert!(error.message().contains("0.1"), "{error}");
            }
        }

        let mut watched = agent.subscribe(&caller(), Subscribe::new(id.clone())).await.unwrap();
        let (_, seen) = next(&mut watched).await.unwrap().unwrap();
        assert!(matches!(&seen, Event::Task(task) if task.id == id), "{way:?}: {seen:?}");

        let canceled = agent.cancel(id.clone()).await.unwrap();
        assert_eq!(canceled.state(), TaskState::Canceled, "{way:?}");
        for stream in [events, watched] {
            assert_eq!(all(stream).await.unwrap().last().unwrap().1.state(), Some(TaskState::Canceled), "{way:?}");
        }
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_task_is_read_listed_watched_and_canceled_in_every_way() {
    a_task_is_read_listed_watched_and_canceled(&JSON_WAYS).await;
}

pub async fn a_question_is_answered_in_the_same_task(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let agent = way.to(server.url());
        let reply = agent.send("ask Which quay?").await.unwrap();
        assert_eq!((reply.text().as_str(), reply.state()), ("Which quay?", TaskState::InputRequired), "{way:?}");
        let task = reply.task().unwrap();
        let answer = Message::user("the second").to_task(task.id.clone()).in_context(task.context_id.clone());
        let reply = agent.send(answer).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!(reply.task().map(|task| &task.id), Some(&task.id), "{way:?}");
        assert_eq!((text_of(reply.task().unwrap()).as_str(), reply.state()), ("heard the second", TaskState::Completed), "{way:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn a_question_is_answered_in_the_same_task_in_every_way() {
    a_question_is_answered_in_the_same_task(&JSON_WAYS).await;
}

/// The client writes, reads, lists and removes.
pub async fn push_configs_are_written_read_listed_and_removed(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let agent = way.to(server.url());
        let task = agent.send("ask Where?").await.unwrap().task().unwrap().id.clone();
        let none = agent.list_push_configs(&caller(), ListPushConfigs::new(task.clone())).await;
        assert!(none.unwrap_or_else(|error| panic!("{way:?}: {error:?}")).configs.is_empty(), "{way:?}");

        let wanted = PushConfig::new("http://127.0.0.1:9/hook").for_task(task.clone()).token("secret").id(task.as_str());
        let made = agent.create_push_config(&caller(), wanted).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!((made.url.as_str(), &made.task_id), ("http://127.0.0.1:9/hook", &task), "{way:?}");
        let read = agent.get_push_config(&caller(), GetPushConfig::new(task.clone(), made.id.clone())).await.unwrap();
        assert_eq!((read.url.as_str(), read.token.expose()), ("http://127.0.0.1:9/hook", "secret"), "{way:?}");
        let listed = agent.list_push_configs(&caller(), ListPushConfigs::new(task.clone())).await.unwrap().configs;
        assert_eq!(listed.iter().map(|config| &config.id).collect::<Vec<_>>(), [&made.id], "{way:?}");

        let removed = agent.delete_push_config(&caller(), DeletePushConfig::new(task.clone(), made.id)).await;
        // CONV-SEND-001: in v0.1 it may fail.
        assert!(removed.is_ok() || way.1 == Version::V0_1, "{way:?}: {removed:?}");
        let left = agent.list_push_configs(&caller(), ListPushConfigs::new(task)).await.unwrap().configs;
        assert_eq!(left.is_empty(), removed.is_ok(), "{way:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn push_configs_are_written_read_listed_and_removed_in_every_way() {
    push_configs_are_written_read_listed_and_removed(&JSON_WAYS).await;
}

pub async fn errors_are_of_the_right_kind(ways: &[Way]) {
    let server = serve().await;
    for way in ways {
        let agent = way.to(server.url());
        let missing = agent.get_task(&caller(), GetTask::new("no-such-task")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::TaskNotFound, "{way:?}: {missing:?}");
        let missing = agent.list_push_configs(&caller(), ListPushConfigs::new("no-such-task")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::TaskNotFound, "{way:?}: {missing:?}");
        // Before v1.0 the stream begins, and its first event is the error.
        let missing = match agent.subscribe(&caller(), Subscribe::new("no-such-task")).await {
            Err(error) => error,
            Ok(mut events) => events.try_next().await.unwrap_err(),
        };
        assert_eq!(missing.kind(), ErrorKind::TaskNotFound, "{way:?}: {missing:?}");

        let task = agent.send("work done").await.unwrap().task().unwrap().clone();
        let late = agent.cancel_task(&caller(), CancelTask::new(task.id.clone())).await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TaskNotCancelable, "{way:?}: {late:?}");
        let finished = Message::user("more").to_task(task.id.clone()).in_context(task.context_id.clone());
        let again = agent.send(finished).await;
        if way.1 == Version::V0_1 {
            // CONV-TASK-006: whoever names its tasks itself gets a new one under the same name.
            assert_eq!(again.unwrap().task().unwrap().id, task.id, "{way:?}");
        } else {
            let refused = again.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::UnsupportedOperation, "{way:?}: {refused:?}");
        }

        let mut empty = SendMessage::new("x");
        empty.message.parts.clear();
        let refused = agent.send_message(&caller(), empty).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidParams, "{way:?}: {refused:?}");

        let failed = agent.send("fail No wind").await.unwrap();
        assert_eq!((failed.text().as_str(), failed.state()), ("No wind", TaskState::Failed), "{way:?}");

        let card = agent.get_extended_card(&caller(), GetExtendedCard::default()).await;
        if *way == Way(Binding::Grpc, Version::V0_3) {
            // V03-GRPC-007: the call is for the card, and gives the public one when there is no other.
            assert_eq!(card.unwrap().name, "Obedient");
            continue;
        }
        let refused = card.unwrap_err().kind();
        let expected = [ErrorKind::UnsupportedOperation, ErrorKind::ExtendedAgentCardNotConfigured, ErrorKind::MethodNotFound];
        assert!(expected.contains(&refused), "{way:?}: {refused:?}");
    }
    server.shutdown().await;
}

#[tokio::test]
async fn errors_are_of_the_right_kind_in_every_way() {
    errors_are_of_the_right_kind(&JSON_WAYS).await;
}

/// CONV-SEND-003: whoever wants no history gets none, also from versions in which that cannot be said.
#[tokio::test]
async fn no_history_is_no_history() {
    let server = serve().await;
    for way in JSON_WAYS {
        let agent = way.to(server.url());
        let mut request = SendMessage::new("work hard");
        request.configuration.history_length = Some(0);
        let SendReply::Task(task) = agent.send_message(&caller(), request).await.unwrap() else { panic!("{way:?}: no task") };
        assert!(task.history.is_empty(), "{way:?}");
        let mut get = GetTask::new(task.id.clone());
        get.history_length = Some(0);
        assert!(agent.get_task(&caller(), get).await.unwrap().history.is_empty(), "{way:?}");
    }
    server.shutdown().await;
}

/// A list of a hundred tasks, page by page.
#[tokio::test]
async fn pages_of_a_list_follow_on_each_other() {
    let server = serve().await;
    let agent = JSON_WAYS[0].to(server.url());
    let mut sent = Vec::new();
    for _ in 0..25 {
        sent.push(agent.send("work hard").await.unwrap().task().unwrap().id.clone());
    }
    for way in JSON_WAYS.iter().filter(|way| way.1 != Version::V0_1) {
        let agent = way.to(server.url());
        let (mut request, mut listed) = (ListTasks::default(), Vec::new());
        request.page_size = Some(10);
        loop {
            let page = agent.list_tasks(&caller(), request.clone()).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
            listed.extend(page.tasks.into_iter().map(|task| task.id));
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        let newest_first: Vec<_> = sent.iter().rev().cloned().collect();
        assert_eq!(listed.len(), 25, "{way:?}");
        assert!(newest_first.iter().all(|id| listed.contains(id)), "{way:?}");
    }
    server.shutdown().await;
}

/// The same key is the same message: one task, one answer.
#[tokio::test]
async fn a_repeated_key_makes_no_second_task() {
    let server = serve().await;
    // Messages of v0.1 have no ids, and no two are the same.
    for way in JSON_WAYS.into_iter().filter(|way| way.1 != Version::V0_1) {
        let agent = way.to(server.url());
        let request = SendMessage::new("work hard");
        let caller = caller().idempotency_key(format!("{way:?}"));
        let first = agent.send_message(&caller, request.clone()).await.unwrap();
        let second = agent.send_message(&caller, request).await.unwrap_or_else(|error| panic!("{way:?}: {error:?}"));
        assert_eq!(first.task().unwrap().id, second.task().unwrap().id, "{way:?}");
    }
    server.shutdown().await;
}
