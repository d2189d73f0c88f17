//! The path to the member that an error of the parser is about, such as `message.parts[0].text`.
//!
//! What goes wrong inside a value is noted by its place on the way out: the number of the member or item, innermost
//! first. Only then is the text walked again for the names. So types are read by one parser, not by a second one that
//! keeps track of names, which would be as much code again.

use std::cell::RefCell;

use serde::{
    Deserializer,
    de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor},
};

thread_local! {
    static PLACES: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Notes that an error goes through the member or item of this number.
#[cold]
#[inline(never)]
pub(crate) fn note(place: usize) {
    PLACES.with_borrow_mut(|places| places.push(place));
}

/// Forgets what was noted.
pub(crate) fn clear() {
    PLACES.with_borrow_mut(Vec::clear);
}

/// The path of what was noted last, in JSON text that was read then; empty for the value as a whole.
pub(crate) fn take(json: &[u8]) -> String {
    let mut places = PLACES.take();
    places.reverse();
    let mut path = String::new();
    let walk = Walk { places: &places, path: &mut path };
    // Text that could not be read was refused before; the path is right as far as it goes.
    let _ = walk.deserialize(&mut serde_json::Deserializer::from_slice(json));
    path
}

/// Goes to the member or item at each place, and writes down its name.
struct Walk<'a> {
    places: &'a [usize],
    path: &'a mut String,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.places.is_empty() { deserializer.deserialize_ignored_any(IgnoredAny).map(drop) } else { deserializer.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Some((place, places)) = self.places.split_first() else { return Ok(()) };
        for _ in 0..*place {
            members.next_entry::<IgnoredAny, IgnoredAny>()?;
        }
        if let Some(name) = members.next_key::<String>()? {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(&name);
            members.next_value_seed(Walk { places, path: self.path })?;
        }
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((place, places)) = self.places.split_first() else { return Ok(()) };
        for _ in 0..*place {
            items.next_element::<IgnoredAny>()?;
        }
        self.path.push_str(&format!("[{place}]"));
        items.next_element_seed(Walk { places, path: self.path })?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Card, ListTasks, Message, SendMessage, Task, TaskState};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use crate::{json, object::Objects};

    /// Reads every spoiled form of a value with a parser that keeps track of names, and compares what each of them says.
    fn check<T: DeserializeOwned>(value: &Value) -> usize {
        let mut count = 0;
        for spoiled in spoiled(value) {
            let text = serde_json::to_vec(&spoiled).unwrap();
            let tracked = serde_path_to_error::deserialize::<_, T>(Objects(&mut serde_json::Deserializer::from_slice(&text)));
            match (json::read::<T>(&text), tracked) {
                (Err(error), Err(tracked)) => {
                    let path = tracked.path().to_string();
                    let expected = if path == "." { "params" } else { &path };
                    assert_eq!(error.violations()[0].field, expected, "{spoiled}: {tracked}");
                    count += 1;
                }
                (read, tracked) => assert_eq!(read.is_ok(), tracked.is_ok(), "{spoiled}"),
            }
        }
        count
    }

    /// The value with each of its values, in turn, being something else.
    fn spoiled(value: &Value) -> Vec<Value> {
        let mut all = vec![json!(5), json!("?"), json!([]), json!({}), json!(null), json!([["?"]]), json!({"?": true}), json!(-1.5)];
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    all.extend(spoiled(member).into_iter().map(|spoiled| {
                        let mut members = members.clone();
                        members.insert(name.clone(), spoiled);
                        Value::Object(members)
                    }));
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    all.extend(spoiled(item).into_iter().map(|spoiled| {
                        let mut items = items.clone();
                        items[at] = spoiled;
                        Value::Array(items)
                    }));
                }
            }
            _ => {}
        }
        all
    }

    #[test]
    fn the_path_is_that_of_a_parser_that_keeps_track_of_names() {
        let message = Message::user("hi").id("m-1").metadata("k", json!({"deep": [1, {"a": "b"}]}));
        let mut task = Task::new("t-1", "c-1", TaskState::Working);
        task.history = vec![message.clone(), message.clone()];
        let mut count = check::<SendMessage>(&serde_json::to_value(SendMessage::new(message)).unwrap());
        count += check::<Task>(&serde_json::to_value(task).unwrap());
        count +=
            check::<ListTasks>(&json!({"pageSize": 5, "status": "TASK_STATE_WORKING", "statusTimestampAfter": "2026-03-02T09:15:07Z"}));
        let card = Card::new("Echo", "Repeats").skill("echo", "Says it again").interface(
            "http://a",
            chancery_core::Binding::JsonRpc,
            chancery_core::Version::V1_0,
        );
        count += check::<Card>(&serde_json::to_value(card).unwrap());
        assert!(count > 300, "{count}");
    }
}
