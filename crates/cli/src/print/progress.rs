//! How far a long run is, on stderr: one line that moves at a terminal, else a plain line now and then.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use chancery_core::sync::Mutex;

use super::Notes;

/// After how long the line that moves is drawn.
const DRAWN: Duration = Duration::from_millis(500);
/// After how long the first plain line comes, and how long it is until the next.
const FIRST: Duration = Duration::from_secs(2);
const NEXT: Duration = Duration::from_secs(10);
/// The width of the line that moves: one that is broken cannot be erased.
const WIDTH: usize = 79;

/// Tells how far a run is.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    notes: &'a Notes,
    /// Whether there are plain lines.
    plain: bool,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What was said last, and since when.
    text: String,
    since: Instant,
    /// When the next plain line is due.
    due: Instant,
}

impl<'a> Progress<'a> {
    /// For a run that begins now. Programs that read JSON, and those who see what `--debug` shows, need no plain lines.
    pub(crate) fn new(notes: &'a Notes, is_json: bool) -> Self {
        let begun = Instant::now();
        let state = Mutex::new(State { text: String::new(), since: begun, due: begun + FIRST });
        Self { notes, plain: !is_json && !notes.is_debug(), begun, state }
    }

    /// Says how far it is.
    pub(crate) fn show(&self, text: &str) {
        {
            let mut state = self.state.lock();
            text.clone_into(&mut state.text);
            state.since = Instant::now();
        }
        self.draw();
    }

    /// Says what came of a part of it; `--debug` shows each.
    pub(crate) fn done(&self, text: &str) {
        self.notes.debug(text);
        self.show(text);
    }

    /// Does a part of it that may take long, and says for how long already.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep(DRAWN) => self.draw(),
            }
        }
    }

    fn draw(&self) {
        let mut state = self.state.lock();
        let waited = match state.since.elapsed().as_secs() {
            0..2 => String::new(),
            seconds => format!(" ({seconds} s)"),
        };
        if self.notes.is_moving() {
            if self.begun.elapsed() >= DRAWN && !state.text.is_empty() {
                self.notes.progress(&format!("{}{waited}", cut(&state.text, WIDTH - waited.len())));
            }
        } else if self.plain && Instant::now() >= state.due && !state.text.is_empty() {
            self.notes.say(&format!("{}{waited}", state.text));
            state.due = Instant::now() + NEXT;
        }
    }
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}
