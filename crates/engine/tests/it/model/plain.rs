//! The simplest store that keeps the contract: lists that are searched from one end to the other for everything.

use std::{
    cmp::Reverse,
    sync::{Mutex, MutexGuard},
};

use async_trait::async_trait;
use chancery_core::{Bytes, PushConfigId, Seq, TaskId, Timestamp};
use chancery_engine::store::{
    Commit, Delivery, Due, Error, Filter, Grantee, KeyRecord, Lease, Listing, Owner, Result, Row, Settled, Standing, Store, Stored,
    TaskFacts,
};

#[derive(Default)]
pub(super) struct Plain(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    tasks: Vec<Kept>,
    keys: Vec<(Owner, KeyRecord)>,
    aliases: Vec<(Owner, TaskId, TaskId, Timestamp)>,
    grants: Vec<(Owner, TaskId, Grantee, Timestamp)>,
    deliveries: Vec<Waiting>,
    numbered: u64,
}

struct Kept {
    owner: Owner,
    head: TaskFacts,
    rows: Vec<Row>,
    snapshot: Option<(Seq, Bytes)>,
    lease: Option<Lease>,
    configs: Vec<(PushConfigId, Bytes)>,
}

struct Waiting {
    id: u64,
    owner: Owner,
    task: TaskId,
    delivery: Delivery,
    attempts: u32,
    at: Option<Timestamp>,
}

impl Kept {
    fn stored(&self) -> Stored {
        let after = self.snapshot.as_ref().map_or(Seq::START, |(seq, _)| *seq);
        let rows = self.rows.iter().filter(|row| row.last > after).cloned().collect();
        Stored::new(self.head.clone(), self.snapshot.clone(), rows, self.lease.clone())
    }
}

impl Waiting {
    fn due(&self) -> Due {
        Due::new(self.id, self.owner.clone(), self.task.clone(), self.delivery.clone(), self.attempts)
    }
}

impl Lists {
    fn task(&mut self, owner: &Owner, id: &TaskId) -> Option<&mut Kept> {
        self.tasks.iter_mut().find(|kept| kept.owner == *owner && kept.head.id == *id)
    }

    fn put_key(&mut self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
        if self.keys.iter().any(|(of, known)| of == owner && known.key == record.key && known.until > now) {
            return Err(Error::KeyTaken);
        }
        self.keys.retain(|(of, known)| of != owner || known.key != record.key);
        self.keys.push((owner.clone(), record));
        Ok(())
    }

    /// Those that are not dead and that none of the same task and webhook comes before.
    fn first_in_line(&self, agent: &str) -> Vec<(Timestamp, u64)> {
        let living = || self.deliveries.iter().filter(|waiting| waiting.at.is_some() && waiting.owner.agent() == agent);
        let same = |a: &Waiting, b: &Waiting| a.task == b.task && a.delivery.config == b.delivery.config;
        let first = living().filter(|waiting| !living().any(|other| other.id < waiting.id && same(other, waiting)));
        first.filter_map(|waiting| Some((waiting.at?, waiting.id))).collect()
    }
}

impl Plain {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap()
    }
}

#[async_trait]
impl Store for Plain {
    async fn commit(&self, owner: &Owner, commit: &Commit) -> Result<()> {
        let mut lists = self.lists();
        let commit = commit.clone();
        let id = commit.head.id.clone();
        let known = lists.tasks.iter().find(|kept| kept.head.id == id);
        if known.is_some_and(|kept| kept.owner != *owner) || known.map_or(Seq::START, |kept| kept.head.seq) != commit.expected {
            return Err(Error::Conflict(id));
        }
        if let Some(record) = commit.key {
            lists.put_key(owner, record, commit.head.updated)?;
        }
        for delivery in commit.deliveries {
            lists.numbered += 1;
            let (id, task) = (lists.numbered, id.clone());
            lists.deliveries.push(Waiting { id, owner: owner.clone(), task, delivery, attempts: 0, at: Some(commit.head.updated) });
        }
        if lists.task(owner, &id).is_none() {
            let (owner, head) = (owner.clone(), commit.head.clone());
            lists.tasks.push(Kept { owner, head, rows: Vec::new(), snapshot: None, lease: None, configs: Vec::new() });
        }
        let Some(kept) = lists.task(owner, &id) else { unreachable!("it was just made") };
        kept.snapshot = commit.snapshot.map(|snapshot| (commit.head.seq, snapshot)).or(kept.snapshot.take());
        kept.head = commit.head;
        kept.rows.push(commit.row);
        kept.lease = commit.lease;
        for (id, config) in commit.configs {
            kept.configs.retain(|(known, _)| *known != id);
            kept.configs.push((id, config));
        }
        Ok(())
    }

