//! Keeps tasks in memory: for tests, and for agents whose tasks may be forgotten.

mod index;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    ops::{ControlFlow, Deref},
    sync::{Arc, MutexGuard},
};

use async_trait::async_trait;
use chancery_core::{Bytes, PushConfigId, Seq, TaskId, Timestamp, sync::Mutex};
use foldhash::{HashMap, HashSet, HashSetExt};
use hashbrown::hash_table::Entry;

use self::index::{Index, Named, Position, Table};
use super::{
    Commit, Delivery, Due, Error, Filter, Grantee, KeyRecord, Lease, Listing, Owner, Result, Row, Settled, Standing, Store, Stored,
    TaskFacts,
};

/// A store without a file.
#[derive(Debug, Default)]
pub struct Memory {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Ids are unique over all owners. Tasks are boxed, so that a growing table moves little.
    tasks: Table<Box<Kept>>,
    /// The tasks that somebody holds: few of many.
    held: HashSet<TaskId>,
    owners: HashMap<Owner, Index>,
    keys: HashMap<(Owner, String), KeyRecord>,
    /// Tasks that go by other names, and since when.
    aliases: HashMap<(Owner, TaskId), (TaskId, Timestamp)>,
    /// Tasks that somebody may see who does not own them, and until when.
    grants: HashMap<Grantee, BTreeMap<TaskId, Timestamp>>,
    deliveries: BTreeMap<u64, Waiting>,
    last_delivery: u64,
}

/// A task. There may be very many, and most are finished and have nothing beside their rows and their snapshot.
#[derive(Debug)]
struct Kept {
    owner: Arc<Owner>,
    head: TaskFacts,
    rows: Rows,
    snapshot: Option<(Seq, Bytes)>,
    beside: Option<Box<Beside>>,
}

/// The log of a task. Most are one row.
#[derive(Debug)]
enum Rows {
    One(Row),
    Many(Vec<Row>),
}

/// What few tasks have.
#[derive(Debug, Default)]
struct Beside {
    lease: Option<Lease>,
    configs: BTreeMap<PushConfigId, Bytes>,
}

#[derive(Debug)]
struct Waiting {
    owner: Owner,
    task: TaskId,
    delivery: Delivery,
    attempts: u32,
    /// When to try; `None` for a dead letter.
    at: Option<Timestamp>,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing in here panics half way through a change.
        self.inner.lock()
    }
}

impl Named for Box<Kept> {
    fn name(&self) -> &str {
        self.head.id.as_str()
    }
}

impl Inner {
    fn task(&self, owner: &Owner, id: &TaskId) -> Option<&Kept> {
        self.tasks.get(id.as_str()).map(|kept| &**kept).filter(|kept| *kept.owner == *owner)
    }

    fn task_mut(&mut self, owner: &Owner, id: &TaskId) -> Option<&mut Kept> {
        self.tasks.get_mut(id.as_str()).map(|kept| &mut **kept).filter(|kept| *kept.owner == *owner)
    }

    fn commit(&mut self, owner: &Owner, commit: Commit) -> Result<()> {
        let Self { tasks, held, owners, keys, deliveries, last_delivery, .. } = self;
        let Commit { head, expected, row, snapshot, lease, deliveries: new_deliveries, configs, key } = commit;
        let (hash, slot) = tasks.entry(head.id.as_str());
        let current = match &slot {
            Entry::Occupied(kept) if *kept.get().1.owner != *owner => return Err(Error::Conflict(head.id)),
            Entry::Occupied(kept) => kept.get().1.head.seq,
            Entry::Vacant(_) => Seq::START,
        };
        if current != expected {
            return Err(Error::Conflict(head.id));
        }
        if let Some(record) = key {
            put_key(keys, owner, record, head.updated)?;
        }
        let index = match owners.get_mut(owner) {
            Some(index) => index,
            None => owners.entry(owner.clone()).or_insert(Index::new(owner.clone())),
        };
        match &slot {
            // Most events move a task nowhere.
            Entry::Occupied(kept) if kept.get().1.head.stands_as(&head) => {}
            Entry::Occupied(kept) => {
                index.remove(&kept.get().1.head);
                index.insert(&head);
            }
            Entry::Vacant(_) => index.insert(&head),
        }
        for delivery in new_deliveries {
            *last_delivery += 1;
            let waiting = Waiting { owner: owner.clone(), task: head.id.clone(), delivery, attempts: 0, at: Some(head.updated) };
            deliveries.insert(*last_delivery, waiting);
        }
        let snapshot = snapshot.map(|snapshot| (head.seq, snapshot));
        let was_held = matches!(&slot, Entry::Occupied(kept) if kept.get().1.lease().is_some());
        match (was_held, lease.is_some()) {
            (false, true) => drop(held.insert(head.id.clone())),
            (true, false) => drop(held.remove(&head.id)),
            _ => {}
        }
        let kept = match slot {
            Entry::Occupied(kept) => {
                let (_, kept) = kept.into_mut();
                kept.rows.push(row);
                kept.head = head;
                kept.snapshot = snapshot.or_else(|| kept.snapshot.take());
                kept
            }
            Entry::Vacant(slot) => {
                let kept = Box::new(Kept { owner: index.owner.clone(), head, rows: Rows::One(row), snapshot, beside: None });
                &mut slot.insert((hash, kept)).into_mut().1
            }
        };
        if kept.beside.is_none() && lease.is_none() && configs.is_empty() {
            return Ok(());
        }
        let mut beside = kept.beside.take().unwrap_or_default();
        beside.lease = lease;
        beside.configs.extend(configs);
        kept.beside = Some(beside).filter(|beside| !beside.is_empty());
        Ok(())
    }

