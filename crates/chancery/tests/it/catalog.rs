//! Servers without an agent at the root: what is found there instead.

use chancery::{Running, Server};
use chancery_core::Card;
use chancery_engine::{Engine, Failure, Outcome, Turn, store::Memory};
use serde_json::Value;

async fn echo(turn: Turn) -> Result<Outcome, Failure> {
    Ok(Outcome::reply(turn.text()))
}

fn with(paths: &[&str]) -> Server {
    let card = |path: &str| Card::new(format!("<b>{path}</b>"), "Repeats & repeats").skill("echo", "Says your words back");
    paths.iter().fold(Server::several().store(Memory::new()), |server, path| server.agent(*path, Engine::new(card(path), echo)))
}

/// Status, content type and body.
async fn get(running: &Running, path: &str, accept: &str) -> (u16, String, String) {
    let request = reqwest::Client::new().get(format!("{}{path}", running.url())).header("accept", accept);
    let response = request.send().await.unwrap();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    (response.status().as_u16(), content_type, response.text().await.unwrap())
}

fn cards(catalog: &str) -> Vec<String> {
    let catalog: Value = serde_json::from_str(catalog).unwrap();
    catalog["entries"].as_array().unwrap().iter().map(|entry| entry["url"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_server_without_an_agent_at_the_root_lists_those_it_has() {
    for paths in [&["/x"][..], &["/x", "/y"]] {
        let running = with(paths).bind("127.0.0.1:0").await.unwrap();
        let mut expected: Vec<_> = paths.iter().map(|path| format!("{}{path}/.well-known/agent-card.json", running.url())).collect();
        let listed = get(&running, "/.well-known/ai-catalog.json", "*/*").await;
        assert_eq!((listed.0, listed.1.as_str()), (200, "application/json"));
        let mut found = cards(&listed.2);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        assert_eq!(get(&running, "/", "application/json").await, listed);
        let (status, content_type, page) = get(&running, "/", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8").await;
        assert_eq!((status, content_type.as_str()), (200, "text/html; charset=utf-8"));
        assert!(expected.iter().all(|url| page.contains(&format!("href=\"{url}\""))), "{page}");
        assert!(page.contains("&lt;b&gt;/x&lt;/b&gt;") && page.contains("Repeats &amp; repeats") && !page.contains("<b>"), "{page}");
        running.shutdown().await;
    }
}

/// Whoever looks for the card of a server in its usual place is told where the cards are.
#[tokio::test]
async fn where_no_card_is_the_answer_says_where_cards_are() {
    let running = with(&["/x", "/y"]).bind("127.0.0.1:0").await.unwrap();
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/nothing"] {
        let (status, content_type, body) = get(&running, path, "application/json").await;
        assert_eq!((status, content_type.as_str()), (404, "application/json"), "{path}");
        let body: Value = serde_json::from_str(&body).unwrap();
        for agent in ["/x", "/y"] {
            let card = format!("{}{agent}/.well-known/agent-card.json", running.url());
            assert!(body["error"]["message"].as_str().unwrap().contains(&card), "{path}: {body}");
        }
        let metadata = &body["error"]["details"][0]["metadata"];
        assert_eq!(metadata["catalog"], format!("{}/.well-known/ai-catalog.json", running.url()), "{body}");
    }
    running.shutdown().await;
}

#[tokio::test]
async fn an_agent_at_the_root_is_what_is_found_there() {
    let running = with(&["/"]).bind("127.0.0.1:0").await.unwrap();
    for accept in ["text/html", "*/*"] {
        let (status, _, body) = get(&running, "/", accept).await;
        assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()["name"].as_str()), (200, Some("<b>/</b>")));
    }
    assert_eq!(get(&running, "/.well-known/ai-catalog.json", "*/*").await.0, 404);
    running.shutdown().await;
}