    async fn task(&self, owner: &Owner, id: &TaskId) -> Result<Option<Stored>> {
        Ok(self.lists().task(owner, id).map(|kept| kept.stored()))
    }

    async fn rows(&self, owner: &Owner, id: &TaskId, after: Seq, limit: usize) -> Result<Vec<Row>> {
        let end = after.get().saturating_add(limit as u64);
        let rows = self.lists().task(owner, id).map(|kept| kept.rows.clone()).unwrap_or_default();
        Ok(rows.into_iter().filter(|row| row.last > after && row.first.get() <= end).collect())
    }

    async fn list(&self, owner: &Owner, filter: Filter) -> Result<Listing> {
        let lists = self.lists();
        let state = filter.state.map(Standing::from);
        let wanted = state.as_ref().map_or(filter.among.as_slice(), std::slice::from_ref);
        let fits = |head: &TaskFacts| {
            filter.context.as_ref().is_none_or(|context| head.context == *context)
                && filter.updated_from.is_none_or(|from| head.updated >= from)
                && (wanted.is_empty() || wanted.contains(&head.standing()))
        };
        let mut all: Vec<_> = lists.tasks.iter().filter(|kept| kept.owner == *owner && fits(&kept.head)).collect();
        all.sort_by_key(|kept| Reverse((kept.head.updated, kept.head.id.clone())));
        let total = all.len();
        let after = |kept: &&&Kept| filter.after.as_ref().is_none_or(|after| (kept.head.updated, kept.head.id.clone()) < *after);
        Ok(Listing::new(all.iter().filter(after).take(filter.limit).map(|kept| kept.stored()).collect(), total))
    }

    async fn key(&self, owner: &Owner, key: &str, now: Timestamp) -> Result<Option<KeyRecord>> {
        let lists = self.lists();
        let found = lists.keys.iter().find(|(of, record)| of == owner && record.key == key && record.until > now);
        Ok(found.map(|(_, record)| record.clone()))
    }

    async fn put_key(&self, owner: &Owner, record: KeyRecord, now: Timestamp) -> Result<()> {
        self.lists().put_key(owner, record, now)
    }

