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
    let running = Server::new(card(), done).extended_card(extended).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let request = chancery::core::GetExtendedCard::default();
    let shown = running.engines()[0].get_extended_card(&Caller::new("somebody"), request).await.unwrap();
    assert_eq!(shown.skills[0].id, "secret");
    assert!(!shown.supported_interfaces.is_empty(), "it is not made true as the public card is");
    // The card says that there is one, so that clients ask for it (P10).
    let public = running.engines()[0].card();
    assert_eq!((public.capabilities.extended_agent_card, shown.capabilities.extended_agent_card), (Some(true), Some(true)));
    running.shutdown().await;
}

#[tokio::test]
async fn what_means_nothing_for_what_is_mounted_is_refused_with_the_reason() {
    let elsewhere = || Mount::operations("/", card(), Arc::new(Engine::new(card(), done).start()));
    let server = Server::several().mount(elsewhere()).turn_timeout(Duration::from_secs(1)).on_restart(OnRestart::Rerun);
    let error = server.bind("127.0.0.1:0").await.err().unwrap().to_string();
    assert!(error.starts_with("on_restart, turn_timeout cannot be set for this server: it runs no agent"), "{error}");

    let server = Server::several().agent("/a", Engine::new(card(), done)).agent("/b", Engine::new(card(), done));
    let error = server.extended_card(card()).store(Memory::new()).bind("127.0.0.1:0").await.err().unwrap().to_string();
    assert!(error.starts_with("extended_card cannot be set for this server"), "{error}");

    // Among operations that are run elsewhere, an agent is told what was said.
    let server = Server::several().mount(elsewhere()).agent("/b", Engine::new(card(), done)).on_restart(OnRestart::Rerun);
    server.store(Memory::new()).bind("127.0.0.1:0").await.unwrap().shutdown().await;
}

async fn refused(server: Server) -> String {
    server.bind("127.0.0.1:0").await.err().expect("it starts").to_string()
}

/// Nothing that the builder of an engine is told is forgotten on a server.
#[tokio::test]
async fn an_agent_keeps_its_tasks_in_its_own_store() {
    let folder = std::env::temp_dir().join(format!("chancery-own-store-{}", std::process::id()));
    let own: [Arc<Memory>; 2] = Default::default();
    let agent = |at: usize| Engine::new(card(), done).shared_store(own[at].clone());
    let server = Server::several().agent("/a", agent(0)).agent("/b", agent(1).name("bee")).data(&folder);
    let running = server.bind("127.0.0.1:0").await.unwrap();
    assert!(!folder.join("tasks.db").exists(), "a store that nobody needs");
    let names: Vec<_> = running.engines().iter().map(|engine| engine.name().to_owned()).collect();
    assert_eq!(names, ["a", "bee"]);
    for (at, name) in names.iter().enumerate() {
        let path = ["/a", "/b"][at];
        let task = client(&running, path).await.send("go").await.unwrap().task().unwrap().id.clone();
        let found = async |store: &Arc<Memory>| {
            let engine = Engine::new(card(), done).name(name).shared_store(store.clone()).start();
            engine.get_task(&Caller::anonymous(), chancery::core::GetTask::new(task.clone())).await.is_ok()
        };
        assert_eq!((found(&own[at]).await, found(&own[1 - at]).await), (true, false), "{path}");
    }
    // What comes later has to bring its own store too, and what runs keeps the one that it has.
    let late = running.replace(Mount::agent("/c", Engine::new(card(), done))).unwrap_err().to_string();
    assert!(late.contains("it has no store"), "{late}");
    let other = running.replace(Mount::agent("/a", Engine::new(card(), done).store(Memory::new()))).unwrap_err().to_string();
    assert!(other.starts_with("store cannot be set"), "{other}");
    running.replace(Mount::agent("/a", Engine::new(Card::new("Anew", "Is another"), done))).unwrap();
    assert_eq!((running.engines().len(), running.engines()[0].card().name.as_str()), (2, "Anew"));
    running.shutdown().await;
    drop(std::fs::remove_dir_all(&folder));
}

