//! Agents that are killed while they hand a task over.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::Duration,
};

use chancery::{
    Client, Engine, Operations as _, Passing, Sqlite, Task, TaskState,
    core::{GetTask, ListTasks, TaskId, Transfer},
    engine::clock::ManualClock,
};

use super::{
    Pair,
    process::{Folder, Setup, aware, card, code, text, transfer, unaware},
    proxy::{Order, Proxy},
};
use crate::{say, sdk_servers};

/// How often a process is killed at some moment, and how many tasks it hands over then.
const KILLS: u64 = 30;
const TASKS: usize = 6;

/// What the log of a process says that was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// Nothing was noted about a handoff.
    Nothing,
    Prepared,
    /// The other agent has the task, and everybody may know.
    Committed,
}

impl Found {
    fn of(task: &Task) -> Self {
        let said = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
        match Transfer::of(&task.metadata).unwrap() {
            Some(_) => Self::Committed,
            None if said.starts_with("Handing over to") => Self::Prepared,
            None => Self::Nothing,
        }
    }
}

/// Reads what a dead process has left, and changes nothing: to whom lives in 1970 no lease has run out.
async fn reader(folder: &Path) -> Engine {
    let passing = Passing::new(std::sync::Arc::new(Client::builder().peers()));
    let agent = |_| async { Err::<chancery::Outcome, _>(chancery::Failure::new("nobody is to be run")) };
    let store = Sqlite::open(folder.join("tasks.db")).await.unwrap();
    Engine::new(card(), agent).passing(passing).store(store).clock(ManualClock::new(0)).by_hand().start()
}

async fn found(folder: &Path, id: &TaskId) -> Found {
    let task = reader(folder).await.get_task(&aware(), GetTask::new(id.clone())).await.unwrap().into_task().unwrap();
    Found::of(&task)
}

/// Where A is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Point {
    /// B has seen nothing, and never does.
    Lost,
    /// B has seen nothing; what was sent arrives when A is back already.
    Late,
    /// B has the task, and A does not know.
    Sent,
    /// A knows, and everybody else may.
    Committed,
}

/// Kills A at a point, and starts it again. Gives how the task ends there.
async fn kill_at(mut pair: Pair, point: Point) -> (Pair, Task) {
    let order = match point {
        Point::Lost | Point::Late => Order::HoldMessages,
        Point::Sent => Order::HoldAnswers,
        Point::Committed => Order::Pass,
    };
    pair.proxy.order(order);
    let begun = pair.a.visitor().await.begin(&aware(), pair.to_b("wait")).await.unwrap();
    let there = pair.b_directly().await;
    if point == Point::Committed {
        pair.a.visitor().await.end(&aware(), &begun.id).await;
    } else {
        pair.proxy.held(1).await;
        assert_eq!(there.tasks(&aware()).await.len(), usize::from(point == Point::Sent), "{point:?}");
    }
    let setup = pair.a.kill().await;
    let expected = if point == Point::Committed { Found::Committed } else { Found::Prepared };
    assert_eq!(found(setup.folder(), &begun.id).await, expected, "{point:?}");
    if point != Point::Late {
        pair.proxy.order(Order::Lose);
    }
    pair.a = setup.start().await;
    if point == Point::Late {
        // The new process asks as well, and what the old one sent arrives with it.
        pair.proxy.held(2).await;
        pair.proxy.order(Order::Pass);
    }
    let end = pair.a.visitor().await.end(&aware(), &begun.id).await;
    (pair, end)
}

/// HO-15, HO-28, HO-T1: whenever A is killed, B has one task in the end, and A's is handed over to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_hands_its_task_over_once() {
    for point in [Point::Lost, Point::Late, Point::Sent, Point::Committed] {
        let (pair, end) = kill_at(Pair::start().await, point).await;
        let there = pair.b_directly().await.tasks(&aware()).await;
        assert_eq!((there.len(), end.state()), (1, TaskState::Completed), "{point:?}: {end:?}");
        assert_eq!(transfer(&end).task_id, there[0].id, "{point:?}");
        assert_eq!((there[0].state(), pair.b.runs()), (TaskState::Working, 1), "{point:?}");
    }
}

/// HO-15, HO-T2: what an agent that knows nothing of handoffs has is not known after a crash, and nothing is sent to it twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_says_that_it_cannot_know() {
    for (point, tasks) in [(Point::Lost, 0), (Point::Sent, 1)] {
        let (pair, end) = kill_at(Pair::with(Setup::unaware).await, point).await;
        assert_eq!((end.state(), code(&end)), (TaskState::Failed, "ambiguous"), "{point:?}");
        assert_eq!(pair.b_directly().await.tasks(&aware()).await.len(), tasks, "{point:?}");
    }
    // What was committed stays what it is.
    let (pair, end) = kill_at(Pair::with(Setup::unaware).await, Point::Committed).await;
    let there = pair.b_directly().await.tasks(&aware()).await;
    assert_eq!((there.len(), &transfer(&end).task_id), (1, &there[0].id));
}

