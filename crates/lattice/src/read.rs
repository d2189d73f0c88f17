//! Reads workflow files and scopes key by key, so that what is wrong is said in words: where, what, and what would be right.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
};

use chancery_core::Timestamp;
use toml::de::{DeTable, DeValue};

use crate::{
    caps::Kind,
    pattern::{Pattern, Patterns},
    scope::Scope,
    workflow::{Agent, Edge, OnViolation, Workflow},
};

/// Why a text is no workflow, or no scope: what is wrong, where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowError {
    message: String,
    allowed: Vec<String>,
    wrong: Option<String>,
    span: Option<Range<usize>>,
    line: Option<usize>,
}

impl WorkflowError {
    /// What is wrong, in one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The word that is wrong, if it is one of a few that would be right.
    #[must_use]
    pub fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    /// What would be right: words to choose from, or how something is written.
    #[must_use]
    pub fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Where it is, in bytes of the text; `None` when it is the text as a whole.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    fn new(span: Option<Range<usize>>, message: impl Into<String>) -> Self {
        Self { message: message.into(), allowed: Vec::new(), wrong: None, span, line: None }
    }

    fn allow<S: Into<String>>(mut self, allowed: impl IntoIterator<Item = S>) -> Self {
        self.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }

    fn instead_of(mut self, wrong: &str) -> Self {
        self.wrong = Some(wrong.to_owned());
        self
    }

    /// The same, with the number of its line in a text.
    fn in_text(mut self, text: &str) -> Self {
        let begin = self.span.as_ref().map(|span| span.start.min(text.len()));
        self.line = begin.map(|begin| text.as_bytes()[..begin].iter().filter(|byte| **byte == b'\n').count() + 1);
        self
    }
}

impl fmt::Display for WorkflowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        match self.allowed.as_slice() {
            [] => Ok(()),
            [only] => write!(f, "; write {only}"),
            several => write!(f, "; it may be {}", several.join(", ")),
        }
    }
}

impl std::error::Error for WorkflowError {}

type Result<T, E = WorkflowError> = std::result::Result<T, E>;

impl Workflow {
    /// Reads a workflow from TOML.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, WorkflowError> {
        read(text).map_err(|error| error.in_text(text))
    }
}

impl Scope {
    /// Reads a scope from JSON. Unlike what is received, what is written by hand has no members that are not known.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(json: &[u8]) -> Result<Self, WorkflowError> {
        let value = serde_json::from_slice(json).map_err(|error| WorkflowError::new(None, format!("this is no JSON: {error}")))?;
        scope(of_json(value), "the scope")
    }
}

/// A value, and where it stands.
struct Node {
    value: Raw,
    span: Option<Range<usize>>,
}

