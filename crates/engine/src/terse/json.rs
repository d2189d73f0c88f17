//! Transcoder: the v1.0 JSON of a task from its stored form, in one pass, without making types of it.

use chancery_core::{Timestamp, json};

use super::{
    BYTES, CONTEXT, DEPTH, END, FALSE, FLOAT, Failed, LARGE, LIST, MAP, NEGATIVE, NULL, NUMBER, SHORT, TASK, TEXT, TRUE, UUID, UUID_BYTES,
    WORD,
    read::{Name, Reader, known, unzigzag},
};

/// Which artifacts the JSON of a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Artifacts {
    /// Those of the task; no member when there are none.
    AsStored,
    /// Those of the task; the member is there even when there are none.
    Always,
    /// None.
    Omitted,
}

/// Appends the v1.0 JSON of the task that is the member `task` of what was written, which comes first there.
///
/// # Errors
/// Nothing of the kind was written here.
pub(crate) fn append_task(bytes: &[u8], artifacts: Artifacts, out: &mut Vec<u8>) -> Result<(), Failed> {
    let mut transcoder = Transcoder { reader: Reader::new(bytes)?, out };
    transcoder.expect(MAP)?;
    if transcoder.reader.member()? != "task" {
        return Err(Failed::new("the task does not come first"));
    }
    transcoder.expect(MAP)?;
    transcoder.task(artifacts)
}

struct Transcoder<'a, 'de> {
    reader: Reader<'de>,
    out: &'a mut Vec<u8>,
}

impl Transcoder<'_, '_> {
    fn expect(&mut self, tag: u8) -> Result<(), Failed> {
        if self.reader.byte()? == tag { Ok(()) } else { Err(Failed::new("it is no task")) }
    }

    /// The members of a task. They are stored in the order in which they are serialized: artifacts follow the status.
    fn task(&mut self, artifacts: Artifacts) -> Result<(), Failed> {
        self.out.push(b'{');
        let mut first = true;
        let mut missing = artifacts == Artifacts::Always;
        while !self.reader.is_end() {
            let tag = self.reader.byte()?;
            let name = known(tag).ok();
            if name == Some("artifacts") {
                missing = false;
                if artifacts == Artifacts::Omitted {
                    self.skip()?;
                    continue;
                }
            } else if missing && matches!(name, Some("history" | "metadata")) {
                self.out.extend_from_slice(b",\"artifacts\":[]");
                missing = false;
            }
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            self.member(tag, 1)?;
        }
        if missing {
            self.out.extend_from_slice(b",\"artifacts\":[]");
        }
        self.out.push(b'}');
        Ok(())
    }

    fn value(&mut self, depth: u8) -> Result<(), Failed> {
        let tag = self.reader.byte()?;
        self.value_of(tag, depth)
    }

    fn value_of(&mut self, tag: u8, depth: u8) -> Result<(), Failed> {
        match tag {
            NULL => self.out.extend_from_slice(b"null"),
            FALSE => self.out.extend_from_slice(b"false"),
            TRUE => self.out.extend_from_slice(b"true"),
            END => return Err(Failed::new("a value is missing")),
            LIST | MAP if depth >= DEPTH => return Err(Failed::new("it is too deep")),
            LIST => self.list(depth + 1)?,
            MAP => self.map(depth + 1)?,
            NUMBER => {
                let number = self.reader.small()?;
                return append(&number, self.out);
            }
            NEGATIVE => {
                let number = self.reader.negative()?;
                return append(&number, self.out);
            }
            FLOAT => {
                let number = self.reader.float()?;
                return append(&number, self.out);
            }
            // The one thing that is written as such a number.
            LARGE => {
                let number = unzigzag(self.reader.count()?);
                let timestamp = Timestamp::from_number(number).ok_or_else(|| Failed::new("a time is out of range"))?;
                return append(&timestamp, self.out);
            }
            TASK => {
                let name = self.reader.task;
                return self.name(name);
            }
            CONTEXT => {
                let name = self.reader.context;
                return self.name(name);
            }
            UUID => {
                let text = self.reader.uuid()?;
                self.plain(&text);
            }
            BYTES => {
                let length = self.reader.length()?;
                let text = json::to_base64(self.reader.bytes(length)?);
                self.plain(text.as_bytes());
            }
            TEXT => {
                let length = self.reader.length()?;
                let text = self.reader.text(length)?;
                return append(text, self.out);
            }
            tag @ SHORT.. => {
                let text = self.reader.text(usize::from(tag - SHORT))?;
                return append(text, self.out);
            }
            tag => {
                let word = known(tag)?;
                self.plain(word.as_bytes());
            }
        }
        Ok(())
    }

    fn list(&mut self, depth: u8) -> Result<(), Failed> {
        self.out.push(b'[');
        let mut first = true;
        while !self.reader.is_end() {
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            self.value(depth)?;
        }
        self.out.push(b']');
        self.expect(END)
    }

    fn map(&mut self, depth: u8) -> Result<(), Failed> {
        self.out.push(b'{');
        let mut first = true;
        while !self.reader.is_end() {
            if !std::mem::take(&mut first) {
                self.out.push(b',');
            }
            let tag = self.reader.byte()?;
            self.member(tag, depth)?;
        }
        self.out.push(b'}');
        self.expect(END)
    }

    /// The name that begins with this byte, and its value.
    fn member(&mut self, tag: u8, depth: u8) -> Result<(), Failed> {
        // Names are texts, whatever way they are written in.
        if !matches!(tag, TASK..=UUID | TEXT | WORD..) {
            return Err(Failed::new("a name is no text"));
        }
        self.value_of(tag, depth)?;
        self.out.push(b':');
        self.value(depth)
    }

    fn name(&mut self, name: Name<'_>) -> Result<(), Failed> {
        match name {
            Name::None => Err(Failed::new("a name stands for itself")),
            Name::Text(text) => append(text, self.out),
            Name::Uuid(text) => {
                self.plain(&text);
                Ok(())
            }
        }
    }

    /// A text without anything that JSON escapes.
    fn plain(&mut self, text: &[u8]) {
        self.out.push(b'"');
        self.out.extend_from_slice(text);
        self.out.push(b'"');
    }

    /// Leaves out a value.
    fn skip(&mut self) -> Result<(), Failed> {
        let mut depth = 0_usize;
        loop {
            match self.reader.byte()? {
                LIST | MAP => depth += 1,
                END => depth = depth.checked_sub(1).ok_or_else(|| Failed::new("a value is missing"))?,
                NUMBER | NEGATIVE | LARGE => drop(self.reader.count()?),
                FLOAT => drop(self.reader.bytes(8)?),
                UUID => drop(self.reader.bytes(UUID_BYTES)?),
                BYTES | TEXT => {
                    let length = self.reader.length()?;
                    self.reader.bytes(length)?;
                }
                tag @ SHORT.. => drop(self.reader.bytes(usize::from(tag - SHORT))?),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

fn append<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Result<(), Failed> {
    json::append(value, out).map_err(|error| Failed::new(&error.to_string()))
}
