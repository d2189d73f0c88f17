//! Programs that pass work on: several agents of one file, behind a real server.

use chancery_client::Client;
use chancery_core::{SendMessage, Transfer, extension::HANDOFF};
use serde_json::{Value, json};

use super::*;
use crate::{Served, peers};

/// A server with three agents: `desk` passes work on, `counter` counts words, `billing` asks and pays back.
struct Office {
    running: Served,
    folder: Folder,
}

/// Answers each task by its text. What is sent to it is written to a file of its own.
fn speaker(agent: &str, body: &str) -> String {
    format!(
        r#"while read -r line; do
  printf '%s\n' "$line" >> heard-{agent}
  case "$line" in
{body}
    *'"type":"shutdown"'*) exit 0;;
  esac
done
"#
    )
}

impl Office {
    /// `{url}` in the settings stands for another server.
    async fn open(settings: &str) -> Self {
        let folder = Folder::new();
        let desk = r#"
    *'"type":"task"'*'"text":"count'*) echo '{"type":"delegate","call":"c1","agent":"counter","text":"one two three"}';;
    *'"type":"task"'*'"text":"both'*) echo '{"type":"delegate","call":1,"agent":"counter","text":"one two"}'; echo '{"type":"delegate","call":2,"agent":"nobody","text":"x"}';;
    *'"type":"task"'*'"text":"ask'*) echo '{"type":"delegate","call":"c2","agent":"billing","text":"refund","skill":"billing"}';;
    *'"type":"task"'*'"text":"far'*) echo '{"type":"delegate","call":"c3","agent":"https://far.example","text":"x"}';;
    *'"type":"task"'*'"text":"refund'*) echo '{"type":"artifact","artifactId":"slip","text":"A-17","last":true}'; echo '{"type":"handoff","agent":"billing","reason":"a refund","requires":["billing"],"state":{"order":"A-17"},"outputKeys":{"checked":true},"text":"refund A-17"}';;
    *'"type":"task"'*'"text":"away'*) echo '{"type":"handoff","agent":"https://far.example"}';;
    *'"call":1'*) ;;
    *'"type":"delegated"'*) echo '{"type":"status","state":"completed","text":"The desk is done."}';;"#;
        let billing = r#"
    *'"type":"task"'*) echo '{"type":"status","state":"input-required","text":"Which account?"}';;
    *'"type":"message"'*) echo '{"type":"artifact","artifactId":"receipt","text":"paid","last":true}'; echo '{"type":"status","state":"completed"}';;"#;
        folder.script("desk.sh", &speaker("desk", desk));
        folder.script("billing.sh", &speaker("billing", billing));
        let text = format!(
            "{settings}\n[[agent]]\nname = \"desk\"\ncommand = [\"./desk.sh\"]\nmode = \"jsonl\"\n\
             [[agent]]\nname = \"billing\"\ncommand = [\"./billing.sh\"]\nmode = \"jsonl\"\n\
             [[agent]]\nname = \"counter\"\ncommand = [\"wc\", \"-w\"]\n"
        );
        let file = folder.write("a2a.toml", &text);
        let config = Config::parse(&file, &text, &std::env::vars().collect()).unwrap_or_else(|problem| panic!("{problem}"));
        Self { running: bind(config).await, folder }
    }

    async fn client(&self, agent: &str) -> Client {
        Client::builder().connect(&format!("{}/{agent}", self.running.url())).await.unwrap()
    }

    async fn send(&self, caller: &Caller, message: impl Into<Message>) -> Task {
        let reply = within(self.client("desk").await.send_message(caller, SendMessage::new(message))).await.unwrap();
        reply.task().expect("a task").clone()
    }

    /// What a process was sent.
    fn heard(&self, agent: &str, kind: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path(&format!("heard-{agent}"))).unwrap_or_default();
        // What is being written has no end yet.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|line| line["type"] == kind).collect()
    }
}

