//! The conversation as a terminal shows it.

use std::{cell::Cell, collections::HashMap, rc::Rc, time::Duration};

use chancery_core::{Artifact, ArtifactId, ArtifactUpdate, Content, Event, Message, Part, Task, TaskId, TaskState};

use super::input::Prompt;
use crate::{
    context::Context,
    print::{
        Printer, Text,
        live::Screen,
        task::{self, is_plain, state},
        text::clean,
        wrap::{Wrap, width},
    },
    settings::Color,
    trouble::Trouble,
};

const YOU: &str = "1;36";
const AGENT: &str = "1;32";
const GOOD: &str = "32";
const WAITING: &str = "33";
const BAD: &str = "31";
const FAINT: &str = "90";

/// What an agent calls itself is cut here.
const LONGEST_NAME: usize = 20;
/// Where the state stands when there is room.
const EDGE: usize = 80;
/// What follows the first line of a paragraph stands under it.
const INDENT: usize = 2;

/// Shows both sides on a terminal.
#[derive(Debug)]
pub(super) struct Talk<'a> {
    printer: &'a Printer,
    agent: String,
    colored: bool,
    open: Option<Open>,
    /// The task that is shown, and what of it has been.
    task: Option<TaskId>,
    shown: HashMap<ArtifactId, Shown>,
    said: Option<Message>,
    /// Whether nothing is being written on the line of the cursor.
    idle: Rc<Cell<bool>>,
}

/// A paragraph that may go on.
#[derive(Debug)]
struct Open {
    wrap: Wrap,
    artifact: Option<ArtifactId>,
}

/// How much of an artifact has been shown.
#[derive(Debug, Default)]
struct Shown {
    text: String,
    others: usize,
}

