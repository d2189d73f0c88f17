//! An agent that is killed while another one does a part of its work.

use chancery::{Message, Task, TaskState, core::extension::DELEGATION};

use super::{
    Pair,
    process::{aware, text, unaware},
    proxy::Order,
};

/// DE-7: A is killed when B works on its call: before A has heard of B's task, when it has, and B ends meanwhile or later. B is asked once, and A
/// ends with what B said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_finds_its_call_again() {
    for (known, meanwhile) in [(false, false), (true, false), (true, true), (false, true)] {
        let mut pair = Pair::start().await;
        if !known {
            pair.proxy.order(Order::HoldAnswers);
        }
        let here = pair.a.visitor().await;
        let begun = here.begin(&unaware(), format!("delegate {} listen", pair.b.url)).await.unwrap();
        let there = pair.b_directly().await;
        if known {
            // A says in whose hands the work is.
            here.until(&unaware(), &begun.id, |task| said(task) == Some("TASK_STATE_WORKING")).await;
        } else {
            pair.proxy.held(1).await;
        }
        let theirs = there.tasks(&aware()).await;
        assert_eq!(theirs.len(), 1);
        let a = pair.a.kill().await;
        pair.proxy.order(Order::Lose);
        let word = async || {
            there.until(&aware(), &theirs[0].id, |task| task.state() == TaskState::Working).await;
            there.send(&aware(), Message::user("forty-two").to_task(theirs[0].id.clone())).await.unwrap();
        };
        if meanwhile {
            word().await;
            assert_eq!(there.end(&aware(), &theirs[0].id).await.state(), TaskState::Completed);
        }
        pair.a = a.start().await;
        if !meanwhile {
            word().await;
        }
        let end = pair.a.visitor().await.end(&unaware(), &begun.id).await;
        assert_eq!((end.state(), text(&end)), (TaskState::Completed, vec!["forty-two"]), "{known} {meanwhile}: {end:?}");
        assert_eq!((there.tasks(&aware()).await.len(), pair.b.runs()), (1, 1), "{known} {meanwhile}");
        assert_eq!(pair.a.runs(), 2, "{known} {meanwhile}");
    }
}

/// DE-1, DE-3: a call that is done at once is one request; one that takes longer is watched, and B does it once all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_takes_longer_is_watched_and_made_once() {
    let pair = Pair::start().await;
    let (here, there) = (pair.a.visitor().await, pair.b_directly().await);
    let done = here.send(&unaware(), format!("delegate {} work", pair.b.url)).await.unwrap();
    assert_eq!((done.state(), text(&done)), (TaskState::Completed, vec!["work"]));
    assert_eq!(there.tasks(&aware()).await.len(), 1);

    let begun = here.begin(&unaware(), format!("delegate {} listen", pair.b.url)).await.unwrap();
    here.until(&unaware(), &begun.id, |task| said(task) == Some("TASK_STATE_WORKING")).await;
    assert!(pair.proxy.asked().iter().any(|asked| asked.body.contains("SendStreamingMessage")));
    let theirs = there.tasks(&aware()).await;
    let works = theirs.iter().find(|task| task.state() == TaskState::Working).unwrap();
    there.send(&aware(), Message::user("well").to_task(works.id.clone())).await.unwrap();
    let end = here.end(&unaware(), &begun.id).await;
    assert_eq!((end.state(), text(&end)), (TaskState::Completed, vec!["well"]));
    assert_eq!((there.tasks(&aware()).await.len(), pair.b.runs()), (2, 2));
}

/// DE-6: canceling A's task cancels what B does for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canceling_a_task_cancels_what_others_do_for_it() {
    let pair = Pair::start().await;
    let (here, there) = (pair.a.visitor().await, pair.b_directly().await);
    let begun = here.begin(&unaware(), format!("delegate {} wait", pair.b.url)).await.unwrap();
    here.until(&unaware(), &begun.id, |task| said(task) == Some("TASK_STATE_WORKING")).await;
    assert_eq!(here.cancel(&unaware(), &begun.id).await.unwrap().state(), TaskState::Canceled);
    assert_eq!(there.tasks(&aware()).await.iter().map(|task| task.state()).collect::<Vec<_>>(), [TaskState::Canceled]);
}

/// The state of B's task, as A tells it.
fn said(task: &Task) -> Option<&str> {
    task.status.message.as_ref()?.metadata.get(DELEGATION)?["state"].as_str()
}
