//! Made-up tasks for properties, of what all versions can carry.

use chancery_core::{Artifact, Content, Message, Object, Part, Record, Role, Task, TaskState, TaskStatus, Timestamp};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};

/// Texts with what JSON must escape and what UTF-8 makes longer.
pub(crate) fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 äß€\"\\\\\n/]{0,12}"
}

fn id() -> impl Strategy<Value = String> {
    "[a-z0-9-]{1,12}"
}

/// Free members. Their names begin with k, so that none has a meaning somewhere.
pub(crate) fn object() -> impl Strategy<Value = Object> {
    let value = prop_oneof![text().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(json!({"a": [1, null]}))];
    proptest::collection::btree_map("k[a-z]{0,4}", value, 0..3).prop_map(|members| members.into_iter().collect())
}

/// Parts without metadata: text and data are bare, files may have a name and a type.
pub(crate) fn part() -> impl Strategy<Value = Part> {
    let file = (any::<bool>(), "[a-z]{1,8}", option::of("[a-z]{1,6}\\.csv"), option::of(Just("text/csv")));
    prop_oneof![
        text().prop_map(Part::text),
        object().prop_map(|members| Part::data(Value::Object(members))),
        file.prop_map(|(inline, content, name, kind)| {
            let content = if inline { Content::Raw(content.into()) } else { Content::Url(format!("https://files.example/{content}")) };
            let mut part = Part::new(content);
            part.filename = name.unwrap_or_default();
            part.media_type = kind.unwrap_or_default().to_owned();
            part
        }),
    ]
}

fn message(task: String, context: String, parts: impl Strategy<Value = Part>) -> impl Strategy<Value = Message> {
    (id(), any::<bool>(), vec(parts, 1..3), object()).prop_map(move |(id, user, parts, metadata)| {
        let role = if user { Role::User } else { Role::Agent };
        let mut message = Message::new(role, parts).id(id).in_context(context.clone()).to_task(task.clone());
        message.metadata = metadata;
        message
    })
}

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    (0..4_000_000_000_000_i64).prop_map(|millis| Timestamp::from_unix_millis(millis).unwrap())
}

pub(crate) fn state() -> impl Strategy<Value = TaskState> {
    (0..TaskState::ALL.len()).prop_map(|at| TaskState::ALL[at])
}

/// Tasks in any state.
pub(crate) fn task() -> impl Strategy<Value = Task> {
    (id(), id()).prop_flat_map(|(task, context)| {
        let said = option::of(text().prop_filter("a status message has text", |text| !text.is_empty()));
        let history = vec(message(task.clone(), context.clone(), part()), 0..3);
        let artifact = (text(), text(), vec(part(), 1..3), object());
        (state(), said, option::of(time()), history, vec(artifact, 0..3), object(), (time(), time())).prop_map(
            move |(state, said, at, history, artifacts, metadata, (created, updated))| {
                let mut status = TaskStatus::new(state);
                status.message = said.map(|text| Message::agent(text).in_context(context.as_str()).to_task(task.as_str()));
                status.timestamp = at;
                let mut made = Task::new(task.as_str(), context.as_str(), status);
                made.history = history;
                made.artifacts = artifacts
                    .into_iter()
                    .enumerate()
                    .map(|(at, (name, description, parts, metadata))| {
                        let mut artifact = Artifact::new("").id(format!("a-{at}")).named(name).described(description);
                        (artifact.parts, artifact.metadata) = (parts, metadata);
                        artifact
                    })
                    .collect();
                made.metadata = metadata;
                made.record = Record::default().times(created, updated);
                made
            },
        )
    })
}

/// The value with each of its members, one after the other, replaced by what does not belong there.
pub(crate) fn spoiled(value: &Value) -> Vec<Value> {
    let mut pointers = vec![String::new()];
    let mut next = 0;
    while next < pointers.len() {
        let pointer = pointers[next].clone();
        match value.pointer(&pointer) {
            Some(Value::Object(members)) => pointers.extend(members.keys().map(|name| format!("{pointer}/{}", name.replace('/', "~1")))),
            Some(Value::Array(items)) => pointers.extend((0..items.len()).map(|at| format!("{pointer}/{at}"))),
            _ => {}
        }
        next += 1;
    }
    let wrong = [
        Value::Null,
        json!(true),
        json!(-1.5),
        json!(1e300),
        json!(""),
        json!("\u{0}/x"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"x": {}}),
    ];
    let spoil = |(pointer, wrong): (&String, &Value)| {
        let mut spoiled = value.clone();
        if let Some(member) = spoiled.pointer_mut(pointer) {
            *member = wrong.clone();
        }
        spoiled
    };
    pointers.iter().flat_map(|pointer| wrong.iter().map(move |wrong| (pointer, wrong))).map(spoil).collect()
}
