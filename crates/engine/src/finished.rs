//! Finished tasks as the text of an answer: who asks for one again gets it without a look at the store.
//!
//! A finished task never changes, so its v1.0 JSON is made once. It is forgotten when there is no room, and
//! not trusted any more when the task may have been forgotten by the store.

use std::{collections::VecDeque, ops::Range, sync::MutexGuard};

use chancery_core::{Bytes, Task, TaskId, Timestamp, sync::Mutex};
use foldhash::HashMap;

use crate::store::Owner;

/// Bytes of text that are kept.
const ROOM: usize = 32 * 1024 * 1024;
/// About what a text costs beside itself.
const BESIDE: usize = 256;

/// A task as v1.0 JSON.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    json: Bytes,
    /// The member `artifacts` with the comma before it; empty when there are none.
    artifacts: Range<usize>,
}

impl Text {
    /// Writes a task.
    pub(crate) fn of(task: &Task) -> serde_json::Result<Self> {
        const MEMBER: &str = ",\"artifacts\":";
        let json = serde_json::to_vec(task)?;
        let artifacts = if task.artifacts.is_empty() { 0 } else { MEMBER.len() + serde_json::to_vec(&task.artifacts)?.len() };
        // The members before it are always there, and in this order.
        let mut front = Task::new(task.id.clone(), task.context_id.clone(), task.status.clone());
        front.record = task.record;
        let at = serde_json::to_vec(&front)?.len() - 1;
        Ok(Self { json: json.into(), artifacts: at..at + artifacts })
    }

    /// All of it.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.json
    }

    /// Writes it as an element of a list, with or without artifacts.
    pub(crate) fn list(&self, with_artifacts: bool, page: &mut Vec<u8>) {
        match (with_artifacts, self.artifacts.is_empty()) {
            // Who asks for artifacts sees the member even when it is empty.
            (true, false) | (false, true) => page.extend_from_slice(&self.json),
            (true, true) => {
                page.extend_from_slice(&self.json[..self.artifacts.start]);
                page.extend_from_slice(b",\"artifacts\":[]");
                page.extend_from_slice(&self.json[self.artifacts.end..]);
            }
            (false, false) => {
                page.extend_from_slice(&self.json[..self.artifacts.start]);
                page.extend_from_slice(&self.json[self.artifacts.end..]);
            }
        }
    }
}

/// The texts of finished tasks that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Finished(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: HashMap<TaskId, Known>,
    /// The oldest first.
    order: VecDeque<TaskId>,
    bytes: usize,
}

#[derive(Debug)]
struct Known {
    owner: Owner,
    updated: Timestamp,
    text: Text,
}

impl Finished {
    /// The text of a task that finished at or after `since`; of one that is older the store may know nothing
    /// any more.
    pub(crate) fn recent(&self, owner: &Owner, id: &TaskId, since: Timestamp) -> Option<Text> {
        self.lock().texts.get(id).filter(|known| known.owner == *owner && known.updated >= since).map(|known| known.text.clone())
    }

    /// Hands the texts of tasks of one owner to `list`, one after the other, and says whether all were there.
    pub(crate) fn all<'a>(
        &self,
        owner: &Owner,
        mut tasks: impl Iterator<Item = &'a (Timestamp, TaskId)>,
        mut list: impl FnMut(&Text),
    ) -> bool {
        let kept = self.lock();
        tasks.all(|(updated, id)| {
            let known = kept.texts.get(id).filter(|known| known.owner == *owner && known.updated == *updated);
            known.inspect(|known| list(&known.text)).is_some()
        })
    }

    /// Keeps a text for the next who asks.
    pub(crate) fn keep(&self, owner: &Owner, id: &TaskId, updated: Timestamp, text: &Text) {
        let size = text.json.len() + BESIDE;
        if size > ROOM / 8 {
            return;
        }
        let mut kept = self.lock();
        let known = Known { owner: owner.clone(), updated, text: text.clone() };
        if let Some(old) = kept.texts.insert(id.clone(), known) {
            kept.bytes -= old.text.json.len() + BESIDE;
        } else {
            kept.order.push_back(id.clone());
        }
        kept.bytes += size;
        while kept.bytes > ROOM {
            let Some(oldest) = kept.order.pop_front() else { break };
            if let Some(old) = kept.texts.remove(&oldest) {
                kept.bytes -= old.text.json.len() + BESIDE;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing in here panics half way through a change.
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use chancery_core::{Artifact, Message, TaskPage, TaskState, TaskStatus};

    use super::*;

    /// V10-LIST-001: the member is there when it was asked for, and only then.
    #[test]
    fn a_text_in_a_list_is_what_a_list_of_tasks_writes() {
        let words = "é \"artifacts\":[] \u{2028}";
        for (artifacts, history, metadata) in (0..8).map(|n| (n & 1 > 0, n & 2 > 0, n & 4 > 0)) {
            let mut task = Task::new("t", "c", TaskStatus::new(TaskState::Completed).message(Message::agent(words)));
            task.artifacts.extend(artifacts.then(|| Artifact::new(words)));
            task.history.extend(history.then(|| Message::user(words)));
            task.metadata.extend(metadata.then(|| ("artifacts".to_owned(), words.into())));
            let text = Text::of(&task).unwrap();
            assert_eq!(text.whole(), serde_json::to_vec(&task).unwrap());
            for with_artifacts in [true, false] {
                let mut own = Vec::new();
                text.list(with_artifacts, &mut own);
                let mut listed = task.clone();
                if !with_artifacts {
                    listed.artifacts.clear();
                }
                let mut page = TaskPage::new(vec![listed], 1, 1);
                page.with_artifacts = with_artifacts;
                let page = serde_json::to_string(&page).unwrap();
                let own = String::from_utf8(own).unwrap();
                assert_eq!(page, format!(r#"{{"tasks":[{own}],"nextPageToken":"","pageSize":1,"totalSize":1}}"#));
            }
        }
    }

    #[test]
    fn texts_are_kept_for_their_owner_and_within_their_room() {
        let finished = Finished::default();
        let (mine, yours) = (Owner::new("agent", "me"), Owner::new("agent", "you"));
        let mut task = Task::new("t", "c", TaskState::Completed);
        task.artifacts.push(Artifact::new("x".repeat(1024 * 1024)));
        let text = Text::of(&task).unwrap();
        for number in 0..40_u64 {
            finished.keep(&mine, &TaskId::from(number.to_string()), Timestamp::EPOCH, &text);
        }
        assert!(finished.lock().bytes <= ROOM);
        let recent = |owner, id: &str| finished.recent(owner, &TaskId::from(id), Timestamp::EPOCH);
        assert!(recent(&mine, "39").is_some() && recent(&yours, "39").is_none());
        assert!(recent(&mine, "0").is_none(), "the oldest made room");
        let last = (Timestamp::EPOCH, TaskId::from("39"));
        let another = (Timestamp::from_unix(1, 0).unwrap(), TaskId::from("39"));
        assert!(finished.all(&mine, [&last].into_iter(), |_| {}));
        assert!(!finished.all(&mine, [&another].into_iter(), |_| {}), "a later task of that id");
        assert!(!finished.all(&yours, [&last].into_iter(), |_| {}), "somebody else's");
    }
}