    /// The tasks that somebody was granted to see, with their owners.
    fn granted(&self, to: &Grantee, now: Timestamp) -> impl Iterator<Item = (&Owner, &TaskId)> {
        let live = self.grants.get(to).into_iter().flatten().filter(move |(_, until)| **until > now);
        live.filter_map(|(task, _)| Some((&*self.tasks.get(task.as_str())?.owner, task)))
    }

    /// A page of a list, and how many match.
    fn page(&self, owner: &Owner, filter: &Filter) -> (Vec<&(Timestamp, TaskId)>, usize) {
        let Some(index) = self.owners.get(owner) else { return (Vec::new(), 0) };
        let state = filter.state.map(Standing::from);
        let wanted = state.as_ref().map_or(filter.among.as_slice(), std::slice::from_ref);
        let fits = |position: &&Position| {
            filter.updated_from.is_none_or(|from| position.0.0 >= from)
                && (wanted.is_empty() || self.tasks.get(position.0.1.as_str()).is_some_and(|kept| wanted.contains(&kept.head.standing())))
        };
        let context = filter.context.as_ref();
        // Most lists are counted as they change; only rarer filters are counted here.
        let total = match (context, filter.updated_from, wanted) {
            (None, None, []) => index.newest.len(),
            (None, None, wanted) => wanted.iter().map(|standing| index.standings[standing.index()]).sum(),
            (Some(context), None, []) => index.contexts.get(context.as_str()).map_or(0, |(_, conversation)| conversation.len()),
            _ => index.positions(context, None).filter(fits).count(),
        };
        let page = index.positions(context, filter.after.clone().map(Reverse)).filter(fits).take(filter.limit);
        (page.map(|Reverse(place)| place).collect(), total)
    }

    /// The oldest delivery of each task and webhook of an agent, with its time; dead ones do not block.
    fn first_in_line(&self, agent: &str) -> Vec<(Timestamp, u64)> {
        let mut seen = HashSet::new();
        let own = self.deliveries.iter().filter(|(_, waiting)| waiting.owner.agent() == agent);
        let living = own.filter_map(|(id, waiting)| Some((waiting.at?, *id, waiting)));
        living.filter(|(_, _, waiting)| seen.insert((&waiting.task, &waiting.delivery.config))).map(|(at, id, _)| (at, id)).collect()
    }
}

fn put_key(keys: &mut HashMap<(Owner, String), KeyRecord>, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
    let slot = (owner.clone(), record.key.clone());
    if keys.get(&slot).is_some_and(|kept| kept.until > now) {
        return Err(Error::KeyTaken);
    }
    keys.insert(slot, record);
    Ok(())
}

impl Waiting {
    fn due(&self, id: u64) -> Due {
        Due::new(id, self.owner.clone(), self.task.clone(), self.delivery.clone(), self.attempts)
    }
}

impl Rows {
    fn push(&mut self, row: Row) {
        match self {
            Self::One(first) => *self = Self::Many(vec![first.clone(), row]),
            Self::Many(rows) => rows.push(row),
        }
    }
}

impl Deref for Rows {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        match self {
            Self::One(only) => std::slice::from_ref(only),
            Self::Many(rows) => rows,
        }
    }
}

