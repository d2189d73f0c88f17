//! Handoffs that are canceled: before anything was sent, while it is under way, and when it is done.

use chancery::{ErrorKind, TaskState, core::Transfer};

use super::{
    Pair,
    process::{Visitor, aware, transfer, unaware},
    proxy::Order,
};

/// Cancels while B's answer, or the message to B, is held back.
async fn cancel_while(order: Order) {
    let pair = Pair::start().await;
    pair.proxy.order(order);
    let here = pair.a.visitor().await;
    let begun = here.begin(&aware(), pair.to_b("wait")).await.unwrap();
    pair.proxy.held(1).await;
    let (visitor, id) = (here.clone(), begun.id.clone());
    let canceling = tokio::spawn(async move { visitor.cancel(&aware(), &id).await });
    arrived(&here).await;
    // Whoever sends finishes that first.
    assert!(!canceling.is_finished());
    assert_eq!(here.task(&aware(), &begun.id).await.state(), TaskState::Working);
    pair.proxy.order(Order::Pass);
    assert_eq!(canceling.await.unwrap().unwrap().state(), TaskState::Canceled, "{order:?}");
    let there = pair.b_directly().await.tasks(&aware()).await;
    assert_eq!(there.iter().map(|task| task.state()).collect::<Vec<_>>(), [TaskState::Canceled], "{order:?}");
    let end = here.task(&aware(), &begun.id).await;
    assert_eq!((end.state(), Transfer::of(&end.metadata).unwrap()), (TaskState::Canceled, None), "{order:?}");
}

/// What was sent before has arrived when so much was answered after it.
async fn arrived(here: &Visitor) {
    for _ in 0..20 {
        here.tasks(&aware()).await;
    }
}

/// HO-17, HO-T7: PREPARED, and B has heard nothing yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_is_canceled_while_its_message_is_under_way() {
    cancel_while(Order::HoldMessages).await;
}

/// HO-17, HO-T7: B has created the task, and A has not heard of it yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_is_canceled_while_its_answer_is_under_way() {
    cancel_while(Order::HoldAnswers).await;
}

/// HO-16, HO-17, HO-T7: PREPARED, and B cannot be reached: the pause before the next attempt ends with the cancellation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_is_canceled_between_attempts() {
    let pair = Pair::start().await;
    let here = pair.a.visitor().await;
    // A has the card already, so that it begins.
    let first = here.send(&aware(), pair.to_b("work")).await.unwrap();
    assert_eq!(first.state(), TaskState::Completed);
    pair.proxy.order(Order::Refuse);
    let b = pair.b.kill().await;
    let begun = here.begin(&aware(), format!("to {} work", pair.proxy.url)).await.unwrap();
    let canceled = here.cancel(&aware(), &begun.id).await.unwrap();
    assert_eq!(canceled.state(), TaskState::Canceled);
    let b = b.start().await;
    pair.proxy.order(Order::Pass);
    assert_eq!(b.runs(), 1);
    assert_eq!(b.visitor().await.tasks(&aware()).await.len(), 1);
}

/// HO-4, HO-17, HO-22, HO-T7: COMMITTED. Who knows of handoffs is told where to go; for all others it is canceled there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_was_handed_over_is_canceled_where_it_is() {
    let pair = Pair::start().await;
    let (here, there) = (pair.a.visitor().await, pair.b.visitor().await);
    let handed = here.send(&aware(), pair.to_b("wait")).await.unwrap();
    let error = here.cancel(&aware(), &handed.id).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    let told: Transfer = serde_json::from_str(&error.metadata()["transfer"]).unwrap();
    assert_eq!(told, transfer(&handed));
    assert_eq!(there.task(&aware(), &told.task_id).await.state(), TaskState::Working);

    let begun = here.begin(&unaware(), pair.to_b("wait")).await.unwrap();
    let handed = here.end(&aware(), &begun.id).await;
    let canceled = here.cancel(&unaware(), &begun.id).await.unwrap();
    assert_eq!(canceled.state(), TaskState::Canceled);
    assert_eq!(there.task(&aware(), &transfer(&handed).task_id).await.state(), TaskState::Canceled);
    // That it was handed over stays true.
    assert_eq!(transfer(&here.task(&aware(), &begun.id).await), transfer(&handed));
}

/// HO-15, HO-17: a cancellation that A was killed over is asked for again, and B's task is canceled with A's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_can_be_repeated_after_a_kill() {
    let mut pair = Pair::start().await;
    pair.proxy.order(Order::HoldAnswers);
    let here = pair.a.visitor().await;
    let begun = here.begin(&aware(), pair.to_b("wait")).await.unwrap();
    pair.proxy.held(1).await;
    let (visitor, id) = (here.clone(), begun.id.clone());
    let canceling = tokio::spawn(async move { visitor.cancel(&aware(), &id).await });
    arrived(&here).await;
    pair.a = pair.a.replace().await;
    assert!(canceling.await.unwrap().is_err(), "nobody was there to cancel");
    pair.proxy.held(2).await;
    let here = pair.a.visitor().await;
    let (visitor, id) = (here.clone(), begun.id.clone());
    let canceling = tokio::spawn(async move { visitor.cancel(&aware(), &id).await });
    arrived(&here).await;
    pair.proxy.order(Order::Pass);
    assert_eq!(canceling.await.unwrap().unwrap().state(), TaskState::Canceled);
    let there = pair.b_directly().await.tasks(&aware()).await;
    assert_eq!(there.iter().map(|task| task.state()).collect::<Vec<_>>(), [TaskState::Canceled]);
}