impl<'a> Talk<'a> {
    pub(super) fn new(context: &'a Context, agent: &str) -> Self {
        let said = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let colored = match context.settings.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => said("NO_COLOR").is_none() && said("TERM").is_none_or(|term| term != "dumb"),
        };
        let agent = shortened(agent);
        let idle = Rc::new(Cell::new(true));
        Self { printer: &context.printer, agent, colored, open: None, task: None, shown: HashMap::new(), said: None, idle }
    }

    /// Tells whether a line of progress would be in the way.
    pub(super) fn idle(&self) -> Rc<Cell<bool>> {
        self.idle.clone()
    }

    /// Whether there are colors.
    pub(super) fn is_colored(&self) -> bool {
        self.colored
    }

    /// Ends what is being written, and asks the user for a line.
    pub(super) fn prompt(&mut self) -> Result<Prompt, Trouble> {
        self.end_line()?;
        Ok(Prompt { plain: "you> ".to_owned(), styled: format!("{} ", self.colored(YOU, "you>")), kept: true })
    }

    /// As [`prompt`](Self::prompt), for something that is not for the agent.
    pub(super) fn question(&mut self, words: &str) -> Result<Prompt, Trouble> {
        self.end_line()?;
        let plain = format!("{} ", clean(words).replace('\n', " "));
        Ok(Prompt { styled: plain.clone(), plain, kept: false })
    }

    /// Another agent speaks from now on.
    pub(super) fn rename(&mut self, agent: &str) {
        self.agent = shortened(agent);
    }

    /// A remark that is nobody's words.
    pub(super) fn remark(&mut self, words: &str) -> Result<(), Trouble> {
        self.end_line()?;
        let lines = Wrap::new(columns(), INDENT, 0).more(&format!("[{}]", clean(words)));
        self.printer.write(&format!("{}\n", self.colored(FAINT, &lines)))
    }

    /// A command to copy: on a line of its own, and never broken.
    pub(super) fn command(&mut self, line: &str) -> Result<(), Trouble> {
        self.end_line()?;
        self.printer.write(&format!("  {}\n", clean(line)))
    }

    /// Ends what is being written: something else follows.
    pub(super) fn rest(&mut self) -> Result<(), Trouble> {
        self.end_line()
    }

    /// Ends a turn, with what became of it.
    pub(super) fn end(&mut self, state: Option<TaskState>, task: Option<&TaskId>, took: Option<Duration>) -> Result<(), Trouble> {
        let (word, color) = state.map_or(("message", GOOD), |now| (task::state(now), color(now)));
        let detail = match (state, task, took) {
            (Some(state), Some(task), _) if !state.is_terminal() => format!(" task {task}"),
            (.., None) => String::new(),
            (.., Some(took)) if took < Duration::from_secs(1) => format!(" {} ms", took.as_millis()),
            (.., Some(took)) => format!(" {:.1} s", took.as_secs_f64()),
        };
        self.tag(&format!("{word}{detail}"), color)
    }

    /// Puts a state at the end of the open paragraph, and ends it.
    fn tag(&mut self, words: &str, color: &str) -> Result<(), Trouble> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.begin(None)?,
        };
        let tag = format!("[{}]", clean(words));
        let column = if self.printer.is_interrupted() { 0 } else { open.wrap.column() };
        let (wide, most) = (width(&tag), columns());
        let edge = EDGE.min(most);
        let before = if column + 2 + wide <= edge {
            " ".repeat(edge - column - wide)
        } else if column + 2 + wide <= most {
            "  ".to_owned()
        } else {
            format!("\n{}", " ".repeat(edge.saturating_sub(wide)))
        };
        self.idle.set(true);
        self.printer.write(&format!("{before}{}\n", self.colored(color, &tag)))
    }

    fn end_line(&mut self) -> Result<(), Trouble> {
        self.idle.set(true);
        match self.open.take() {
            Some(_) if !self.printer.is_interrupted() => self.printer.write("\n"),
            _ => Ok(()),
        }
    }

    fn colored(&self, color: &str, words: &str) -> String {
        if self.colored { format!("\x1b[{color}m{words}\x1b[0m") } else { words.to_owned() }
    }

    /// Begins a paragraph of the agent.
    fn begin(&mut self, artifact: Option<ArtifactId>) -> Result<Open, Trouble> {
        self.end_line()?;
        self.printer.write(&format!("{} ", self.colored(AGENT, &format!("{}>", self.agent))))?;
        self.idle.set(false);
        let column = width(&self.agent) + 2;
        Ok(Open { wrap: Wrap::new(columns(), INDENT, column), artifact })
    }

    /// More words of the agent, in the open paragraph if they belong there.
    fn words(&mut self, artifact: Option<&ArtifactId>, words: &str) -> Result<(), Trouble> {
        if words.is_empty() {
            return Ok(());
        }
        let same = self.open.as_ref().is_some_and(|open| artifact.is_some() && open.artifact.as_ref() == artifact);
        let mut open = match self.open.take() {
            Some(open) if same => open,
            other => {
                self.open = other;
                self.begin(artifact.cloned())?
            }
        };
        let mut lines = String::new();
        if self.printer.is_interrupted() {
            open.wrap = Wrap::new(columns(), INDENT, INDENT);
            lines.extend(std::iter::repeat_n(' ', INDENT));
        }
        lines.push_str(&open.wrap.more(&clean(words)));
        self.open = Some(open);
        self.printer.write(&lines)
    }

    /// A part that is no plain text.
    fn other(&mut self, part: &Part) -> Result<(), Trouble> {
        if let Content::Text(words) = &part.content {
            return self.words(None, words);
        }
        let mut text = Text::default();
        task::part(&mut text, part);
        let open = self.begin(None)?;
        let column = open.wrap.column();
        let mut wrap = Wrap::new(columns(), INDENT, column);
        let lines = wrap.more(text.as_str().trim_end());
        self.open = Some(Open { wrap, artifact: None });
        self.printer.write(&lines)
    }

    fn message(&mut self, message: &Message) -> Result<(), Trouble> {
        self.words(None, &message.text())?;
        message.parts.iter().filter(|part| part.as_text().is_none()).try_for_each(|part| self.other(part))
    }

    /// Says what a status says, unless it has been said.
    fn status(&mut self, message: Option<&Message>, now: TaskState) -> Result<(), Trouble> {
        let Some(message) = message.filter(|message| self.said.as_ref() != Some(*message)) else { return Ok(()) };
        self.message(message)?;
        self.said = Some(message.clone());
        if now.is_terminal() || now.is_interrupted() { Ok(()) } else { self.tag(state(now), FAINT) }
    }

    /// An artifact as it is now: what is new of it.
    fn whole(&mut self, artifact: &Artifact) -> Result<(), Trouble> {
        let text: String = artifact.parts.iter().filter(|part| is_plain(part)).filter_map(Part::as_text).collect();
        let shown = self.shown.remove(&artifact.artifact_id).unwrap_or_default();
        let (fresh, known) = match text.strip_prefix(&shown.text) {
            Some(fresh) => (fresh, shown.others),
            None => (text.as_str(), 0),
        };
        self.words(Some(&artifact.artifact_id), fresh)?;
        let others: Vec<_> = artifact.parts.iter().filter(|part| !is_plain(part)).collect();
        others.iter().skip(known).try_for_each(|part| self.other(part))?;
        let now = Shown { others: others.len(), text };
        self.shown.insert(artifact.artifact_id.clone(), now);
        Ok(())
    }

    fn chunk(&mut self, update: &ArtifactUpdate) -> Result<(), Trouble> {
        let artifact = &update.artifact;
        if !update.append {
            self.shown.remove(&artifact.artifact_id);
            if self.open.as_ref().is_some_and(|open| open.artifact.as_ref() == Some(&artifact.artifact_id)) {
                self.end_line()?;
            }
            return self.whole(artifact);
        }
        for part in &artifact.parts {
            let shown = self.shown.entry(artifact.artifact_id.clone()).or_default();
            match part.as_text().filter(|_| is_plain(part)) {
                Some(words) => {
                    shown.text.push_str(words);
                    self.words(Some(&artifact.artifact_id), words)?;
                }
                None => {
                    shown.others += 1;
                    self.other(part)?;
                }
            }
        }
        Ok(())
    }

    /// Forgets what was shown of another task.
    fn about(&mut self, task: &TaskId) {
        if self.task.as_ref() != Some(task) {
            self.task = Some(task.clone());
            self.shown.clear();
            self.said = None;
        }
    }

    pub(super) fn task(&mut self, task: &Task) -> Result<(), Trouble> {
        self.about(&task.id);
        task.artifacts.iter().try_for_each(|artifact| self.whole(artifact))?;
        self.status(task.status.message.as_ref(), task.status.state)
    }
}

impl Screen for Talk<'_> {
    fn event(&mut self, event: &Event) -> Result<(), Trouble> {
        match event {
            Event::Task(task) => self.task(task),
            Event::Status(update) => {
                self.about(&update.task_id);
                self.status(update.status.message.as_ref(), update.status.state)
            }
            Event::Artifact(update) => {
                self.about(&update.task_id);
                self.chunk(update)
            }
            Event::Message(message) => self.message(message),
            _ => Ok(()),
        }
    }
}

/// What an agent is called in front of its words.
fn shortened(agent: &str) -> String {
    clean(agent).to_lowercase().chars().filter(|c| *c != '\n').take(LONGEST_NAME).collect()
}

fn color(state: TaskState) -> &'static str {
    match state {
        TaskState::Completed => GOOD,
        TaskState::InputRequired | TaskState::AuthRequired => WAITING,
        TaskState::Failed | TaskState::Rejected | TaskState::Canceled => BAD,
        _ => FAINT,
    }
}

/// How wide the terminal is now.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(EDGE)
}
