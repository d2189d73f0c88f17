//! Log rows without what they repeat.
//!
//! The events of a task name it and its conversation over and over, within the same members. Packed, each
//! such phrase is one byte below 0x20, which JSON has nowhere; the ids themselves stand in front. A short
//! task takes less than half the room.
//!
//! The layout is `task`, 0, `context`, 0, packed JSON. Phrases are numbered for ever: new ones go to the end.

use chancery_core::Bytes;
use memchr::memmem;

/// One byte of packed JSON: what stands before the id of the task, and after it.
struct Phrase {
    before: &'static [Piece],
    after: &'static [Piece],
}

enum Piece {
    Text(&'static str),
    /// The id of the conversation.
    Context,
}

use Piece::{Context, Text};

/// The first is number 1. Where several fit, the last does.
const PHRASES: &[Phrase] = &[
    Phrase { before: &[], after: &[] },
    Phrase { before: &[Text(r#""taskId":""#)], after: &[Text(r#"","contextId":""#), Context, Text("\"")] },
    Phrase { before: &[Text(r#""contextId":""#), Context, Text(r#"","taskId":""#)], after: &[Text(r#"","role":"ROLE_"#)] },
    Phrase {
        before: &[Text(r#""contextId":""#), Context, Text(r#"","taskId":""#)],
        after: &[Text(r#"","role":"ROLE_USER","parts":[{"text":""#)],
    },
    Phrase {
        before: &[Text(r#""contextId":""#), Context, Text(r#"","taskId":""#)],
        after: &[Text(r#"","role":"ROLE_AGENT","parts":[{"text":""#)],
    },
    Phrase {
        before: &[Text(r#"{"event":{"task":{"id":""#)],
        after: &[Text(r#"","contextId":""#), Context, Text(r#"","status":{"state":"TASK_STATE_SUBMITTED","timestamp":""#)],
    },
    Phrase {
        before: &[Text(r#"{"event":{"statusUpdate":{"taskId":""#)],
        after: &[Text(r#"","contextId":""#), Context, Text(r#"","status":{"state":"TASK_STATE_"#)],
    },
    Phrase {
        before: &[Text(r#"{"event":{"statusUpdate":{"taskId":""#)],
        after: &[Text(r#"","contextId":""#), Context, Text(r#"","status":{"state":"TASK_STATE_WORKING","#)],
    },
    Phrase {
        before: &[Text(r#"{"event":{"statusUpdate":{"taskId":""#)],
        after: &[Text(r#"","contextId":""#), Context, Text(r#"","status":{"state":"TASK_STATE_COMPLETED","timestamp":""#)],
    },
    Phrase {
        before: &[Text(r#"{"event":{"artifactUpdate":{"taskId":""#)],
        after: &[Text(r#"","contextId":""#), Context, Text(r#"","artifact":{"artifactId":""#)],
    },
];

/// Packs JSON about a task; `None` when its ids are not made for that.
pub(crate) fn pack(format: u8, json: &[u8], task: &str, context: &str) -> Option<Bytes> {
    // Short ids may stand anywhere, and gain nothing.
    let fits = |id: &str| id.len() >= 8 && id.bytes().all(|byte| byte >= b' ');
    if !fits(task) || !fits(context) {
        return None;
    }
    let mut packed = Vec::with_capacity(task.len() + context.len() + 3 + json.len() / 2);
    packed.push(format);
    for id in [task, context] {
        packed.extend_from_slice(id.as_bytes());
        packed.push(0);
    }
    let mut done = 0;
    // Up to this length a search compares whole blocks.
    let tail = task.len().saturating_sub(32);
    for found in memmem::find_iter(json, &task.as_bytes()[tail..]) {
        // A phrase may have taken more than one.
        let Some(at) = found.checked_sub(tail).filter(|at| *at >= done && json[*at..].starts_with(task.as_bytes())) else { continue };
        let (open, rest) = (&json[done..at], &json[at + task.len()..]);
        for (number, phrase) in (1..b' ').zip(PHRASES).rev() {
            let Some((before, after)) = phrase.around(open, rest, context) else { continue };
            packed.extend_from_slice(&open[..open.len() - before]);
            packed.push(number);
            done = at + task.len() + after;
            break;
        }
    }
    packed.extend_from_slice(&json[done..]);
    // It is kept for long, so it takes no more room than it must.
    Some(Bytes::copy_from_slice(&packed))
}

/// What was packed; `None` when it was not packed here.
pub(crate) fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut fields = packed.splitn(3, |byte| *byte == 0);
    let (task, context, packed) = (fields.next()?, fields.next()?, fields.next()?);
    let mut json = Vec::with_capacity(packed.len() * 3);
    for part in packed.split_inclusive(|byte| *byte < b' ') {
        let (number, text) = part.split_last()?;
        if *number >= b' ' {
            json.extend_from_slice(part);
            continue;
        }
        json.extend_from_slice(text);
        let phrase = PHRASES.get(usize::from(*number).checked_sub(1)?)?;
        phrase.before.iter().for_each(|piece| json.extend_from_slice(piece.bytes(context)));
        json.extend_from_slice(task);
        phrase.after.iter().for_each(|piece| json.extend_from_slice(piece.bytes(context)));
    }
    Some(json)
}

impl Phrase {
    /// How many bytes of it stand before and after the id, if all of it stands there.
    fn around(&self, mut before: &[u8], mut after: &[u8], context: &str) -> Option<(usize, usize)> {
        let (open, rest) = (before.len(), after.len());
        for piece in self.after {
            after = after.strip_prefix(piece.bytes(context.as_bytes()))?;
        }
        for piece in self.before.iter().rev() {
            before = before.strip_suffix(piece.bytes(context.as_bytes()))?;
        }
        Some((open - before.len(), rest - after.len()))
    }
}

impl Piece {
    fn bytes<'a>(&self, context: &'a [u8]) -> &'a [u8] {
        match self {
            Text(text) => text.as_bytes(),
            Context => context,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: &str = "019537c0-7a3e-7c11-9e0a-6a1d5f3f8b01";
    const CONTEXT: &str = "019537c0-7a3e-7c11-9e0a-6a1d5f3f8b02";

    fn there_and_back(json: &str, task: &str, context: &str) -> usize {
        let packed = pack(b'2', json.as_bytes(), task, context).unwrap();
        assert_eq!(packed[0], b'2');
        assert_eq!(unpack(&packed[1..]).as_deref(), Some(json.as_bytes()), "{packed:?}");
        packed.len()
    }

    /// Every phrase in full, side by side, and each piece of it alone.
    #[test]
    fn what_was_packed_comes_back() {
        let mut all = String::new();
        let mut write = |pieces: &[Piece]| {
            for piece in pieces {
                let text = str::from_utf8(piece.bytes(CONTEXT.as_bytes())).unwrap();
                all.push_str(text);
                there_and_back(&format!("{text}{TASK}{text}{CONTEXT}{text}"), TASK, CONTEXT);
            }
        };
        for phrase in PHRASES {
            write(phrase.before);
            write(&[Text(TASK)]);
            write(phrase.after);
        }
        for cut in 0..all.len() {
            there_and_back(&all[cut..], TASK, CONTEXT);
            there_and_back(&all[..cut], TASK, CONTEXT);
        }
        assert_eq!(there_and_back(&all, TASK, CONTEXT), 1 + TASK.len() + CONTEXT.len() + 2 + PHRASES.len(), "nothing but phrases");
        // A task may be called like its conversation, and an id like a piece of itself.
        there_and_back(&all.replace(CONTEXT, TASK), TASK, TASK);
        there_and_back("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaa", "aaaaaaaaa");
    }

    #[test]
    fn phrases_keep_their_numbers_for_ever() {
        let first: Vec<u8> = [TASK, CONTEXT, "\u{1} \u{2} \u{3}USER \u{a}"].join("\0").into();
        let json = String::from_utf8(unpack(&first).unwrap()).unwrap();
        let expected = format!(
            r#"{TASK} "taskId":"{TASK}","contextId":"{CONTEXT}" "contextId":"{CONTEXT}","taskId":"{TASK}","role":"ROLE_USER {{"event":{{"artifactUpdate":{{"taskId":"{TASK}","contextId":"{CONTEXT}","artifact":{{"artifactId":""#
        );
        assert_eq!(json, expected);
    }

    #[test]
    fn ids_that_may_stand_anywhere_are_not_packed() {
        assert!(pack(b'2', b"[]", "1", CONTEXT).is_none());
        assert!(pack(b'2', b"[]", TASK, "line\nline\n").is_none());
    }

    #[test]
    fn what_was_never_packed_is_told_apart() {
        for wrong in ["", "task", "task\0context", "task\0context\0\u{1f}", "task\0context\0\0"] {
            assert!(unpack(wrong.as_bytes()).is_none(), "{wrong:?}");
        }
        assert_eq!(unpack(b"task\0context\0[]").as_deref(), Some(&b"[]"[..]));
    }
}