/// The sender and the schedule of an agent are its own.
#[tokio::test]
async fn an_agent_sends_its_notifications_in_its_own_way() {
    use chancery::engine::push::{Notification, Sender, Sent};
    #[derive(Clone, Default)]
    struct Counting(Arc<std::sync::atomic::AtomicUsize>);
    #[async_trait::async_trait]
    impl Sender for Counting {
        async fn send(&self, _: &Notification) -> Sent {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Sent::Accepted
        }
    }
    let sender = Counting::default();
    let agent = Engine::new(card(), done).sender(sender.clone()).by_hand();
    let running = Server::several().agent("/", agent).store(Memory::new()).bind("127.0.0.1:0").await.unwrap();
    let mut send = chancery::core::SendMessage::new("go");
    send.configuration.push_config = Some(Box::new(chancery::core::PushConfig::new("https://hook.example")));
    let engine = running.engines().remove(0);
    engine.send_message(&Caller::anonymous(), send).await.unwrap();
    while engine.deliver_due().await.unwrap() > 0 {}
    assert!(sender.0.load(std::sync::atomic::Ordering::SeqCst) >= 2);
    running.shutdown().await;
}

#[tokio::test]
async fn what_is_said_twice_or_would_be_forgotten_is_refused() {
    let named = Mount::agent("/", Engine::new(card(), done).name("one")).key("two");
    let error = refused(Server::several().mount(named).store(Memory::new())).await;
    assert!(error.starts_with(r#"the key "two" of a mount cannot be set"#) && error.contains(r#""one""#), "{error}");

    let extended = Server::several().agent("/", Engine::new(card(), done).extended_card(card())).extended_card(card());
    let error = refused(extended.store(Memory::new())).await;
    assert!(error.starts_with("extended_card cannot be set"), "{error}");

    let engine = || Arc::new(Engine::new(card(), done).start());
    let error = refused(Server::several().mount(Mount::operations("/", card(), engine()).through(|engine| Arc::new(engine)))).await;
    assert!(error.starts_with("Mount::through cannot be set"), "{error}");
    let error = refused(Server::several().mount(Mount::operations("/", card(), engine())).store(Memory::new())).await;
    assert!(error.starts_with("store cannot be set for this server: it runs no agent"), "{error}");

    let placed = || card().interface("https://elsewhere.example", chancery::core::Binding::JsonRpc, chancery::core::Version::V1_0);
    let agents = [
        Mount::agent("/", Engine::new(placed(), done).store(Memory::new())),
        Mount::agent("/", Engine::new(card(), done).extended_card(placed()).store(Memory::new())),
        Mount::operations("/", placed(), engine()),
    ];
    for mount in agents {
        let error = refused(Server::several().mount(mount)).await;
        assert!(error.starts_with(r#"interfaces of the card "Sleeper" cannot be set"#) && error.contains("Server::public_url"), "{error}");
    }
}

/// The extension by which events are numbered over gRPC: what is not in the card is not active either.
#[tokio::test]
async fn the_places_of_events_are_offered_unless_that_is_not_wanted() {
    const URI: &str = "urn:chancery:ext/sequence/v1";
    for offered in [true, false] {
        let server = Server::new(card(), done).store(Memory::new());
        let running = if offered { server } else { server.sequence(false) }.bind("127.0.0.1:0").await.unwrap();
        let card = reqwest::get(format!("{}/.well-known/agent-card.json", running.url())).await.unwrap().text().await.unwrap();
        assert_eq!(card.contains(URI), offered, "{card}");
        let request = reqwest::Client::new().post(format!("{}/message:send", running.url())).header("a2a-version", "1.0");
        let request = request.header("content-type", "application/json").header("a2a-extensions", URI);
        let answer = request.body(r#"{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"x"}]}}"#).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers().get("a2a-extensions").is_some(), offered, "{:?}", answer.headers());
        running.shutdown().await;
    }
}
