//! A client that follows a task from one server to the next, both of which want to know who it is.

use chancery::{Client, Follow, Keyring, Secrets, TaskState};

use super::{
    process::{Folder, Setup},
    proxy::Proxy,
};

const FOR_A: &str = "token-of-ada-for-a";
const FOR_B: &str = "token-of-ada-for-b";
const OF_A: &str = "token-of-a-for-b";

/// HO-25, HO-50, HO-54, HO-63, HO-T6: what the client shows to A reaches B neither from the client nor from A, and what it shows to B does
/// not reach A.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_one_server_does_not_reach_the_next() {
    let (folder, before_a, before_b) = (Folder::new(), Proxy::start().await, Proxy::start().await);
    let b = Setup::new(folder.path("b")).public_url(&before_b.url).holder("ada", FOR_B).holder("agent-a", OF_A);
    let b = b.start().await;
    before_b.lead_to(b.address);
    let a = Setup::new(folder.path("a")).public_url(&before_a.url).holder("ada", FOR_A).key(&before_b.url, OF_A);
    let a = a.start().await;
    before_a.lead_to(a.address);

    let ring = Keyring::new().at(&before_b.url, Secrets::new().bearer(FOR_B)).unwrap();
    let builder = Client::builder().credentials(Secrets::new().bearer(FOR_A)).header("x-mine", "for-a-only").unwrap();
    let client = builder.follow_handoffs(Follow::any().credentials(ring)).connect(&before_a.url).await.unwrap();
    let mut events = client.stream(format!("to {} listen", b.url)).await.unwrap();
    let (mut hops, mut said, mut last) = (Vec::new(), false, None);
    while let Some(update) = events.try_next().await.unwrap() {
        hops.extend(update.handoff.as_ref().map(|handoff| (handoff.from.clone(), handoff.to.clone(), handoff.followed)));
        last = update.event.state().or(last);
        if update.hop == 1 && !said && last == Some(TaskState::Working) {
            said = true;
            let head = events.head().unwrap();
            tokio::spawn(async move { head.send("the end").await });
        }
    }
    assert_eq!(hops, [(a.url.clone(), b.url.clone(), true)]);
    assert_eq!(last, Some(TaskState::Completed));
    let head = events.head().unwrap();
    assert_eq!((head.agent(), super::process::text(&head.task().await.unwrap())), (b.url.as_str(), vec!["the end"]));

    let (at_a, at_b) = (before_a.asked(), before_b.asked());
    let shows = |asked: &super::proxy::Asked, secret: &str| asked.head.contains(secret) || asked.body.contains(secret);
    assert!(at_a.iter().any(|asked| shows(asked, FOR_A)), "{at_a:?}");
    for asked in &at_b {
        assert!(!shows(asked, FOR_A) && !shows(asked, "for-a-only"), "{asked:?}");
    }
    for asked in &at_a {
        assert!(!shows(asked, FOR_B) && !shows(asked, OF_A), "{asked:?}");
    }
    // Both came to B as who they are: A with the message, the client with its grant for the task.
    assert!(at_b.iter().any(|asked| shows(asked, OF_A) && asked.body.contains("SendMessage")), "{at_b:?}");
    let client: Vec<_> = at_b.iter().filter(|asked| shows(asked, FOR_B)).collect();
    assert!(!client.is_empty() && client.iter().all(|asked| asked.head.to_ascii_lowercase().contains("a2a-task-grant: ")), "{client:?}");

    // Without a token of its own for B, the client has the grant, which opens the one task at a server that demands credentials.
    let builder = Client::builder().credentials(Secrets::new().bearer(FOR_A)).follow_handoffs(Follow::any());
    let known = before_b.asked().len();
    let reply = builder.connect(&before_a.url).await.unwrap().send(format!("to {} work", b.url)).await.unwrap();
    assert_eq!(reply.task().map(|task| task.state()), Some(TaskState::Completed), "{reply:?}");
    let asked = before_b.asked().split_off(known);
    assert!(
        asked.iter().any(|asked| !shows(asked, "token-of") && asked.head.to_ascii_lowercase().contains("a2a-task-grant: ")),
        "{asked:?}"
    );
    assert!(asked.iter().all(|asked| !shows(asked, FOR_A)));
}
