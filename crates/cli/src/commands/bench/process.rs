//! Memory and time of a process, from `/proc`.

use std::time::{Duration, Instant};

use crate::trouble::Trouble;

/// How often it is looked at.
pub(super) const PAUSE: Duration = Duration::from_millis(100);

/// What was seen of a process.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) pid: u32,
    begun: Instant,
    seen: Instant,
    ticks: u64,
    now: u64,
    /// Kibibytes at the beginning, at most, and now.
    pub(super) memory: (u64, u64, u64),
}

impl Process {
    /// Begins to look at a process.
    pub(super) fn watch(pid: u32) -> Result<Self, Trouble> {
        let seen = memory(pid).zip(ticks(pid));
        let (memory, ticks) = seen.ok_or_else(|| Trouble::usage(format!("--pid {pid}: there is no such process to look at")))?;
        let now = Instant::now();
        Ok(Self { pid, begun: now, seen: now, ticks, now: ticks, memory: (memory, memory, memory) })
    }

    /// Looks again; a process that has ended stays as it was.
    pub(super) fn look(&mut self) {
        if let Some(memory) = memory(self.pid) {
            self.memory.1 = self.memory.1.max(memory);
            self.memory.2 = memory;
        }
        if let Some(ticks) = ticks(self.pid) {
            (self.now, self.seen) = (ticks, Instant::now());
        }
    }

    /// The share of one processor that it used, in percent.
    pub(super) fn load(&self) -> f64 {
        let seconds = (self.now - self.ticks) as f64 / rustix::param::clock_ticks_per_second() as f64;
        seconds * 100.0 / (self.seen - self.begun).as_secs_f64().max(0.001)
    }
}

fn memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

fn ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, and ends with the last parenthesis.
    let fields: Vec<_> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}
