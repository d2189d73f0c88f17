//! What a server says of how its agents are run, seen by a caller.

use std::{sync::Arc, time::Duration};

use chancery::{
    Caller, Card, Client, Engine, Failure, Memory, Mount, OnRestart, Operations as _, Outcome, Running, Server, TaskState, Turn,
    engine::clock::{Clock, ManualClock},
};

const NOW: i64 = 1_772_442_907_000;

fn card() -> Card {
    Card::new("Sleeper", "Works until somebody stops it")
}

/// Says that it works, and works for ever.
async fn sleeper(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Working").await?;
    std::future::pending().await
}

async fn done(turn: Turn) -> Result<Outcome, Failure> {
    turn.status("Working").await?;
    Ok(Outcome::Completed)
}

async fn client(running: &Running, path: &str) -> Client {
    chancery::connect(&format!("{}{path}", running.url())).await.unwrap()
}

#[tokio::test]
async fn a_server_limits_the_turns_of_its_agents() {
    let clock = ManualClock::new(NOW);
    let server = Server::new(card(), sleeper).turn_timeout(Duration::from_secs(60)).clock(clock.clone());
    let running = server.store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let mut events = client(&running, "").await.stream("go").await.unwrap();
    let begun = events.try_next().await.unwrap().unwrap();
    while events.try_next().await.unwrap().unwrap().event.state() != Some(TaskState::Working) {}
    clock.advance(Duration::from_secs(61));
    let mut last = begun.event.state();
    while let Some(update) = events.try_next().await.unwrap() {
        last = update.event.state();
    }
    assert_eq!(last, Some(TaskState::Failed));
    running.shutdown().await;
}

#[tokio::test]
async fn the_time_of_a_task_is_that_of_the_servers_clock() {
    let clock = ManualClock::new(NOW);
    let running = Server::new(card(), done).clock(clock.clone()).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let reply = client(&running, "").await.send("go").await.unwrap();
    assert_eq!(reply.task().unwrap().status.timestamp, Some(clock.now()));
    running.shutdown().await;
}

#[tokio::test]
async fn a_server_says_how_long_tasks_are_kept_unless_an_agent_says_it_itself() {
    let clock = ManualClock::new(NOW);
    let hour = Duration::from_secs(3_600);
    let server = Server::several().agent("/short", Engine::new(card(), done)).agent("/long", Engine::new(card(), done).retention(None));
    let running = server.retention(Some(hour)).clock(clock.clone()).by_hand().store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let (short, long) = (client(&running, "/short").await, client(&running, "/long").await);
    let forgotten = short.send("go").await.unwrap().task().unwrap().id.clone();
    let kept = long.send("go").await.unwrap().task().unwrap().id.clone();
    clock.advance(hour * 2);
    for engine in running.engines() {
        engine.look_after().await.unwrap();
    }
    assert_eq!(short.task(forgotten).await.unwrap_err().kind(), chancery::ErrorKind::TaskNotFound);
    assert_eq!(long.task(kept).await.unwrap().state(), TaskState::Completed);
    running.shutdown().await;
}

/// The process that had the task is the first server, which goes away without a word.
#[tokio::test]
async fn a_server_says_what_happens_to_turns_of_a_process_that_died() {
    async fn second(turn: Turn) -> Result<Outcome, Failure> {
        Ok(Outcome::reply(format!("try {}", turn.attempt())))
    }
    let (store, clock) = (Arc::new(Memory::new()), ManualClock::new(NOW));
    let first = Engine::new(card(), sleeper).shared_store(store.clone()).clock(clock.clone()).by_hand();
    let first =
        Server::several().mount(Mount::agent("/", first).key("agent")).shared_store(store.clone()).bind("127.0.0.1:0").await.unwrap();
    let mut events = client(&first, "").await.stream("go").await.unwrap();
    while events.try_next().await.unwrap().unwrap().event.state() != Some(TaskState::Working) {}
    let task = events.head().unwrap().task_id().clone();
    clock.advance(Duration::from_secs(60));

    let second = Server::several().mount(Mount::agent("/", Engine::new(card(), second)).key("agent"));
    let second = second.on_restart(OnRestart::Rerun).clock(clock.clone()).by_hand().shared_store(store);
    let second = second.bind("127.0.0.1:0").await.unwrap();
    second.engines()[0].look_after().await.unwrap();
    let agent = client(&second, "").await;
    let done = loop {
        let task = agent.task(task.clone()).await.unwrap();
        if task.state().is_terminal() {
            break task;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!((done.state(), done.status.message.unwrap().text()), (TaskState::Completed, "try 2".to_owned()));
    second.shutdown().await;
}

#[tokio::test]
async fn the_one_agent_of_a_server_has_an_extended_card() {
    let extended = Card::new("Sleeper", "Works").skill("secret", "For those who are let in");
    let mut public = card();
    public.capabilities.extended_agent_card = Some(true);
    let running = Server::new(public, done).extended_card(extended).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let request = chancery::core::GetExtendedCard::default();
    let shown = running.engines()[0].get_extended_card(&Caller::new("somebody"), request).await.unwrap();
    assert_eq!(shown.skills[0].id, "secret");
    assert!(!shown.supported_interfaces.is_empty(), "it is not made true as the public card is");
    running.shutdown().await;
}

#[tokio::test]
async fn what_means_nothing_for_what_is_mounted_is_refused_with_the_reason() {
    let elsewhere = || Mount::operations("/", card(), Arc::new(Engine::new(card(), done).start()));
    let server = Server::several().mount(elsewhere()).turn_timeout(Duration::from_secs(1)).on_restart(OnRestart::Rerun);
    let error = server.store(Memory::new()).bind("127.0.0.1:0").await.err().unwrap().to_string();
    assert!(error.starts_with("on_restart, turn_timeout cannot be set for this server: it runs no agent"), "{error}");

    let server = Server::several().agent("/a", Engine::new(card(), done)).agent("/b", Engine::new(card(), done));
    let error = server.extended_card(card()).store(Memory::new()).bind("127.0.0.1:0").await.err().unwrap().to_string();
    assert!(error.starts_with("extended_card cannot be set for this server"), "{error}");

    // Among operations that are run elsewhere, an agent is told what was said.
    let server = Server::several().mount(elsewhere()).agent("/b", Engine::new(card(), done)).on_restart(OnRestart::Rerun);
    server.store(Memory::new()).bind("127.0.0.1:0").await.unwrap().shutdown().await;
}
