//! Golden messages with one member replaced by something else, each in turn.

use serde_json::{Value, json};

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
