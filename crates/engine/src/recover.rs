//! Leases: renews those of this process (heartbeat), takes over tasks whose lease ran out, and purges what is old.

use std::sync::Arc;

use chancery_core::Timestamp;

use crate::{
    clock,
    delegation::record::Record,
    driver::Begin,
    engine::Inner,
    live::Live,
    options::OnRestart,
    store::{self, Owner},
};

/// How many tasks are forgotten at once.
const BATCH: usize = 100;
/// How many batches are forgotten in one look: enough to keep up, and the next heartbeat is in time.
const PURGES: usize = 20;
/// How many tasks are taken over at once: all that a process is likely to have left, for the next look
/// is a heartbeat away.
const TAKE_OVER: usize = 10_000;

/// Runs until the engine stops. Looks at once, and then at every heartbeat.
pub(crate) async fn watch(engine: Arc<Inner>) {
    let engine_weak = Arc::downgrade(&engine);
    let stopping = engine.stopping.clone();
    let pause = engine.setup().options.heartbeat;
    drop(engine);
    // A process that stopped before its first look must not say that it is alive.
    while !stopping.is_cancelled()
        && let Some(engine) = engine_weak.upgrade()
    {
        if let Err(error) = round(&engine).await {
            tracing::warn!(%error, "the store cannot be looked after");
        }
        drop(engine);
        tokio::select! {
            () = stopping.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One look.
pub(crate) async fn round(engine: &Arc<Inner>) -> store::Result<()> {
    engine.store.renew(&engine.holder, engine.lease_until()).await?;
    if engine.drivers.is_closed() {
        return Ok(());
    }
    adopt(engine).await?;
    let now = engine.now();
    for (owner, id) in engine.store.expired(&engine.name, now, TAKE_OVER).await? {
        take_over(engine, owner, &id, false).await?;
    }
    // Without an end for tasks there is still one for idempotency keys.
    let before = engine.setup().options.retention.map_or(Timestamp::MIN, |age| clock::before(now, age));
    for _ in 0..PURGES {
        if engine.store.purge(&engine.name, before, now, BATCH).await? < BATCH {
            break;
        }
    }
    Ok(())
}

/// Takes up tasks of our own whose driver had to give up because the store was away: our lease on them
/// still holds, so nobody else will.
async fn adopt(engine: &Arc<Inner>) -> store::Result<()> {
    while let Some((owner, id)) = engine.next_orphan() {
        if let Err(error) = take_over(engine, owner.clone(), &id, true).await {
            engine.orphan(owner, id);
            return Err(error);
        }
    }
    Ok(())
}

async fn take_over(engine: &Arc<Inner>, owner: Owner, id: &chancery_core::TaskId, ours: bool) -> store::Result<()> {
    let Some(stored) = engine.store.task(&owner, id).await? else { return Ok(()) };
    let Some(lease) = stored.lease.clone().filter(|lease| ours == (lease.holder == engine.holder)) else { return Ok(()) };
    let live = engine.keep(Live::load(engine, owner.clone(), &stored)?);
    if live.has_driver() {
        return Ok(());
    }
    // Somebody watched the task here while another process worked on it.
    let missed = engine.store.rows(&owner, id, live.seq(), usize::MAX).await?;
    live.catch_up(&missed)?;
    tracing::info!(task = %id, attempt = lease.attempt, "taking over a task");
    let attempt = lease.attempt + 1;
    let begin = match engine.setup().options.on_restart {
        // Another agent may have the task: that is finished whatever happens to turns.
        _ if live.read(Record::is_open) => Begin::Pass { attempt },
        OnRestart::Fail => Begin::Fail,
        OnRestart::Rerun => Begin::Rerun { attempt },
    };
    engine.start(live, begin);
    Ok(())
}