/// DE-1, DE-5: a process lets another agent do a part, by its name in the file, and is told the task that this became or what stood
/// in the way; it may have several under way.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_delegates_to_agents_of_its_file() {
    let office = Office::open("[handoff]\n").await;
    let done = office.send(&Caller::anonymous(), "count").await;
    assert_eq!((done.state(), words(&done).as_str()), (TaskState::Completed, "The desk is done."));
    let told = office.heard("desk", "delegated").remove(0);
    assert_eq!((&told["taskId"], &told["call"], &told["error"]), (&json!(done.id), &json!("c1"), &Value::Null));
    assert_eq!(told["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(told["task"]["artifacts"][0]["parts"][0]["text"].as_str().unwrap().trim(), "3");

    office.send(&Caller::anonymous(), "both").await;
    let told = office.heard("desk", "delegated");
    let unknown = told.iter().find(|line| line["call"] == 2).unwrap();
    assert_eq!((&unknown["error"]["code"], &unknown["error"]["agent"]), (&json!("unknown_agent"), &json!("nobody")));
    assert_eq!(unknown["task"], Value::Null);
}

/// DE-4: what the other agent asks, the client is asked, and the answer goes to the agent that asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_another_agent_reaches_the_client() {
    let office = Office::open("[handoff]\n").await;
    let asked = office.send(&Caller::anonymous(), "ask").await;
    assert_eq!((asked.state(), words(&asked).as_str()), (TaskState::InputRequired, "Which account?"));
    let done = office.send(&Caller::anonymous(), Message::user("DE31").to_task(asked.id.clone())).await;
    assert_eq!((done.state(), words(&done).as_str()), (TaskState::Completed, "The desk is done."));
    assert_eq!(office.heard("billing", "message")[0]["message"]["parts"][0]["text"], "DE31");
    // The desk itself did not get the answer.
    assert!(office.heard("desk", "message").is_empty());
    assert_eq!(office.heard("desk", "delegated")[0]["task"]["artifacts"][0]["parts"][0]["text"], "paid");
}

/// HO-11 to HO-14, HO-29: a process hands its task over; the other one is told what goes along, and who does not know of handoffs sees
/// one task.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_hands_its_task_over() {
    let office = Office::open("[handoff]\nmax_hops = 3\n").await;
    let handed = office.send(&Caller::anonymous().extension(HANDOFF), "refund").await;
    let transfer = Transfer::of(&handed.metadata).unwrap().unwrap();
    assert_eq!(transfer.agent_endpoint, format!("{}/billing", office.running.url()));
    assert_eq!(transfer.reason, "a refund");
    // A task is handed over when the other agent has it, which may be before its process was told.
    let task = until(|| office.heard("billing", "task").into_iter().next()).await;
    let context = &task["handoff"];
    assert_eq!((&context["originatingTaskId"], &context["state"]["order"]), (&json!(handed.id), &json!("A-17")));
    assert_eq!((&context["outputKeys"], &context["requires"]), (&json!({"checked": true}), &json!(["billing"])));
    assert_eq!((&context["maxHops"], &context["chain"][0]["kind"]), (&json!(3), &json!("handoff")));
    assert_eq!((&task["taskId"], &task["message"]["parts"][0]["text"]), (&json!(transfer.task_id), &json!("refund A-17")));

    let asked = office.send(&Caller::anonymous(), "refund").await;
    assert_eq!((asked.state(), words(&asked).as_str()), (TaskState::InputRequired, "Which account?"));
    let done = office.send(&Caller::anonymous(), Message::user("DE31").to_task(asked.id.clone())).await;
    assert_eq!((done.state(), text_of(&done).as_str()), (TaskState::Completed, "A-17paid"));
    let card = office.client("desk").await.card().unwrap();
    assert!(card.capabilities.extensions.iter().any(|known| known.uri == HANDOFF));
}