impl Beside {
    fn is_empty(&self) -> bool {
        self.lease.is_none() && self.configs.is_empty()
    }
}

impl Kept {
    fn lease(&self) -> Option<&Lease> {
        self.beside.as_ref()?.lease.as_ref()
    }

    fn stored(&self) -> Stored {
        let snapshot = self.snapshot.clone();
        let after = snapshot.as_ref().map_or(Seq::START, |(seq, _)| *seq);
        let rows = self.rows.iter().filter(|row| row.last > after).cloned().collect();
        Stored::new(self.head.clone(), snapshot, rows, self.lease().cloned())
    }
}

#[async_trait]
impl Store for Memory {
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()> {
        self.lock().commit(owner, commit.clone())
    }

    fn commit_now(&self, owner: &Owner, commit: Commit) -> ControlFlow<Result<()>, Commit> {
        ControlFlow::Break(self.lock().commit(owner, commit))
    }

    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>> {
        Ok(self.lock().task(owner, id).map(Kept::stored))
    }

    async fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        let inner = self.lock();
        let Some(kept) = inner.task(owner, id) else { return Ok(Vec::new()) };
        let from = kept.rows.partition_point(|row| row.last <= after);
        let end = after.get().saturating_add(limit as u64);
        Ok(kept.rows[from..].iter().take_while(|row| row.first.get() <= end).cloned().collect())
    }

    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing> {
        let inner = self.lock();
        let (page, total) = inner.page(owner, &filter);
        let tasks = page.into_iter().filter_map(|(_, id)| inner.tasks.get(id.as_str())).map(|kept| kept.stored()).collect();
        Ok(Listing::new(tasks, total))
    }

    async fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>> {
        Ok(self.lock().keys.get(&(owner.clone(), key.to_owned())).filter(|record| record.until > now).cloned())
    }

    async fn put_key(&self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
        put_key(&mut self.lock().keys, owner, record, now)
    }

    async fn put_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: Bytes) -> Result<bool> {
        let mut inner = self.lock();
        let Some(kept) = inner.task_mut(owner, task) else { return Ok(false) };
        kept.beside.get_or_insert_default().configs.insert(id.clone(), config);
        Ok(true)
    }

    async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>> {
        let inner = self.lock();
        let Some(kept) = inner.task(owner, task) else { return Ok(None) };
        let configs = kept.beside.iter().flat_map(|beside| &beside.configs);
        Ok(Some(configs.map(|(id, config)| (id.clone(), config.clone())).collect()))
    }

    async fn delete_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool> {
        let mut inner = self.lock();
        let Some(kept) = inner.task_mut(owner, task) else { return Ok(false) };
        if let Some(beside) = &mut kept.beside {
            beside.configs.remove(id);
        }
        inner.deliveries.retain(|_, waiting| waiting.task != *task || waiting.delivery.config != *id);
        Ok(true)
    }

    async fn taken(&self, id: &TaskId) -> Result<bool> {
        Ok(self.lock().tasks.get(id.as_str()).is_some())
    }

    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        Ok(self.lock().aliases.get(&(owner.clone(), name.clone())).map(|(task, _)| task.clone()))
    }

    async fn put_alias(&self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()> {
        self.lock().aliases.insert((owner.clone(), name.clone()), (task.clone(), now));
        Ok(())
    }

    async fn put_grant(&self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool> {
        let mut inner = self.lock();
        if inner.task(owner, task).is_none() {
            return Ok(false);
        }
        inner.grants.entry(grantee.clone()).or_default().insert(task.clone(), until);
        Ok(true)
    }

    async fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>> {
        let inner = self.lock();
        let to = Grantee::Bearer(digest.to_owned());
        let found = inner.granted(&to, now).find(|(owner, _)| owner.agent() == agent);
        Ok(found.map(|(owner, task)| (owner.clone(), task.clone())))
    }

    async fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>> {
        let inner = self.lock();
        let to = Grantee::Subject(caller.subject().to_owned());
        let near = |owner: &Owner| (owner.tenant(), owner.agent()) == (caller.tenant(), caller.agent());
        Ok(inner.granted(&to, now).find(|(owner, granted)| *granted == task && near(owner)).map(|(owner, _)| owner.clone()))
    }

    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()> {
        let Inner { tasks, held, .. } = &mut *self.lock();
        for id in held.iter() {
            if let Some(lease) =
                tasks.get_mut(id.as_str()).and_then(|kept| kept.beside.as_mut()?.lease.as_mut()).filter(|lease| *lease.holder == *holder)
            {
                lease.until = until;
            }
        }
        Ok(())
    }

    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>> {
        let inner = self.lock();
        Ok(inner.tasks.get(id.as_str()).filter(|kept| *kept.owner == *owner).and_then(|kept| kept.lease().cloned()))
    }

    async fn expired(&self, agent: &str, now: Timestamp, limit: usize) -> Result<Vec<(Owner, TaskId)>> {
        let inner = self.lock();
        let own = inner.held.iter().filter_map(|id| inner.tasks.get(id.as_str())).filter(|kept| kept.owner.agent() == agent);
        let gone = own.filter(|kept| kept.lease().is_some_and(|lease| lease.until < now));
        let mut gone: Vec<_> = gone.map(|kept| (Owner::clone(&kept.owner), kept.head.id.clone())).collect();
        gone.sort();
        gone.truncate(limit);
        Ok(gone)
    }

    async fn due(&self, agent: &str, now: Timestamp, lease: Timestamp, limit: usize) -> Result<Vec<Due>> {
        let mut inner = self.lock();
        let mut ready: Vec<_> = inner.first_in_line(agent).into_iter().filter(|(at, _)| *at <= now).collect();
        ready.sort_unstable();
        ready.truncate(limit);
        let mut taken = Vec::with_capacity(ready.len());
        for (_, id) in ready {
            let Some(waiting) = inner.deliveries.get_mut(&id) else { continue };
            waiting.at = Some(lease);
            taken.push(waiting.due(id));
        }
        Ok(taken)
    }

    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>> {
        Ok(self.lock().first_in_line(agent).into_iter().map(|(at, _)| at).min())
    }

    async fn settle(&self, id: u64, settled: Settled) -> Result<()> {
        let mut inner = self.lock();
        match settled {
            Settled::Delivered => drop(inner.deliveries.remove(&id)),
            Settled::Retry(_) | Settled::Dead => {
                if let Some(waiting) = inner.deliveries.get_mut(&id) {
                    waiting.attempts += 1;
                    waiting.at = if let Settled::Retry(at) = settled { Some(at) } else { None };
                }
            }
        }
        Ok(())
    }

    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>> {
        let inner = self.lock();
        let dead = inner.deliveries.iter().filter(|(_, waiting)| waiting.at.is_none() && waiting.owner == *owner);
        Ok(dead.take(limit).map(|(id, waiting)| waiting.due(*id)).collect())
    }

    async fn revive(&self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize> {
        let mut inner = self.lock();
        let dead = inner.deliveries.values_mut().filter(|waiting| waiting.at.is_none() && waiting.owner == *owner && waiting.task == *task);
        Ok(dead
            .map(|waiting| {
                waiting.at = Some(now);
                waiting.attempts = 0;
            })
            .count())
    }

    async fn purge(&self, agent: &str, before: Timestamp, now: Timestamp, limit: usize) -> Result<usize> {
        let mut inner = self.lock();
        inner.keys.retain(|(owner, _), record| record.until > now || owner.agent() != agent);
        let own = inner.owners.iter().filter(|(owner, _)| owner.agent() == agent);
        let oldest = own.flat_map(|(_, index)| index.newest.iter().rev().take_while(|position| position.0.0 < before));
        let ended = oldest.filter(|position| inner.tasks.get(position.0.1.as_str()).is_some_and(|kept| kept.head.state.is_terminal()));
        let mut old: Vec<_> = ended.map(|Reverse(place)| place.clone()).collect();
        old.sort();
        old.truncate(limit);
        for (_, id) in &old {
            let Some(kept) = inner.tasks.remove(id.as_str()) else { continue };
            inner.held.remove(id);
            if let Some(index) = inner.owners.get_mut(&*kept.owner) {
                index.remove(&kept.head);
            }
            inner.deliveries.retain(|_, waiting| waiting.task != *id);
        }
        let Inner { aliases, grants, tasks, .. } = &mut *inner;
        grants.retain(|_, granted| {
            let other = |task: &TaskId| tasks.get(task.as_str()).map(|kept| kept.owner.agent() != agent);
            granted.retain(|task, until| other(task).is_some_and(|other| other || *until > now));
            !granted.is_empty()
        });
        aliases.retain(|(owner, _), (task, at)| *at >= before || owner.agent() != agent || tasks.get(task.as_str()).is_some());
        Ok(old.len())
    }
}
