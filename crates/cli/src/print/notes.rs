//! Talk on stderr: notes, warnings, errors, what `--debug` shows, and one line of progress.

use std::{
    io::{IsTerminal as _, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::fs::MetadataExt as _,
    },
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use crate::settings::Color;
use chancery_core::sync::Mutex;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const GREY: &str = "\x1b[90m";

/// What fits into a line of any terminal.
const SHORT: usize = 72;

/// Talks on stderr.
#[derive(Debug)]
pub(crate) struct Notes {
    quiet: bool,
    debug: bool,
    colored: bool,
    /// Whether a line may move.
    moving: bool,
    begun: Instant,
    /// Whether a line of progress stands there.
    drawn: Mutex<bool>,
    /// Whether stdout goes to the same place, such as one terminal.
    shares: bool,
    /// How the line of stdout stands there, if it does.
    line: Mutex<Line>,
    warned: AtomicBool,
}

/// The last line of stdout, in a place that stderr shares with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// It has ended.
    Ended,
    /// More of it may come.
    Open,
    /// More of it may come, and a note has ended it meanwhile.
    Interrupted,
}

impl Notes {
    /// Talk as it is wanted.
    pub(crate) fn new(quiet: bool, debug: bool, color: Color) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = said("TERM").is_some_and(|term| term == "dumb");
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && said("NO_COLOR").is_none() && !dumb,
        };
        let moving = terminal && !quiet && !debug && !dumb && said("CI").is_none();
        Self {
            quiet,
            debug,
            colored,
            moving,
            begun: Instant::now(),
            drawn: Mutex::default(),
            shares: same_place(),
            line: Mutex::new(Line::Ended),
            warned: AtomicBool::new(false),
        }
    }

    /// Notes what went to stdout, so that a note begins on a line of its own.
    pub(super) fn wrote(&self, text: &str) {
        if let (true, Some(last)) = (self.shares, text.chars().next_back()) {
            *self.line.lock() = if last == '\n' { Line::Ended } else { Line::Open };
        }
    }

    /// Whether the open line of stdout was ended by a note since something was written.
    pub(super) fn has_interrupted(&self) -> bool {
        *self.line.lock() == Line::Interrupted
    }

    /// Whether `--debug` is on.
    pub(crate) fn is_debug(&self) -> bool {
        self.debug
    }

    /// Whether progress is shown by a line that moves.
    pub(crate) fn is_moving(&self) -> bool {
        self.moving
    }

    /// The name of a task, as soon as it is known. Where the result will say it on the same screen, it is a line of progress until then.
    pub(crate) fn task_id(&self, id: &str, repeated: bool) {
        let line = format!("Task ID: {}", super::text::clean(id));
        match repeated && self.shares && self.moving && line.len() <= SHORT {
            true => self.progress(&line),
            false => self.say(&line),
        }
    }

    /// Something that is good to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            self.put("", "note: ", text);
        }
    }

    /// A plain line.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.put("", "", text);
        }
    }

    /// A plain line that is also said in quiet.
    pub(crate) fn insist(&self, text: &str) {
        self.put("", "", text);
    }

    /// Something that may be wrong.
    pub(crate) fn warning(&self, text: &str) {
        if !self.quiet {
            self.put(YELLOW, "warning: ", text);
        }
    }

    /// Something that is dangerous, and cannot be silenced.
    pub(crate) fn danger(&self, text: &str) {
        self.put(YELLOW, "WARNING: ", text);
    }

    /// Something that is dangerous, and is said once however often it happens.
    pub(crate) fn danger_once(&self, text: &str) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            self.danger(text);
        }
    }

    /// Something that went wrong, on one line.
    pub(crate) fn error(&self, text: &str) {
        self.put(RED, "error: ", &text.replace('\n', " "));
    }

    /// The four fields of an error.
    pub(crate) fn fields(&self, code: &str, others: &str) {
        self.put(RED, "Error: ", &format!("{code}\n{}", others.trim_end_matches('\n')));
    }

    /// What `--debug` shows.
    pub(crate) fn debug(&self, text: &str) {
        if self.debug {
            let seconds = self.begun.elapsed().as_secs_f64();
            self.put(GREY, "debug: ", &format!("{seconds:.3} {text}"));
        }
    }

    /// Draws the line of progress anew.
    pub(crate) fn progress(&self, text: &str) {
        if self.moving {
            let mut drawn = self.drawn.lock();
            // Progress that cannot be drawn is no reason to stop.
            drop(write!(std::io::stderr().lock(), "\r\x1b[K{text}"));
            *drawn = true;
        }
    }

    /// Erases the line of progress.
    pub(crate) fn clear(&self) {
        let mut drawn = self.drawn.lock();
        if std::mem::take(&mut *drawn) {
            drop(write!(std::io::stderr().lock(), "\r\x1b[K"));
        }
    }

    fn put(&self, color: &str, mark: &str, text: &str) {
        self.clear();
        let text = super::text::clean(text);
        let line = match (self.colored, color) {
            (true, color) if !color.is_empty() => format!("{color}{mark}\x1b[0m{text}\n"),
            _ => format!("{mark}{text}\n"),
        };
        let mut open = self.line.lock();
        let line = if *open == Line::Open { format!("\n{line}") } else { line };
        if *open == Line::Open {
            *open = Line::Interrupted;
        }
        // There is nowhere left to say that stderr is gone.
        drop(std::io::stderr().lock().write_all(line.as_bytes()));
    }
}

/// Whether stdout and stderr are the same terminal, pipe or file.
fn same_place() -> bool {
    let place = |stream: BorrowedFd<'_>| {
        let file = std::fs::File::from(stream.try_clone_to_owned().ok()?).metadata().ok()?;
        Some((file.dev(), file.ino()))
    };
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    place(stdout.as_fd()).is_some_and(|one| place(stderr.as_fd()) == Some(one))
}