enum Raw {
    Text(String),
    Whole(i64),
    List(Vec<Node>),
    Table(Vec<Member>),
    /// Anything else, in words.
    Other(&'static str),
}

struct Member {
    key: String,
    span: Option<Range<usize>>,
    node: Node,
}

fn of_toml(value: DeValue<'_>, span: Range<usize>) -> Node {
    let raw = match value {
        DeValue::String(text) => Raw::Text(text.into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .map_or(Raw::Other("a number that is too large"), Raw::Whole),
        // A time is written with quotes or without.
        DeValue::Datetime(time) => Raw::Text(time.to_string()),
        DeValue::Float(_) => Raw::Other("a number with a fraction"),
        DeValue::Boolean(_) => Raw::Other("true or false"),
        DeValue::Array(items) => {
            Raw::List(items.into_iter().map(|item| (item.span(), item.into_inner())).map(|(at, item)| of_toml(item, at)).collect())
        }
        DeValue::Table(table) => return table_node(table, span),
    };
    Node { value: raw, span: Some(span) }
}

fn table_node(table: DeTable<'_>, span: Range<usize>) -> Node {
    let member = |(key, value): (toml::Spanned<toml::de::DeString<'_>>, toml::Spanned<DeValue<'_>>)| {
        let at = value.span();
        Member { span: Some(key.span()), key: key.into_inner().into_owned(), node: of_toml(value.into_inner(), at) }
    };
    let mut members: Vec<_> = table.into_iter().map(member).collect();
    // The table is sorted by name; the first in the file is the one to speak of.
    members.sort_by_key(|member| member.span.as_ref().map(|span| span.start));
    Node { value: Raw::Table(members), span: Some(span) }
}

fn of_json(value: serde_json::Value) -> Node {
    use serde_json::Value;
    let value = match value {
        Value::Null => Raw::Other("null"),
        Value::Bool(_) => Raw::Other("true or false"),
        Value::Number(number) => number.as_i64().map_or(Raw::Other("a number that is too large or has a fraction"), Raw::Whole),
        Value::String(text) => Raw::Text(text),
        Value::Array(items) => Raw::List(items.into_iter().map(of_json).collect()),
        Value::Object(members) => {
            Raw::Table(members.into_iter().map(|(key, value)| Member { key, span: None, node: of_json(value) }).collect())
        }
    };
    Node { value, span: None }
}

impl Node {
    fn kind(&self) -> &'static str {
        match &self.value {
            Raw::Text(_) => "a string",
            Raw::Whole(_) => "a number",
            Raw::List(_) => "a list",
            Raw::Table(_) => "a table",
            Raw::Other(kind) => kind,
        }
    }

    fn mistyped(&self, what: &str, expected: &str) -> WorkflowError {
        WorkflowError::new(self.span.clone(), format!("{what} must be {expected}, not {}", self.kind()))
    }

    fn text(self, what: &str) -> Result<String> {
        match self.value {
            Raw::Text(text) => Ok(text),
            _ => Err(self.mistyped(what, "a string")),
        }
    }

    fn list(self, what: &str, expected: &str) -> Result<Vec<Node>> {
        match self.value {
            Raw::List(items) => Ok(items),
            Raw::Text(text) => {
                let error = WorkflowError::new(self.span, format!("{what} must be {expected}, not a string"));
                Err(error.allow([format!("[{text:?}]")]))
            }
            _ => Err(self.mistyped(what, expected)),
        }
    }

    fn texts(self, what: &str) -> Result<Vec<String>> {
        self.list(what, "a list of strings")?.into_iter().map(|item| item.text(&format!("an item of {what}"))).collect()
    }

    /// A number that is not negative.
    fn count<T: TryFrom<i64>>(self, what: &str) -> Result<T> {
        let Raw::Whole(number) = self.value else { return Err(self.mistyped(what, "a whole number")) };
        T::try_from(number).map_err(|_| WorkflowError::new(self.span, format!("{what} cannot be {number}")))
    }

    /// One of a few words.
    fn choice<T: Copy>(self, what: &str, choices: &[(&str, T)]) -> Result<T> {
        let span = self.span.clone();
        let text = self.text(what)?;
        if let Some((_, value)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(*value);
        }
        let error = WorkflowError::new(span, format!("{what} cannot be {text:?}"));
        Err(error.instead_of(&text).allow(choices.iter().map(|(name, _)| *name)))
    }

    fn patterns<P: Pattern>(self, what: &str) -> Result<Patterns<P>> {
        let items = self.list(what, "a list of strings")?;
        let one = |item: Node| {
            let span = item.span.clone();
            item.text(&format!("an item of {what}"))?.parse::<P>().map_err(|error| WorkflowError::new(span, format!("{what}: {error}")))
        };
        items.into_iter().map(one).collect()
    }

    /// A table of which every key must be known; the first spelling of a key is what it is called.
    fn table(self, title: &str, keys: &[&[&str]]) -> Result<Table> {
        let span = self.span.clone();
        let Raw::Table(members) = self.value else { return Err(self.mistyped(title, "a table")) };
        let mut found: BTreeMap<String, Node> = BTreeMap::new();
        for Member { key, span, node } in members {
            let Some(known) = keys.iter().find(|spellings| spellings.contains(&key.as_str())) else {
                let error = WorkflowError::new(span, format!("{title} has no key {key:?}"));
                return Err(error.instead_of(&key).allow(keys.iter().map(|spellings| spellings[0])));
            };
            if found.insert(known[0].to_owned(), node).is_some() {
                return Err(WorkflowError::new(span, format!("{title} has {} twice, under two names", known[0])));
            }
        }
        Ok(Table { title: title.to_owned(), span, members: found })
    }
}

/// A table whose keys are known.
struct Table {
    title: String,
    span: Option<Range<usize>>,
    members: BTreeMap<String, Node>,
}

impl Table {
    fn take(&mut self, key: &str) -> Option<Node> {
        self.members.remove(key)
    }

