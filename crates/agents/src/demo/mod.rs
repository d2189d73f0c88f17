//! The demo: an agent that does what the first word of a message says, and its cards.
//!
//! What an agent cannot do by itself — lose a connection, be in no state, know how a request came in —
//! is done by a `FaultInjector` around its engine. The rest is an agent like others: [`config`] has one for each card.

mod cards;
mod certificates;
mod faults;
mod issuer;
mod listeners;
mod login;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use chancery_config::{Config, duration};
use chancery_core::{Artifact, Content, Message, Part, Role};
use chancery_engine::{Failure, Outcome, Turn};
use serde_json::json;

#[cfg(test)]
use self::faults::FaultInjector;
pub(crate) use self::{cards::extended_card, listeners::Demo};
pub use self::{certificates::Certificates, listeners::TlsListener};

/// A part of a status that the fault injector cuts the stream for: after this many events.
const CUT: &str = "urn:chancery:demo/cut";
/// A part of a status that stands for no state at all.
const UNSPECIFIED: &str = "urn:chancery:demo/unspecified";
/// Facts about the request, in its metadata.
const REQUEST: &str = "urn:chancery:demo/request";

/// The configuration of the demo: its agents, with what they keep in this folder.
///
/// # Errors
/// None that is known: it is the configuration of an empty file.
pub fn config(data: PathBuf) -> Result<Config, chancery_config::Error> {
    let mut config = Config::parse(Path::new("demo"), "", &BTreeMap::new())?;
    config.server.data = data;
    config.agents = cards::agents().collect();
    Ok(config)
}

/// Does what the first word says.
pub(crate) async fn run(turn: Turn) -> Result<Outcome, Failure> {
    if let Some(outcome) = answered(&turn) {
        return Ok(outcome);
    }
    let text = turn.text().trim();
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match verb {
        "stream" => stream(&turn, number(rest, 10)?, None).await,
        "cut" => {
            let after = number(rest, 2)?;
            stream(&turn, after + 5, Some(after)).await
        }
        "slow" => slow(&turn, Part::text(format!("Working for {}", said(rest, "3s"))), rest, "3s").await,
        "unspecified" => slow(&turn, Part::text("In no state at all").metadata(UNSPECIFIED, true), rest, "2s").await,
        "ask" => Ok(Outcome::ask("Which city?")),
        "login" => Ok(Outcome::require_auth(match fact(&turn, "link") {
            Some(link) => format!("Please sign in, and the task goes on:\n{link}\nSending anything does, too."),
            None => "Please sign in, then send anything.".to_owned(),
        })),
        "fail" => Ok(Outcome::failed(said(rest, "It failed, as you asked."))),
        "reject" => Ok(Outcome::reject(said(rest, "I would rather not."))),
        "message" => Ok(Outcome::message(rest)),
        "files" => Ok(Outcome::complete_with(files())),
        "parts" => Ok(listed("parts", turn.message().parts.iter().enumerate().map(|(at, part)| described(at + 1, part)))),
        "request" => Ok(listed("request", facts(&turn))),
        _ => crate::echo::echo(turn).await,
    }
}

/// The answer to a question of an earlier turn.
fn answered(turn: &Turn) -> Option<Outcome> {
    let asked = turn.history().iter().find(|message| message.role == Role::User).map(Message::text)?;
    let words = match asked.split_whitespace().next()? {
        "ask" => format!("Booked for {}.", turn.text().trim()),
        "login" => "Signed in.".to_owned(),
        _ => return None,
    };
    Some(Outcome::complete_with(Artifact::new(words).named("answer")))
}

/// Counts, a chunk for each number.
async fn stream(turn: &Turn, count: u32, cut: Option<u32>) -> Result<Outcome, Failure> {
    let words = Part::text(format!("Counting to {count}"));
    turn.status(match cut {
        Some(after) => words.metadata(CUT, after),
        None => words,
    })
    .await?;
    let mut numbers = turn.artifact("numbers");
    for number in 1..=count {
        numbers.push(format!("{number}\n")).await?;
    }
    numbers.finish().await?;
    Ok(Outcome::Completed)
}

async fn slow(turn: &Turn, words: Part, rest: &str, otherwise: &str) -> Result<Outcome, Failure> {
    let text = said(rest, otherwise);
    let time = duration(text).filter(|time| *time <= Duration::from_secs(24 * 3_600));
    let time = time.ok_or_else(|| Failure::new(format!("{text:?} is no duration of at most 24h; write it like 3s or 500ms.")))?;
    turn.status(words).await?;
    tokio::time::sleep(time).await;
    Ok(Outcome::complete_with(Artifact::new(format!("Done after {text}.")).named("result")))
}

/// One part of each kind.
fn files() -> Artifact {
    Artifact::new("One part of each kind.")
        .named("files")
        .part(Part::data(json!({"tide": "high", "meters": 4.2})))
        .part(Part::raw(&b"time,meters\n06:12,4.2\n"[..]).filename("tides.csv").media_type("text/csv"))
        .part(Part::url("https://example.com/harbor.png").filename("harbor.png").media_type("image/png"))
}

fn listed(name: &str, lines: impl Iterator<Item = String>) -> Outcome {
    Outcome::complete_with(Artifact::new(lines.collect::<Vec<_>>().join("\n")).named(name))
}

/// A part in one line.
fn described(number: usize, part: &Part) -> String {
    let (kind, content) = match &part.content {
        Content::Text(text) => ("text", format!("{text:?}")),
        Content::Raw(bytes) => ("file", format!("{} bytes", bytes.len())),
        Content::Url(url) => ("file", url.clone()),
        Content::Data(value) => ("data", value.to_string()),
    };
    let extras = [part.media_type.as_str(), part.filename.as_str(), content.as_str()];
    let extras: Vec<_> = extras.into_iter().filter(|extra| !extra.is_empty()).collect();
    format!("{number} {kind} {}", extras.join(" "))
}

/// What is known about the request, a fact per line.
fn facts(turn: &Turn) -> impl Iterator<Item = String> {
    let caller = turn.caller();
    let label = |key: &str| fact(turn, key).unwrap_or("unknown").to_owned();
    let or_none = |text: String| if text.is_empty() { "none".to_owned() } else { text };
    let extensions: Vec<_> = caller.call().extensions.iter().map(String::as_str).collect();
    [
        format!("Binding: {}", label("binding")),
        format!("Version: {}", label("version")),
        format!("Tenant: {}", or_none(caller.identity().tenant.clone())),
        format!("Extensions: {}", or_none(extensions.join(", "))),
        format!("Subject: {}", or_none(caller.identity().subject.clone().unwrap_or_default())),
        format!("Credential: {}", cards::place(caller.identity().scheme.as_deref())),
    ]
    .into_iter()
}

/// What the fault injector notes about the request.
fn fact<'a>(turn: &'a Turn, key: &str) -> Option<&'a str> {
    turn.metadata().get(REQUEST)?.get(key)?.as_str()
}

fn number(text: &str, otherwise: u32) -> Result<u32, Failure> {
    if text.is_empty() {
        return Ok(otherwise);
    }
    let number = text.parse().ok().filter(|number| *number <= 100_000);
    number.ok_or_else(|| Failure::new(format!("{text:?} is no whole number of at most 100000.")))
}

fn said<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

#[cfg(test)]
mod tests;
