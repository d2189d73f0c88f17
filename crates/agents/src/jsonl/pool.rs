//! Process pool: processes that serve many tasks, started again with backoff when they crash.

use std::{
    sync::{Arc, MutexGuard},
    time::Duration,
};

use chancery_core::sync::Mutex;
use tokio::time::Instant;

use super::worker::Worker;

/// The first pause after a crash, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The processes of one agent.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    workers: Vec<Arc<Worker>>,
    /// How many crashes there were since a task was done.
    crashes: u32,
    /// When the next process may be started.
    not_before: Option<Instant>,
}

impl Pool {
    /// A process for one more task: a new one while there is room for it and the others have work.
    pub(crate) async fn worker(&self, most: usize, start: impl Fn() -> std::io::Result<Arc<Worker>>) -> std::io::Result<Arc<Worker>> {
        loop {
            let until = {
                let mut state = self.lock();
                state.sweep();
                let idlest = state.workers.iter().min_by_key(|worker| worker.load()).cloned();
                match idlest {
                    Some(worker) if worker.load() == 0 || state.workers.len() >= most => return Ok(worker),
                    // Rather a shared process than a pause.
                    Some(worker) if state.not_before.is_some_and(|at| at > Instant::now()) => return Ok(worker),
                    _ => {}
                }
                match state.not_before.filter(|at| *at > Instant::now()) {
                    Some(at) => at,
                    None => {
                        let worker = start().inspect_err(|_| state.crashed())?;
                        state.workers.push(worker.clone());
                        return Ok(worker);
                    }
                }
            };
            tokio::time::sleep_until(until).await;
        }
    }

    /// A task was done: whatever crashed before is forgiven.
    pub(crate) fn done(&self) {
        self.lock().crashes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic in between leaves processes that are looked at again anyway.
        self.state.lock()
    }
}

impl State {
    /// Forgets processes that are gone; each was a crash, for nobody asked it to go.
    fn sweep(&mut self) {
        let before = self.workers.len();
        self.workers.retain(|worker| !worker.is_over());
        for _ in self.workers.len()..before {
            self.crashed();
        }
    }

    fn crashed(&mut self) {
        let pause = pause(self.crashes);
        self.crashes += 1;
        self.not_before = Some(Instant::now() + pause);
        tracing::warn!(crashes = self.crashes, pause = ?pause, "a process of the pool is gone");
    }
}

/// The pause after a crash that had so many before it.
fn pause(crashes: u32) -> Duration {
    FIRST.saturating_mul(1 << crashes.min(10)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute() {
        let seconds: Vec<_> = (0..9).map(|crashes| pause(crashes).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST);
    }
}
