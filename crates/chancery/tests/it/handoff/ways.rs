//! How far a task may go, and that it goes one way only.

use chancery::{ErrorKind, Message, TaskState, core::Transfer};
use tokio::task::JoinSet;

use super::{
    Pair,
    process::{Folder, Process, Setup, Visitor, aware, code, transfer},
    proxy::Order,
};

/// HO-31, HO-32, HO-33, HO-T3: a loop is refused by whoever would close it, and by whoever is asked to take part.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_is_refused_on_both_sides() {
    // B does not hand back to A, and says so at once.
    let pair = Pair::start().await;
    let (here, there) = (pair.a.visitor().await, pair.b.visitor().await);
    let refused = here.send(&aware(), pair.to_b(&format!("to {} work", pair.a.url))).await.unwrap();
    assert_eq!((refused.state(), code(&refused)), (TaskState::Failed, "target_rejected"));
    let theirs = there.tasks(&aware()).await;
    assert_eq!(theirs.iter().map(|task| (task.state(), code(task))).collect::<Vec<_>>(), [(TaskState::Failed, "loop_detected")]);
    assert_eq!((here.tasks(&aware()).await.len(), pair.a.runs()), (1, 1));

    // Another B would, and A does not take it.
    let pair = Pair::with(|b| b.visits(2)).await;
    let (here, there) = (pair.a.visitor().await, pair.b.visitor().await);
    let begun = here.send(&aware(), pair.to_b(&format!("to {} work", pair.a.url))).await.unwrap();
    let theirs = there.tasks(&aware()).await;
    let refused = there.end(&aware(), &theirs[0].id).await;
    assert_eq!((theirs.len(), refused.state(), code(&refused)), (1, TaskState::Failed, "target_rejected"));
    let ours = here.tasks(&aware()).await;
    let declined: Vec<_> = ours.iter().filter(|task| task.id != begun.id).map(|task| (task.state(), code(task))).collect();
    assert_eq!(declined, [(TaskState::Rejected, "loop_detected")], "{ours:?}");
    assert_eq!(pair.a.runs(), 1);
}

/// HO-30, HO-31, HO-T4: nine agents in a row, three in each of three processes, stop at eight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_of_agents_ends_at_the_hop_limit() {
    let folder = Folder::new();
    let mut processes: Vec<Process> = Vec::new();
    for number in 0..3 {
        processes.push(Setup::new(folder.path(&number.to_string())).agents(3).start().await);
    }
    // Neighbors in the row are in different processes.
    let row: Vec<_> = (0..9).map(|place| format!("{}/{}", processes[place % 3].url, place / 3)).collect();
    let words = row[1..].iter().rev().fold("work".to_owned(), |words, agent| format!("to {agent} {words}"));
    let begun = Visitor::at(&row[0]).await.send(&aware(), words).await.unwrap();
    let (mut task, mut counts, mut ends) = (begun.id.clone(), Vec::new(), Vec::new());
    for (place, agent) in row.iter().enumerate() {
        let there = Visitor::at(agent).await;
        let tasks = there.tasks(&aware()).await;
        counts.push(tasks.len());
        let Some(known) = tasks.first() else { continue };
        let end = there.end(&aware(), &known.id).await;
        match Transfer::of(&end.metadata).unwrap() {
            Some(transfer) => {
                assert_eq!((&end.id, &transfer.agent_endpoint), (&task, &row[place + 1]));
                assert_eq!(transfer.hop.map(usize::try_from), Some(Ok(place + 1)));
                task = transfer.task_id;
            }
            None => ends.push((place, end.state(), code(&end).to_owned())),
        }
    }
    // The eighth agent may not hand over, and so the seventh has nobody who takes the task.
    let failed = |place, code: &str| (place, TaskState::Failed, code.to_owned());
    assert_eq!(ends, [failed(6, "target_rejected"), failed(7, "hop_limit")]);
    assert_eq!(counts, [1, 1, 1, 1, 1, 1, 1, 1, 0]);
    assert_eq!(processes.iter().map(Process::runs).collect::<Vec<_>>(), [3, 3, 2]);
}

/// HO-T9: two processes on the same data are told at the same moment to hand one task over; one of them does, and B has one task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_handoffs_of_one_task_one_wins() {
    let pair = Pair::start().await;
    let twin = Setup::new(pair.folder("a")).start().await;
    let (first, second) = (pair.a.visitor().await, twin.visitor().await);
    for round in 1..=5 {
        let waits = first.send(&aware(), "ask").await.unwrap();
        // Both know the task before either of them changes it.
        assert_eq!(second.task(&aware(), &waits.id).await.state(), TaskState::InputRequired);
        pair.proxy.order(Order::HoldMessages);
        let mut sending = JoinSet::new();
        for visitor in [first.clone(), first.clone(), second.clone(), second.clone()] {
            let message = Message::user(pair.to_b("wait")).to_task(waits.id.clone());
            sending.spawn(async move { visitor.send(&aware(), message).await });
        }
        pair.proxy.order(Order::Pass);
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        while let Some(sent) = sending.join_next().await {
            match sent.unwrap() {
                Ok(task) => won.push(transfer(&task)),
                Err(error) => lost.push(error.kind()),
            }
        }
        let there = pair.b_directly().await.tasks(&aware()).await;
        assert_eq!(there.len(), round, "{won:?} {lost:?}");
        assert!(!won.is_empty() && won.iter().all(|transfer| transfer.task_id == won[0].task_id), "{won:?} {lost:?}");
        assert!(lost.iter().all(|kind| matches!(kind, ErrorKind::Unavailable | ErrorKind::UnsupportedOperation)), "{lost:?}");
        let end = second.end(&aware(), &waits.id).await;
        assert_eq!(transfer(&end).task_id, won[0].task_id);
    }
}