    fn text(&mut self, key: &str) -> Result<Option<String>> {
        let what = format!("{key} of {}", self.title);
        self.take(key).map(|node| node.text(&what)).transpose()
    }

    fn required(&mut self, key: &str, example: &str) -> Result<Node> {
        self.take(key).ok_or_else(|| {
            WorkflowError::new(self.span.clone(), format!("{} has no {key}", self.title)).allow([format!("{key} = {example}")])
        })
    }

    fn scope(&mut self, key: &str) -> Result<Option<Scope>> {
        let what = format!("{key} of {}", self.title);
        self.take(key).map(|node| scope(node, &what)).transpose()
    }
}

const AGENT: [&[&str]; 5] = [&["id"], &["card"], &["url"], &["allow"], &["scope"]];
const EDGE: [&[&str]; 6] = [&["from"], &["to"], &["kind"], &["requires", "needs"], &["grant"], &["on_violation"]];
const SCOPE: [&[&str]; 8] = [
    &["skills"],
    &["audiences"],
    &["scopes"],
    &["input_modes", "inputModes"],
    &["output_modes", "outputModes"],
    &["budget"],
    &["hops"],
    &["not_after", "notAfter"],
];
const KINDS: [(&str, Kind); 3] = [("handoff", Kind::Handoff), ("delegate", Kind::Delegate), ("delegation", Kind::Delegate)];
const ENDINGS: [(&str, OnViolation); 2] = [("fail", OnViolation::Fail), ("escalate", OnViolation::Escalate)];

fn read(text: &str) -> Result<Workflow> {
    let parsed = DeTable::parse(text).map_err(|error| WorkflowError::new(error.span(), error.message().trim().replace('\n', "; ")))?;
    let span = parsed.span();
    let mut root = table_node(parsed.into_inner(), span).table("the file", &[&["workflow"], &["agent"], &["edge", "edges"]])?;
    let mut name = String::new();
    let (mut start, mut scope) = (Vec::new(), Scope::top());
    if let Some(head) = root.take("workflow") {
        let mut head = head.table("[workflow]", &[&["name"], &["start"], &["scope"]])?;
        name = head.text("name")?.unwrap_or_default();
        start = head.take("start").map(|node| node.texts("start of [workflow]")).transpose()?.unwrap_or_default();
        scope = head.scope("scope")?.unwrap_or_default();
    }
    let agents = root.take("agent").map(agents).transpose()?.unwrap_or_default();
    if agents.is_empty() {
        let error = WorkflowError::new(None, "the workflow has no agents");
        return Err(error.allow(["[[agent]] with an id, and a card or a url"]));
    }
    let edges = root.take("edge").map(edges).transpose()?.unwrap_or_default();
    if start.is_empty() {
        // Work comes in where nobody passes it on to.
        let inner: BTreeSet<_> = edges.iter().filter(|edge| edge.from != edge.to).map(|edge| &edge.to).collect();
        start = agents.iter().filter(|agent| !inner.contains(&agent.id)).map(|agent| agent.id.clone()).collect();
    }
    Ok(Workflow { name, start, scope, agents, edges })
}

/// `[[agent]]` with an `id`, or `[agent.NAME]`.
fn agents(node: Node) -> Result<Vec<Agent>> {
    let span = node.span.clone();
    match node.value {
        Raw::List(items) => {
            let mut agents: Vec<Agent> = Vec::new();
            for item in items {
                let mut table = item.table("[[agent]]", &AGENT)?;
                let id = table.required("id", "\"NAME\"")?;
                let at = id.span.clone();
                let id = id.text("id of [[agent]]")?;
                if agents.iter().any(|agent| agent.id == id) {
                    return Err(WorkflowError::new(at, format!("two agents are called {id:?}")).allow(["another id for one of them"]));
                }
                agents.push(agent(id, table)?);
            }
            Ok(agents)
        }
        Raw::Table(members) => members
            .into_iter()
            .map(|Member { key, span, node }| match &node.value {
                Raw::Table(_) => {
                    let table = node.table(&format!("[agent.{key}]"), &AGENT[1..])?;
                    agent(key, table)
                }
                _ => Err(WorkflowError::new(span, "an agent is written with two brackets, or with its name")
                    .allow(["[[agent]]", "[agent.NAME]"])),
            })
            .collect(),
        value => {
            let kind = Node { value, span: None }.kind();
            Err(WorkflowError::new(span, format!("agent must be tables, not {kind}")).allow(["[[agent]]", "[agent.NAME]"]))
        }
    }
}

fn agent(id: String, mut table: Table) -> Result<Agent> {
    Ok(Agent { id, card: table.text("card")?, url: table.text("url")?, allow: table.scope("allow")?, scope: table.scope("scope")? })
}

fn edges(node: Node) -> Result<Vec<Edge>> {
    let Raw::List(items) = node.value else { return Err(node.mistyped("edge", "tables").allow(["[[edge]]"])) };
    items.into_iter().map(edge).collect()
}

fn edge(node: Node) -> Result<Edge> {
    let mut table = node.table("[[edge]]", &EDGE)?;
    Ok(Edge {
        from: table.required("from", "\"ID\"")?.text("from of [[edge]]")?,
        to: table.required("to", "\"ID\"")?.text("to of [[edge]]")?,
        kind: table.required("kind", "\"handoff\" or \"delegate\"")?.choice("kind of [[edge]]", &KINDS)?,
        requires: table.take("requires").map(|node| node.texts("requires of [[edge]]")).transpose()?.into_iter().flatten().collect(),
        grant: table.scope("grant")?,
        on_violation: table.take("on_violation").map(|node| node.choice("on_violation of [[edge]]", &ENDINGS)).transpose()?,
    })
}

fn scope(node: Node, title: &str) -> Result<Scope> {
    let mut table = node.table(title, &SCOPE)?;
    let mut named = |key: &str| table.take(key).map(|node| (node, format!("{key} of {title}")));
    Ok(Scope {
        skills: named("skills").map(|(node, what)| node.patterns(&what)).transpose()?,
        audiences: named("audiences").map(|(node, what)| node.patterns(&what)).transpose()?,
        scopes: named("scopes").map(|(node, what)| node.patterns(&what)).transpose()?,
        input_modes: named("input_modes").map(|(node, what)| node.patterns(&what)).transpose()?,
        output_modes: named("output_modes").map(|(node, what)| node.patterns(&what)).transpose()?,
        budget: named("budget").map(|(node, what)| budget(node, &what)).transpose()?,
        hops: named("hops").map(|(node, what)| node.count(&what)).transpose()?,
        not_after: named("not_after").map(|(node, what)| time(node, &what)).transpose()?,
    })
}

/// Amounts by their currencies, which may have any name.
fn budget(node: Node, what: &str) -> Result<BTreeMap<String, u64>> {
    let Raw::Table(members) = node.value else { return Err(node.mistyped(what, "a table").allow(["{ EUR = 500 }"])) };
    members.into_iter().map(|Member { key, node, .. }| Ok((key.clone(), node.count(&format!("{key} of {what}"))?))).collect()
}

fn time(node: Node, what: &str) -> Result<Timestamp> {
    let span = node.span.clone();
    let text = node.text(what)?;
    Timestamp::parse(&text)
        .map_err(|_| WorkflowError::new(span, format!("{what} is no time: {text:?}")).allow(["\"2026-12-31T23:59:59Z\""]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, words: &str) {
        match Workflow::parse(text) {
            Ok(workflow) => panic!("{text} was read as {workflow:?}"),
            Err(error) => assert_eq!(error.to_string(), words, "for {text}"),
        }
    }

    const ONE: &str = "[[agent]]\nid = \"a\"\n";

    #[test]
    fn what_is_wrong_is_said_with_its_line_and_what_would_be_right() {
        let edge = |lines: &str| format!("{ONE}[[edge]]\nfrom = \"a\"\nto = \"a\"\n{lines}");
        for (text, words) in [
            (String::new(), "the workflow has no agents; write [[agent]] with an id, and a card or a url"),
            (format!("{ONE}{ONE}"), "line 4: two agents are called \"a\"; write another id for one of them"),
            ("[[agent]]\ncard = \"x\"\n".to_owned(), "line 1: [[agent]] has no id; write id = \"NAME\""),
            (
                "[agent]\nid = \"a\"\n".to_owned(),
                "line 2: an agent is written with two brackets, or with its name; it may be [[agent]], [agent.NAME]",
            ),
            ("agent = 3".to_owned(), "line 1: agent must be tables, not a number; it may be [[agent]], [agent.NAME]"),
            (format!("{ONE}names = 1\n"), "line 3: [[agent]] has no key \"names\"; it may be id, card, url, allow, scope"),
            (format!("{ONE}[agents]\n"), "line 3: the file has no key \"agents\"; it may be workflow, agent, edge"),
            (edge(""), "line 3: [[edge]] has no kind; write kind = \"handoff\" or \"delegate\""),
            (edge("kind = \"handof\""), "line 6: kind of [[edge]] cannot be \"handof\"; it may be handoff, delegate, delegation"),
            (
                edge("kind = \"handoff\"\nrequires = \"x\""),
                "line 7: requires of [[edge]] must be a list of strings, not a string; write [\"x\"]",
            ),
            (edge("kind = \"handoff\"\nrequires = [1]"), "line 7: an item of requires of [[edge]] must be a string, not a number"),
            (
                edge("kind = \"handoff\"\ngrant = { skils = [] }"),
                "line 7: grant of [[edge]] has no key \"skils\"; it may be skills, audiences, scopes, input_modes, output_modes, budget, hops, not_after",
            ),
            (
                format!("[workflow]\nscope = {{ skills = [\"a*b\"] }}\n{ONE}"),
                "line 2: skills of scope of [workflow]: \"a*b\" has a * that is not at its end",
            ),
            (format!("[workflow]\nscope = {{ hops = -1 }}\n{ONE}"), "line 2: hops of scope of [workflow] cannot be -1"),
            (
                format!("[workflow]\nscope = {{ not_after = \"soon\" }}\n{ONE}"),
                "line 2: not_after of scope of [workflow] is no time: \"soon\"; write \"2026-12-31T23:59:59Z\"",
            ),
        ] {
            refused(&text, words);
        }
    }

    #[test]
    fn a_scope_is_read_from_json_in_the_same_words() {
        let scope = Scope::parse(br#"{"skills": ["a*"], "inputModes": ["text/*"], "budget": {"EUR": 5}, "hops": 2}"#).unwrap();
        assert_eq!(
            scope,
            serde_json::from_str(r#"{"skills": ["a*"], "inputModes": ["text/*"], "budget": {"EUR": 5}, "hops": 2}"#).unwrap()
        );
        assert_eq!(Scope::parse(b"[]").unwrap_err().to_string(), "the scope must be a table, not a list");
        assert_eq!(Scope::parse(br#"{"hops": "3"}"#).unwrap_err().to_string(), "hops of the scope must be a whole number, not a string");
    }
}
