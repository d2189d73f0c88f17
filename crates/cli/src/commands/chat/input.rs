//! What the user types: lines of a pipe, or lines that are edited at a terminal, with a history.

use std::{
    io::{BufRead as _, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::{ColorMode, Config, DefaultEditor, config::BellStyle, error::ReadlineError};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
};

use crate::{context::Context, trouble::Trouble};

/// Terminals that cannot move their cursor; the editor does not know what to do with them either.
const PLAIN: [&str; 3] = ["dumb", "cons25", "emacs"];
/// How many lines are remembered.
const REMEMBERED: usize = 1_000;
/// The file of the history, below our folder for state.
const HISTORY: &str = "chat-history";
/// Ends what an editor that is not asked to the end has begun: pasted text is marked no more.
const UNMARK: &str = "\x1b[?2004l\r\n";

/// What stands in front of what is typed.
#[derive(Debug, Clone)]
pub(super) struct Prompt {
    pub(super) plain: String,
    /// The same with colors, if there are any.
    pub(super) styled: String,
    /// Whether what is typed here comes back with the up key.
    pub(super) kept: bool,
}

/// What comes from the user.
pub(super) enum Heard {
    Line(String),
    Signal(u8),
    End,
}

/// Where it comes from.
pub(super) enum Input<'a> {
    Lines(&'a Context, mpsc::Receiver<std::io::Result<String>>),
    Editor(&'a Context, Editor),
}

impl<'a> Input<'a> {
    /// Lines of stdin; those of a terminal can be edited if it can do that.
    pub(super) fn new(context: &'a Context, terminal: bool, colored: bool) -> Self {
        let plain = std::env::var("TERM").is_ok_and(|term| PLAIN.contains(&term.as_str()));
        match terminal && !plain {
            true => Self::Editor(context, Editor::start(colored, context.settings.layers.around.state.as_deref())),
            false => Self::Lines(context, lines()),
        }
    }

    /// The next line. Somebody at a terminal sees the prompt.
    pub(super) async fn next(&mut self, prompt: Option<Prompt>) -> Result<Heard, Trouble> {
        // Heard before the prompt stands there, and anew each time: what a wait heard was meant for it.
        let mut signals = (heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?);
        match self {
            Self::Lines(context, lines) => {
                if let Some(prompt) = &prompt {
                    context.printer.write(&prompt.styled)?;
                }
                let heard = next_line(lines, &mut signals).await?;
                if prompt.is_some() {
                    match heard {
                        // Whoever typed the line has ended it.
                        Heard::Line(_) => context.printer.line_ended(),
                        _ => context.printer.write("\n")?,
                    }
                }
                Ok(heard)
            }
            Self::Editor(context, editor) => {
                let answer = tokio::select! {
                    biased;
                    _ = signals.1.recv() => return Ok(Heard::Signal(143)),
                    _ = signals.0.recv() => return Ok(Heard::Signal(130)),
                    answer = editor.answer(prompt) => answer,
                };
                match answer {
                    Some(Answer::Line(line, unkept)) => {
                        if let Some(why) = unkept {
                            context.notes.note(&format!("what you type is not remembered: {why}"));
                        }
                        Ok(Heard::Line(line))
                    }
                    Some(Answer::Interrupted) => Ok(Heard::Signal(130)),
                    Some(Answer::Failed(why)) => Err(Trouble::usage(format!("the terminal cannot be read: {why}"))),
                    Some(Answer::End) | None => Ok(Heard::End),
                }
            }
        }
    }
}

fn heard(kind: SignalKind) -> Result<Signal, Trouble> {
    signal(kind).map_err(|error| Trouble::internal(format!("signals cannot be heard: {error}")))
}

async fn next_line(lines: &mut mpsc::Receiver<std::io::Result<String>>, signals: &mut (Signal, Signal)) -> Result<Heard, Trouble> {
    let (interrupt, terminate) = signals;
    tokio::select! {
        biased;
        _ = terminate.recv() => Ok(Heard::Signal(143)),
        _ = interrupt.recv() => Ok(Heard::Signal(130)),
        line = lines.recv() => match line {
            Some(Ok(line)) => Ok(Heard::Line(line)),
            Some(Err(error)) => Err(Trouble::usage(format!("stdin cannot be read: {error}"))),
            None => Ok(Heard::End),
        }
    }
}

/// The lines of stdin. Reading them blocks, and a read cannot be taken back, so they have a thread, which ends with
/// the process.
fn lines() -> mpsc::Receiver<std::io::Result<String>> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// An editor of lines in a thread of its own, since it blocks: it is asked for a line, and answers. It has the terminal only meanwhile.
pub(super) struct Editor {
    asks: std::sync::mpsc::Sender<Prompt>,
    answers: mpsc::Receiver<Answer>,
    /// Whether it was asked and has not answered.
    asked: bool,
    /// How the terminal was before.
    before: Option<Termios>,
}

/// What comes of a line.
enum Answer {
    /// It was typed; and why it is not remembered, if that is so.
    Line(String, Option<String>),
    Interrupted,
    End,
    Failed(String),
}

impl Editor {
    fn start(colored: bool, state: Option<&Path>) -> Self {
        let (asks, asked) = std::sync::mpsc::channel();
        let (answered, answers) = mpsc::channel(1);
        let history = state.map(|folder| folder.join(HISTORY));
        std::thread::spawn(move || edit(&asked, &answered, colored, history.as_deref()));
        Self { asks, answers, asked: false, before: tcgetattr(std::io::stdin()).ok() }
    }

    /// Asks, unless the last question still stands there. This may be dropped: the answer is there for the next one who wants it.
    async fn answer(&mut self, prompt: Option<Prompt>) -> Option<Answer> {
        if let (false, Some(prompt)) = (self.asked, prompt) {
            self.asked = self.asks.send(prompt).is_ok();
        }
        let answer = self.answers.recv().await;
        self.asked = false;
        answer
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if let (true, Some(before)) = (self.asked, &self.before) {
            // Whoever has the terminal next can set it right, too.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
            drop(std::io::stdout().write_all(UNMARK.as_bytes()));
        }
    }
}

/// Answers until nobody asks any more.
fn edit(asks: &std::sync::mpsc::Receiver<Prompt>, answers: &mpsc::Sender<Answer>, colored: bool, history: Option<&Path>) {
    let mut editor = match editor(colored) {
        Ok(editor) => editor,
        // If nobody listens, nobody asks either.
        Err(error) => return drop(answers.blocking_send(Answer::Failed(error.to_string()))),
    };
    let mut unkept = history.and_then(|file| remembered(&mut editor, file).err()).map(|error| error.to_string());
    for prompt in asks {
        let answer = match editor.readline(&(&prompt.plain, &prompt.styled)) {
            Ok(line) => {
                if prompt.kept && editor.add_history_entry(&line).is_ok_and(|is_new| is_new) {
                    let kept = history.map(|file| editor.append_history(file));
                    unkept = unkept.or_else(|| kept?.err().map(|error| error.to_string()));
                }
                Answer::Line(line, unkept.take())
            }
            Err(ReadlineError::Interrupted) => Answer::Interrupted,
            Err(ReadlineError::Eof) => Answer::End,
            Err(error) => Answer::Failed(error.to_string()),
        };
        if answers.blocking_send(answer).is_err() {
            return;
        }
    }
}

fn editor(colored: bool) -> rustyline::Result<DefaultEditor> {
    let colors = if colored { ColorMode::Forced } else { ColorMode::Disabled };
    // What begins with a space is meant to be forgotten, as in shells.
    let config = Config::builder().max_history_size(REMEMBERED)?.history_ignore_dups(true)?.history_ignore_space(true).color_mode(colors);
    let mut editor = DefaultEditor::with_config(config.bell_style(BellStyle::None).build())?;
    // Without a helper the editor leaves out the colors of the prompt.
    editor.set_helper(Some(()));
    Ok(editor)
}

/// Reads the lines of before, in a folder that is nobody else's. The editor makes the file so that only its owner reads it.
fn remembered(editor: &mut DefaultEditor, file: &Path) -> rustyline::Result<()> {
    let folder = file.parent().map(PathBuf::from).unwrap_or_default();
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if file.exists() { editor.load_history(file) } else { Ok(()) }
}