    async fn put_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId, config: Bytes) -> Result<bool> {
        let mut lists = self.lists();
        let Some(kept) = lists.task(owner, task) else { return Ok(false) };
        kept.configs.retain(|(known, _)| known != id);
        kept.configs.push((id.clone(), config));
        Ok(true)
    }

    async fn configs(&self, owner: &Owner, task: &TaskId) -> Result<Option<Vec<(PushConfigId, Bytes)>>> {
        let mut configs = self.lists().task(owner, task).map(|kept| kept.configs.clone());
        if let Some(configs) = &mut configs {
            configs.sort();
        }
        Ok(configs)
    }

    async fn delete_config(&self, owner: &Owner, task: &TaskId, id: &PushConfigId) -> Result<bool> {
        let mut lists = self.lists();
        let Some(kept) = lists.task(owner, task) else { return Ok(false) };
        kept.configs.retain(|(known, _)| known != id);
        lists.deliveries.retain(|waiting| waiting.task != *task || waiting.delivery.config != *id);
        Ok(true)
    }

    async fn taken(&self, id: &TaskId) -> Result<bool> {
        Ok(self.lists().tasks.iter().any(|kept| kept.head.id == *id))
    }

    async fn alias(&self, owner: &Owner, name: &TaskId) -> Result<Option<TaskId>> {
        Ok(self.lists().aliases.iter().find(|(of, known, ..)| of == owner && known == name).map(|(_, _, task, _)| task.clone()))
    }

    async fn put_alias(&self, owner: &Owner, name: &TaskId, task: &TaskId, now: Timestamp) -> Result<()> {
        let mut lists = self.lists();
        lists.aliases.retain(|(of, known, ..)| of != owner || known != name);
        lists.aliases.push((owner.clone(), name.clone(), task.clone(), now));
        Ok(())
    }

    async fn put_grant(&self, owner: &Owner, task: &TaskId, grantee: &Grantee, until: Timestamp) -> Result<bool> {
        let mut lists = self.lists();
        if lists.task(owner, task).is_none() {
            return Ok(false);
        }
        lists.grants.retain(|(_, known, to, _)| known != task || to != grantee);
        lists.grants.push((owner.clone(), task.clone(), grantee.clone(), until));
        Ok(true)
    }

    async fn bearer_grant(&self, agent: &str, digest: &str, now: Timestamp) -> Result<Option<(Owner, TaskId)>> {
        let lists = self.lists();
        let mut held = lists.grants.iter().filter(|(owner, _, to, until)| {
            owner.agent() == agent && matches!(to, Grantee::Bearer(known) if known == digest) && *until > now
        });
        Ok(held.next().map(|(owner, task, ..)| (owner.clone(), task.clone())))
    }

    async fn subject_grant(&self, caller: &Owner, task: &TaskId, now: Timestamp) -> Result<Option<Owner>> {
        let lists = self.lists();
        let mut held = lists.grants.iter().filter(|(owner, known, to, until)| {
            (owner.tenant(), owner.agent(), known) == (caller.tenant(), caller.agent(), task)
                && matches!(to, Grantee::Subject(subject) if subject == caller.subject())
                && *until > now
        });
        Ok(held.next().map(|(owner, ..)| owner.clone()))
    }

    async fn renew(&self, holder: &str, until: Timestamp) -> Result<()> {
        for lease in self.lists().tasks.iter_mut().filter_map(|kept| kept.lease.as_mut()).filter(|lease| *lease.holder == *holder) {
            lease.until = until;
        }
        Ok(())
    }

    async fn lease(&self, owner: &Owner, id: &TaskId) -> Result<Option<Lease>> {
        Ok(self.lists().task(owner, id).and_then(|kept| kept.lease.clone()))
    }

    async fn expired(&self, agent: &str, now: Timestamp, limit: usize) -> Result<Vec<(Owner, TaskId)>> {
        let lists = self.lists();
        let gone =
            lists.tasks.iter().filter(|kept| kept.owner.agent() == agent && kept.lease.as_ref().is_some_and(|lease| lease.until < now));
        let mut gone: Vec<_> = gone.map(|kept| (kept.owner.clone(), kept.head.id.clone())).collect();
        gone.sort();
        gone.truncate(limit);
        Ok(gone)
    }

    async fn due(&self, agent: &str, now: Timestamp, lease: Timestamp, limit: usize) -> Result<Vec<Due>> {
        let mut lists = self.lists();
        let mut ready: Vec<_> = lists.first_in_line(agent).into_iter().filter(|(at, _)| *at <= now).collect();
        ready.sort_unstable();
        ready.truncate(limit);
        let mut taken = Vec::new();
        for (_, id) in ready {
            for waiting in lists.deliveries.iter_mut().filter(|waiting| waiting.id == id) {
                waiting.at = Some(lease);
                taken.push(waiting.due());
            }
        }
        Ok(taken)
    }

    async fn next_due(&self, agent: &str) -> Result<Option<Timestamp>> {
        Ok(self.lists().first_in_line(agent).into_iter().map(|(at, _)| at).min())
    }

    async fn settle(&self, id: u64, settled: Settled) -> Result<()> {
        let mut lists = self.lists();
        if settled == Settled::Delivered {
            lists.deliveries.retain(|waiting| waiting.id != id);
        }
        for waiting in lists.deliveries.iter_mut().filter(|waiting| waiting.id == id) {
            waiting.attempts += 1;
            waiting.at = if let Settled::Retry(at) = settled { Some(at) } else { None };
        }
        Ok(())
    }

    async fn dead(&self, owner: &Owner, limit: usize) -> Result<Vec<Due>> {
        let lists = self.lists();
        let dead = lists.deliveries.iter().filter(|waiting| waiting.at.is_none() && waiting.owner == *owner);
        Ok(dead.take(limit).map(Waiting::due).collect())
    }

    async fn revive(&self, owner: &Owner, task: &TaskId, now: Timestamp) -> Result<usize> {
        let mut lists = self.lists();
        let mut revived = 0;
        for waiting in &mut lists.deliveries {
            if waiting.at.is_none() && waiting.owner == *owner && waiting.task == *task {
                (waiting.at, waiting.attempts, revived) = (Some(now), 0, revived + 1);
            }
        }
        Ok(revived)
    }

    async fn purge(&self, agent: &str, before: Timestamp, now: Timestamp, limit: usize) -> Result<usize> {
        let mut lists = self.lists();
        lists.keys.retain(|(owner, record)| record.until > now || owner.agent() != agent);
        let is_old = |kept: &&Kept| kept.owner.agent() == agent && kept.head.updated < before && kept.head.state.is_terminal();
        let old: Vec<_> = lists.tasks.iter().filter(is_old).map(|kept| kept.head.id.clone()).take(limit).collect();
        lists.tasks.retain(|kept| !old.contains(&kept.head.id));
        lists.deliveries.retain(|waiting| !old.contains(&waiting.task));
        let Lists { tasks, aliases, grants, .. } = &mut *lists;
        grants.retain(|(owner, task, _, until)| tasks.iter().any(|kept| kept.head.id == *task) && (*until > now || owner.agent() != agent));
        aliases.retain(|(owner, _, task, at)| *at >= before || owner.agent() != agent || tasks.iter().any(|kept| kept.head.id == *task));
        Ok(old.len())
    }
}
