//! An agent that is killed while another one does a part of its work.

use chancery::{Message, TaskState, core::extension::DELEGATION};

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
            here.until(&unaware(), &begun.id, |task| {
                let said = task.status.message.as_ref().and_then(|message| message.metadata.get(DELEGATION));
                said.is_some_and(|said| said["state"] == "TASK_STATE_WORKING")
            })
            .await;
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