/// HO-10: work goes where the file lets it go, and nowhere else.
#[tokio::test(flavor = "multi_thread")]
async fn work_goes_only_where_the_file_lets_it_go() {
    let office = Office::open("[handoff]\n").await;
    let failed = office.send(&Caller::anonymous(), "away").await;
    assert_eq!(failed.state(), TaskState::Failed);
    assert!(words(&failed).contains("\"https://far.example\" is no agent of the file"), "{}", words(&failed));
    office.send(&Caller::anonymous(), "far").await;
    assert_eq!(office.heard("desk", "delegated")[0]["error"]["code"], "unknown_agent");

    // Another server, as a peer with a name and as an origin that is allowed.
    let url = office.running.url().to_owned();
    for settings in
        [format!("[[handoff.peers]]\nname = \"nobody\"\nurl = \"{url}/counter\"\n"), format!("[handoff]\nallow = [\"{url}\"]\n")]
    {
        let other = Office::open(&settings).await;
        other.send(&Caller::anonymous(), "both").await;
        let told = other.heard("desk", "delegated").into_iter().find(|line| line["call"] == 2).unwrap();
        let reached = told["task"]["status"]["state"] == "TASK_STATE_COMPLETED";
        assert_eq!(reached, settings.contains("peers"), "{told}");
    }
    let directory = peers::Handoffs::new(&parse(&format!("[handoff]\nallow = [\"{url}\", \"https://*.example.com\"]\n")), &server_at(&url))
        .unwrap()
        .directory;
    for (agent, found) in [
        (format!("{url}/anything/"), Some(format!("{url}/anything"))),
        ("https://a.example.com".to_owned(), Some("https://a.example.com".to_owned())),
        ("https://example.com".to_owned(), None),
        ("http://a.example.com".to_owned(), None),
        ("echo".to_owned(), Some(url.clone())),
        ("other".to_owned(), None),
    ] {
        assert_eq!(directory.find(&agent).await, found, "{agent}");
    }
}

fn parse(settings: &str) -> Config {
    let text = format!("{settings}[[agent]]\nname = \"echo\"\necho = true\n");
    Config::parse(Path::new("a2a.toml"), &text, &BTreeMap::new()).unwrap_or_else(|problem| panic!("{problem}"))
}

fn server_at(url: &str) -> ServerUrl {
    let server = ServerUrl::default();
    server.set(url);
    server
}

/// HO-53: who is believed about users is said in the file; what is wrong there is told with its place.
#[test]
fn what_the_file_says_of_handoffs_is_read() {
    let text = "[handoff]\nrelay = false\nmax_hops = 2\nmax_visits = 2\ngrants = \"off\"\ntrusted_delegators = [\"triage\"]\n\
                on_ambiguous = \"retry\"\non_message_reply = \"fail\"\n";
    let passing = peers::Handoffs::new(&parse(text), &ServerUrl::default()).unwrap().passing;
    assert_eq!((passing.relay, passing.max_hops, passing.max_visits, passing.grant_life), (false, 2, 2, None));
    assert!(passing.trusted_delegators.contains("triage"));
    assert!(peers::Handoffs::new(&parse(""), &ServerUrl::default()).is_none());
    for (wrong, words) in [
        ("[handoff]\nallow = [\"https://a.example/path\"]\n", "is more than an origin"),
        ("[handoff]\ngrants = \"soon\"\n", "grants must be a duration or \"off\""),
        ("[[handoff.peers]]\nname = \"b\"\n", "the peer has no url"),
        ("[[handoff.peers]]\nname = \"b\"\nurl = \"ftp://b\"\n", "is no URL of an agent"),
        ("[handoff]\nrelays = true\n", "[handoff] has no key \"relays\""),
    ] {
        let problem = Config::parse(Path::new("a2a.toml"), wrong, &BTreeMap::new()).unwrap_err().to_string();
        assert!(problem.contains(words), "{problem}");
    }
}
