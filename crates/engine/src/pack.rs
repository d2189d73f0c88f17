//! Log rows of format 2, which are read and no longer written: JSON without what it repeats.
//!
//! The events of a task name it and its conversation over and over, within the same members. Packed, each
//! such phrase is one byte below 0x20, which JSON has nowhere; the ids themselves stand in front.
//!
//! The layout is `task`, 0, `context`, 0, packed JSON.

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

/// The first is number 1.
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

impl Piece {
    fn bytes<'a>(&self, context: &'a [u8]) -> &'a [u8] {
        match self {
            Text(text) => text.as_bytes(),
            Context => context,
        }
    }
}
