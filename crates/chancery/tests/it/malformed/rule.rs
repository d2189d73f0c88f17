//! What the specification says about the members of a request, and every way to break it.

use serde_json::{Value, json};

/// The type of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// An integer of 32 bits, which ProtoJSON also takes as text.
    Whole,
    Flag,
    Object,
    List,
    /// One of a few words, which ProtoJSON also takes as a number.
    Word,
    Time,
    /// Milliseconds since 1970.
    Millis,
}

impl Kind {
    /// Values of every other type, and values of the right type that mean nothing.
    fn wrong(self) -> Vec<Value> {
        match self {
            Self::Text => vec![json!(7), json!(1.5), json!(true), json!(["x"]), json!({"x": 1})],
            Self::Whole => vec![json!("five"), json!(5.5), json!(2_147_483_648_u64), json!(true), json!([5]), json!({"x": 5})],
            Self::Flag => vec![json!("true"), json!(1), json!([true]), json!({"x": true})],
            Self::Object => vec![json!(7), json!("x"), json!(true), json!([]), json!(["x"])],
            Self::List => vec![json!(7), json!("x"), json!(true), json!({"x": 1})],
            Self::Word => vec![json!("NO_SUCH_WORD"), json!(99), json!(true), json!(["x"]), json!({"x": 1})],
            Self::Time => vec![
                json!(7),
                json!(true),
                json!(["x"]),
                json!({"x": 1}),
                json!("yesterday"),
                json!("2026-11-09"),
                json!("2026-11-09T10:30:00"),
                json!("2026-13-09T10:30:00Z"),
                json!("2026-11-09t10:30:00z"),
            ],
            Self::Millis => vec![json!("yesterday"), json!(true), json!(1.5), json!([1]), json!({"x": 1})],
        }
    }

    /// What counts as nothing: protobuf cannot tell it from a member that is missing.
    fn empty(self) -> Option<Value> {
        match self {
            Self::Text => Some(json!("")),
            Self::List => Some(json!([])),
            Self::Object => Some(json!({})),
            _ => None,
        }
    }
}

/// A member of a request.
pub(super) struct Member {
    pub(super) at: &'static str,
    pub(super) kind: Kind,
    /// What is named when the member is not there, if it must be.
    required: Option<&'static str>,
}

pub(super) fn may(at: &'static str, kind: Kind) -> Member {
    Member { at, kind, required: None }
}

pub(super) fn must(at: &'static str, kind: Kind) -> Member {
    Member { at, kind, required: Some(at) }
}

/// Members before v1.0 are missed under the name that they have in v1.0.
pub(super) fn must_as(at: &'static str, kind: Kind, missed: &'static str) -> Member {
    Member { at, kind, required: Some(missed) }
}

/// One way to break a rule: what was done, the request, and the field at fault.
pub(super) struct Broken {
    pub(super) what: String,
    pub(super) request: Value,
    pub(super) field: String,
}

/// Every way to break one of the rules of a request.
pub(super) fn break_each(good: &Value, rules: &[Member]) -> Vec<Broken> {
    let mut all = Vec::new();
    for Member { at, kind, required } in rules {
        let mut change = |what: String, value: Option<Value>, field: &str| {
            let mut request = good.clone();
            put(&mut request, at, value);
            all.push(Broken { what, request, field: field.to_owned() });
        };
        for value in kind.wrong() {
            change(format!("{at} is {value}"), Some(value), at);
        }
        if let Some(missed) = required {
            change(format!("{at} is missing"), None, missed);
            change(format!("{at} is null"), Some(Value::Null), missed);
            if let Some(empty) = kind.empty() {
                change(format!("{at} is {empty}"), Some(empty), missed);
            }
        }
    }
    all
}

/// Puts a value at a path such as `message.parts[0].text`, or takes away what is there. What leads to it is made.
pub(super) fn put(request: &mut Value, at: &str, value: Option<Value>) {
    let mut steps: Vec<&str> = at.split(['.', '[']).collect();
    let last = steps.pop().unwrap();
    let mut here = request;
    for step in steps {
        here = match step.strip_suffix(']') {
            Some(index) => &mut here[index.parse::<usize>().unwrap()],
            None => &mut here[step],
        };
        if here.is_null() {
            *here = json!({});
        }
    }
    match (last.strip_suffix(']'), value) {
        (Some(index), Some(value)) => {
            let index: usize = index.parse().unwrap();
            if !here.is_array() {
                *here = json!([]);
            }
            let list = here.as_array_mut().unwrap();
            list.resize(list.len().max(index + 1), Value::Null);
            list[index] = value;
        }
        (None, Some(value)) => here[last] = value,
        (None, None) => drop(here.as_object_mut().unwrap().remove(last)),
        (Some(_), None) => panic!("an element of a list cannot be missing"),
    }
}