/// HO-15, HO-T2: the same with servers of released SDKs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_agent_cannot_know_what_a_released_server_has() {
    let Some(sdks) = sdk_servers::folder() else { return };
    for sdk in ["py-1.3.0", "js-1.3.0"] {
        let (server, proxy, folder) = (sdk_servers::Peer::start(&sdks, sdk).await, Proxy::start().await, Folder::new());
        proxy.lead_to(server.url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap());
        let mut a = Setup::new(folder.path("a")).start().await;
        for (messages, order) in [(1, Order::HoldMessages), (2, Order::HoldAnswers)] {
            proxy.order(order);
            let begun = a.visitor().await.begin(&aware(), format!("to {} wait", proxy.url)).await.unwrap();
            proxy.held(messages).await;
            let setup = a.kill().await;
            assert_eq!(found(setup.folder(), &begun.id).await, Found::Prepared, "{sdk} {order:?}");
            proxy.order(Order::Lose);
            a = setup.start().await;
            let end = a.visitor().await.end(&aware(), &begun.id).await;
            assert_eq!((end.state(), code(&end)), (TaskState::Failed, "ambiguous"), "{sdk} {order:?}");
            assert_eq!(proxy.messages(), messages, "{sdk} {order:?}: something was sent twice");
        }
    }
}

/// Numbers that look like chance and are the same in every run.
fn chance(seed: &mut u64, below: u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed % below
}

/// HO-15, HO-23, HO-28, HO-T1: A is killed again and again at moments that nobody chose, with several handoffs under way; half of the tasks
/// are relayed. Every task of A leads to one of B, no two of them to the same, and none of B's is left over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handoff_survives_a_kill_at_any_moment() {
    let mut pair = Pair::start().await;
    let (mut seed, mut counts) = (0x9E37_79B9_7F4A_7C15_u64, BTreeMap::<Found, usize>::new());
    let (mut before, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..KILLS {
        let visitor = pair.a.visitor().await;
        let mut answers = pair.proxy.answers();
        let answered = *answers.borrow_and_update();
        for number in 0..TASKS {
            let (visitor, words) = (visitor.clone(), pair.to_b("work"));
            let caller = if number % 2 == 0 { aware() } else { unaware() };
            // Whether an answer comes is a matter of luck.
            tokio::spawn(async move { drop(visitor.begin(&caller, words).await) });
        }
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_micros(chance(&mut seed, 60_000))).await;
        } else {
            // Right after B's answer has reached A: the moment between knowing it and having written it down.
            let enough = answered + 1 + usize::try_from(chance(&mut seed, TASKS as u64)).unwrap();
            tokio::time::timeout(super::process::PATIENCE, answers.wait_for(|count| *count >= enough)).await.unwrap().unwrap();
            tokio::time::sleep(Duration::from_micros(chance(&mut seed, 3_000))).await;
        }
        let setup = pair.a.kill().await;
        count(setup.folder(), &mut before, &mut counts).await;
        pair.a = setup.start().await;
        pair.check(&mut ended).await;
    }
    // And all of them together.
    let led: BTreeSet<_> = pair.a.visitor().await.tasks(&aware()).await.iter().map(|task| transfer(task).task_id).collect();
    let theirs: BTreeSet<_> = pair.b_directly().await.tasks(&aware()).await.into_iter().map(|task| task.id).collect();
    assert_eq!((led.len(), &led), (before.len(), &theirs));
    say(&format!("\n{KILLS} kills, {} tasks; found in the log: {counts:?}\n", before.len()));
    assert!(counts.contains_key(&Found::Prepared) && counts.contains_key(&Found::Committed), "{counts:?}");
}

/// Counts what the log says of the tasks that are not known yet.
async fn count(folder: &Path, before: &mut BTreeSet<TaskId>, counts: &mut BTreeMap<Found, usize>) {
    let reader = reader(folder).await;
    let mut wanted = ListTasks::default();
    // The newest come first, and there is less than a page of them.
    wanted.page_size = Some(20);
    for task in reader.list_tasks(&aware(), wanted).await.unwrap().decode().unwrap().tasks {
        if before.insert(task.id.clone()) {
            *counts.entry(Found::of(&task)).or_default() += 1;
        }
    }
}

impl Pair {
    /// Waits for the end of the tasks that are not known yet: they lead to tasks of B, and B has no others.
    async fn check(&self, ended: &mut BTreeSet<TaskId>) {
        let (here, there) = (self.a.visitor().await, self.b_directly().await);
        let mut led = BTreeSet::new();
        for task in here.newest(&aware()).await {
            if !ended.insert(task.id.clone()) {
                continue;
            }
            // For those who know nothing of handoffs a task that is relayed is over when B's is, and any other was declined.
            let end = here.end(&unaware(), &task.id).await;
            match end.state() {
                TaskState::Completed => assert_eq!(text(&end), ["work"], "{end:?}"),
                _ => assert_eq!(end.state(), TaskState::Rejected, "{end:?}"),
            }
            assert!(led.insert(transfer(&here.task(&aware(), &task.id).await).task_id), "two lead to the same: {end:?}");
        }
        let theirs = there.newest(&aware()).await.into_iter().map(|task| task.id).filter(|id| !ended.contains(id));
        assert_eq!(led, theirs.collect());
        ended.extend(led);
    }
}
