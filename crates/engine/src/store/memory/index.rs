//! The indexes of the store in memory: the tasks of an owner in the order of lists, and tables by name.

use std::{cmp::Reverse, collections::BTreeSet, hash::BuildHasher as _, ops::Bound, sync::Arc};

use chancery_core::{ContextId, TaskId, Timestamp};
use foldhash::fast::RandomState;
use hashbrown::{HashTable, hash_table::Entry};

use crate::store::{Owner, Standing, TaskFacts};

/// The tasks of one owner in their order: all, and those of each conversation.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) owner: Arc<Owner>,
    pub(super) newest: BTreeSet<Position>,
    pub(super) contexts: Table<(ContextId, Conversation)>,
    pub(super) standings: [usize; Standing::COUNT],
}

/// The tasks of a conversation. Most have one.
#[derive(Debug)]
pub(super) enum Conversation {
    One(Position),
    Many(BTreeSet<Position>),
}

/// Newest status first, ties by id, descending.
pub(super) type Position = Reverse<(Timestamp, TaskId)>;

/// A table of what has a name of its own. It keeps the hash of every name, so that it grows without a look at what is
/// in it, and that is far away when there is much of it.
#[derive(Debug)]
pub(super) struct Table<T> {
    hasher: RandomState,
    entries: HashTable<(u64, T)>,
}

pub(super) trait Named {
    fn name(&self) -> &str;
}

impl TaskFacts {
    /// Whether the task is in the same places of all lists.
    pub(super) fn stands_as(&self, other: &Self) -> bool {
        self.updated == other.updated && self.standing() == other.standing() && self.context == other.context
    }
}

impl Index {
    pub(super) fn new(owner: Owner) -> Self {
        Self { owner: Arc::new(owner), newest: BTreeSet::new(), contexts: Table::default(), standings: [0; Standing::COUNT] }
    }

    pub(super) fn insert(&mut self, head: &TaskFacts) {
        let position = Reverse((head.updated, head.id.clone()));
        match self.contexts.entry(head.context.as_str()) {
            (_, Entry::Occupied(mut known)) => known.get_mut().1.1.insert(position.clone()),
            (hash, Entry::Vacant(slot)) => drop(slot.insert((hash, (head.context.clone(), Conversation::One(position.clone()))))),
        }
        self.newest.insert(position);
        self.standings[head.standing().index()] += 1;
    }

    pub(super) fn remove(&mut self, head: &TaskFacts) {
        let position = Reverse((head.updated, head.id.clone()));
        self.newest.remove(&position);
        let context = head.context.as_str();
        if self.contexts.get_mut(context).is_some_and(|(_, conversation)| conversation.remove(&position)) {
            self.contexts.remove(context);
        }
        self.standings[head.standing().index()] -= 1;
    }

    /// The tasks of a conversation, or all, after a place.
    pub(super) fn positions<'a>(
        &'a self,
        context: Option<&ContextId>,
        after: Option<Position>,
    ) -> Box<dyn Iterator<Item = &'a Position> + 'a> {
        match context.map(|context| self.contexts.get(context.as_str()).map(|(_, conversation)| conversation)) {
            None => Box::new(following(&self.newest, after)),
            Some(None) => Box::new(std::iter::empty()),
            Some(Some(Conversation::One(only))) => {
                Box::new(Some(only).into_iter().filter(move |only| after.as_ref().is_none_or(|after| *only > after)))
            }
            Some(Some(Conversation::Many(all))) => Box::new(following(all, after)),
        }
    }
}

/// What comes after a place.
fn following(all: &BTreeSet<Position>, after: Option<Position>) -> impl Iterator<Item = &Position> {
    all.range((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
}

impl Conversation {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(all) => all.len(),
        }
    }

    pub(super) fn insert(&mut self, position: Position) {
        match self {
            Self::One(first) => *self = Self::Many([first.clone(), position].into()),
            Self::Many(all) => drop(all.insert(position)),
        }
    }

    /// Takes a task out, and says whether it was the last.
    pub(super) fn remove(&mut self, position: &Position) -> bool {
        match self {
            Self::One(only) => only == position,
            Self::Many(all) => {
                all.remove(position);
                all.is_empty()
            }
        }
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { hasher: RandomState::default(), entries: HashTable::new() }
    }
}

impl<T: Named> Table<T> {
    pub(super) fn get(&self, name: &str) -> Option<&T> {
        self.entries.find(self.hasher.hash_one(name), |(_, known)| known.name() == name).map(|(_, known)| known)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.entries.find_mut(self.hasher.hash_one(name), |(_, known)| known.name() == name).map(|(_, known)| known)
    }

    /// The place of a name, and its hash, which goes there with it.
    pub(super) fn entry(&mut self, name: &str) -> (u64, Entry<'_, (u64, T)>) {
        let hash = self.hasher.hash_one(name);
        (hash, self.entries.entry(hash, |(_, known)| known.name() == name, |(hash, _)| *hash))
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        match self.entry(name).1 {
            Entry::Occupied(known) => Some(known.remove().0.1),
            Entry::Vacant(_) => None,
        }
    }
}

impl Named for (ContextId, Conversation) {
    fn name(&self) -> &str {
        self.0.as_str()
    }
}
