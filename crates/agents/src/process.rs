//! Child process supervision: process groups that are ended with their turn, SIGTERM first and SIGKILL after it.
//!
//! A turn may be dropped at any moment. Each process therefore belongs to a task of its own, which ends
//! the whole process group when the handle is dropped: SIGTERM, and SIGKILL when that does not help.

use std::{
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::{OwnedSemaphorePermit, mpsc, watch},
    time::Instant,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

/// How often a process group that outlives its leader is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How much of a pipe is read at a time, and how many such pieces may wait.
const READ: usize = 64 << 10;
const AHEAD: usize = 4;

/// Everything that was started and has not ended yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Children {
    tracker: TaskTracker,
    stopping: CancellationToken,
}

/// A running process. It is ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
    exit: watch::Receiver<Option<ExitStatus>>,
    _stop: DropGuard,
}

/// Waits for the end of a process, without holding it.
#[derive(Debug, Clone)]
pub(crate) struct Exit(watch::Receiver<Option<ExitStatus>>);

impl Children {
    /// Starts a process in a group of its own. The permit, if there is one, is held as long as it runs.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(&self, mut command: Command, kill_after: Duration, permit: Option<OwnedSemaphorePermit>) -> io::Result<Process> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The last resort, should the runtime end before the process does.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let stop = self.stopping.child_token();
        let (tell, exit) = watch::channel(None);
        self.tracker.spawn(own(child, tell, stop.clone(), kill_after, permit));
        Ok(Process { stdin, stdout, stderr, exit, _stop: stop.drop_guard() })
    }

    /// Runs something that ends by itself and is waited for when the server stops.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tracker.spawn(work);
    }

    /// Reads a pipe to its end. What nobody takes any more is thrown away: a process that is asked to end
    /// can then still write, instead of dying of a broken pipe before it has put its things in order.
    pub(crate) fn pump(&self, from: Option<impl AsyncRead + Unpin + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let pump = async move {
            let Some(mut from) = from else { return };
            let mut buffer = vec![0; READ];
            // A pipe that cannot be read is at its end.
            while let Ok(count @ 1..) = from.read(&mut buffer).await {
                let _ = sender.send(buffer[..count].to_vec()).await;
            }
        };
        self.spawn(pump);
        receiver
    }

    /// Ends every process and waits until all are gone. What was started later is ended too.
    pub(crate) async fn stop(&self) {
        self.stopping.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }

    #[cfg(test)]
    /// How many processes and tasks around them there are.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.tracker.len()
    }
}

impl Process {
    /// Waits until it has ended.
    pub(crate) async fn exit(&self) -> io::Result<ExitStatus> {
        self.exit_of().wait().await
    }

    /// A way to wait that does not hold the process.
    #[must_use]
    pub(crate) fn exit_of(&self) -> Exit {
        Exit(self.exit.clone())
    }
}

impl Exit {
    /// Waits until the process has ended.
    ///
    /// # Errors
    /// When its end cannot be learned.
    pub(crate) async fn wait(&self) -> io::Result<ExitStatus> {
        let mut exit = self.0.clone();
        let status = exit.wait_for(Option::is_some).await.map_err(|_| io::Error::other("the end of the process is not known"))?;
        status.ok_or_else(|| io::Error::other("the end of the process is not known"))
    }

    /// Whether the process has ended.
    #[must_use]
    pub(crate) fn is_over(&self) -> bool {
        self.0.borrow().is_some() || self.0.has_changed().is_err()
    }
}

/// Looks after a process until it and its whole group are gone.
async fn own(
    mut child: Child,
    tell: watch::Sender<Option<ExitStatus>>,
    stop: CancellationToken,
    kill_after: Duration,
    permit: Option<OwnedSemaphorePermit>,
) {
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = stop.cancelled() => None,
    };
    let told = |status: io::Result<ExitStatus>| match status {
        // Nobody may be waiting any more.
        Ok(status) => drop(tell.send(Some(status))),
        Err(error) => tracing::error!(%error, "the end of a process cannot be learned"),
    };
    match ended {
        Some(status) => {
            told(status);
            // What it left running may still write for a while, unless nobody reads.
            let patience = tokio::time::sleep(kill_after);
            tokio::select! {
                () = stop.cancelled() => {}
                () = patience => {}
                () = gone(group) => {}
            }
            signal(group, Signal::KILL);
        }
        None => {
            signal(group, Signal::TERM);
            let deadline = Instant::now() + kill_after;
            if let Ok(status) = tokio::time::timeout_at(deadline, child.wait()).await {
                told(status);
                // Its children were asked too, and have as long as it had. Being late is no error.
                let _ = tokio::time::timeout_at(deadline, gone(group)).await;
                signal(group, Signal::KILL);
            } else {
                signal(group, Signal::KILL);
                told(child.wait().await);
            }
        }
    }
    drop(permit);
}

/// Waits until nobody is left in a group.
async fn gone(group: Option<Pid>) {
    let Some(group) = group else { return };
    while test_kill_process_group(group).is_ok() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Signals a group, if there still is one.
fn signal(group: Option<Pid>, signal: Signal) {
    let Some(group) = group else { return };
    // An empty group is not signaled: its number may be given to somebody else.
    if test_kill_process_group(group).is_err() {
        return;
    }
    if let Err(error) = kill_process_group(group, signal)
        && error != rustix::io::Errno::SRCH
    {
        tracing::warn!(%error, "a process group could not be signaled");
    }
}

/// How a process ended, in words.
#[must_use]
pub(crate) fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}
