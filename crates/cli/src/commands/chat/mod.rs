//! `a2a chat`: turn by turn, in one conversation.
//!
//! On a terminal the words of both sides stand below each other. Elsewhere each line of stdin is a turn, and the
//! answers are printed as `send` prints them. The context is carried from turn to turn; the task only while it
//! waits for somebody. A task that is handed over takes the conversation along; `/new` begins one with the first agent.

mod command;
mod input;
mod talk;

use std::{
    io::IsTerminal as _,
    rc::Rc,
    time::{Duration, Instant},
};

use chancery_client::{Follow, Handoff, Journey};
use chancery_core::{CancelTask, ContextId, GetTask, Message, Operations as _, Part, Role, SendMessage, SendReply, Task, TaskState};
use serde_json::json;

use self::{
    command::Line,
    input::{Heard, Input},
    talk::Talk,
};
use crate::{
    args::{Chat, PartFlag},
    connect::{self, Agent, Capability},
    context::Context,
    message,
    print::{
        Text,
        card::{Verdict, card as print_card},
        live::{Blank, Live, Screen},
        task::{self as print_task, Detail},
    },
    reference::expanded,
    report,
    resume::{self, Known, quoted},
    settings::Settings,
    trouble::{Told, Trouble},
    wait::{Halt, Mode, Wait},
};

/// The first pause between polls when none is said: somebody sits there.
const POLL: Duration = Duration::from_millis(250);
/// The largest file that goes into a message.
const MAX_INLINE: u64 = 16 * 1_024 * 1_024;
/// After how long it is said that the agent still works.
const PROGRESS: Duration = Duration::from_millis(500);

pub(crate) async fn run(given: &Context, args: &Chat) -> Result<(), Trouble> {
    let (ears, mouth) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
    if ears && (!mouth || given.printer.is_json()) {
        return Err(Trouble::usage("chat needs a terminal for its output, or a pipe for its input").hint("a2a send TEXT"));
    }
    let context = &conversational(given)?;
    // What is not followed by itself, somebody at a terminal is asked about.
    let follow = if args.follow_transfer { Follow::any() } else { Follow::same_origin() };
    let agent = connect::connected(context, connect::builder(context)?.follow_handoffs(follow)).await?;
    let home = Rc::new(Place { context: conversational(given)?, agent });
    let view = match (ears, given.printer.is_json() && !given.settings.stream) {
        (true, _) => View::Talk(Box::new(Talk::new(context, home.name()))),
        (false, true) => View::Whole,
        (false, false) => View::Live,
    };
    let colored = matches!(&view, View::Talk(talk) if talk.is_colored());
    let mut session = Session {
        context,
        place: home.clone(),
        home,
        streams: !args.no_stream,
        input: Input::new(context, ears, colored),
        view,
        context_id: context.settings.context_id.as_deref().map(ContextId::from),
        known: Known::default(),
        attached: Vec::new(),
        turns: Vec::new(),
    };
    let ended = session.converse().await;
    let resumed = session.farewell();
    ended.and(resumed)
}

/// The settings of a conversation: events as they come, short pauses, and always a wait.
fn conversational(given: &Context) -> Result<Context, Trouble> {
    let mut settings: Settings = given.settings.clone();
    settings.stream = true;
    settings.detached = false;
    if settings.layers.raw("poll-interval").is_none() {
        settings.poll_interval = POLL;
    }
    let printer = crate::print::Printer::new(&settings, given.notes.clone())?;
    Ok(Context { settings, printer, notes: given.notes.clone() })
}

/// How answers are shown.
enum View<'a> {
    /// To somebody at a terminal.
    Talk(Box<Talk<'a>>),
    /// Event by event.
    Live,
    /// When they are complete.
    Whole,
}

/// With whom one talks: the agent, and the settings by which a command would name it.
struct Place {
    context: Context,
    agent: Agent,
}

impl Place {
    fn name(&self) -> &str {
        self.agent.card.as_ref().map_or("agent", |card| card.name.as_str())
    }
}

/// One conversation.
struct Session<'a> {
    context: &'a Context,
    /// Where the conversation is. A task that is handed over takes it along.
    place: Rc<Place>,
    /// Where it began.
    home: Rc<Place>,
    /// Whether streams may be used.
    streams: bool,
    /// What the user types.
    input: Input<'a>,
    view: View<'a>,
    context_id: Option<ContextId>,
    /// The last task.
    known: Known,
    /// What goes into the next message.
    attached: Vec<Part>,
    turns: Vec<(Message, SendReply)>,
}

/// Whether the conversation goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Turn,
    End,
}

impl Session<'_> {
    /// Takes lines until there are no more.
    async fn converse(&mut self) -> Result<(), Trouble> {
        if let View::Talk(_) = self.view {
            let client = &self.place.agent.client;
            let who =
                self.place.agent.card.as_ref().map_or_else(|| client.url().to_string(), |card| format!("{} {}", card.name, card.version));
            let words = format!("{} over {} {}. /help for commands.", who.trim_end(), client.binding(), client.version());
            self.context.printer.write(&format!("{}\n", crate::print::text::clean(&words)))?;
        }
        if let Some(task) = self.context.settings.task_id.clone() {
            self.take_up(&task).await?;
        }
        let mut warned = false;
        loop {
            let prompt = match &mut self.view {
                View::Talk(talk) => Some(talk.prompt()?),
                _ => None,
            };
            let line = match self.input.next(prompt).await? {
                Heard::Line(line) => line,
                Heard::End => return Ok(()),
                // The line is thrown away.
                Heard::Signal(130) if self.is_talk() && !warned => {
                    warned = true;
                    self.remark("Ctrl-C again, Ctrl-D or /quit ends the chat")?;
                    continue;
                }
                Heard::Signal(exit) => return Err(Trouble::stopped(exit)),
            };
            warned = false;
            match self.line(&line).await {
                Ok(Next::Turn) => {}
                Ok(Next::End) => return Ok(()),
                Err(trouble) if self.is_talk() && trouble.told == Told::Nothing && trouble.exit == 130 => self.remark("stopped waiting")?,
                // Whoever sits there can try again; a script would go on with half of what it meant.
                Err(trouble) if self.is_talk() && trouble.told == Told::Fully => self.tell(&trouble)?,
                Err(trouble) => return Err(trouble),
            }
        }
    }

    fn is_talk(&self) -> bool {
        matches!(self.view, View::Talk(_))
    }

    /// Does what a line says.
    async fn line(&mut self, line: &str) -> Result<Next, Trouble> {
        match command::parse(line)? {
            Line::Say(words) => self.say(words).await?,
            Line::New => {
                (self.context_id, self.known) = (None, Known::default());
                self.go_to(self.home.clone());
                self.remark("a new conversation")?;
            }
            Line::Task => self.show_task().await?,
            Line::Cancel => self.cancel().await?,
            Line::File(path) => self.attach(PartFlag::File, path)?,
            Line::Data(json) => self.attach(PartFlag::Data, json)?,
            Line::Card => match &self.place.agent.card {
                Some(card) => self.context.printer.result(card, |text| print_card(text, card, &Verdict::unchecked(card, "not checked")))?,
                None => return Err(Trouble::usage("with --endpoint there is no card")),
            },
            Line::Raw => match self.turns.last() {
                Some((_, reply)) => {
                    let json = serde_json::to_string_pretty(reply);
                    let json = json.map_err(|error| Trouble::internal(format!("the answer is no JSON: {error}")))?;
                    self.context.printer.write(&format!("{json}\n"))?;
                }
                None => return Err(Trouble::usage("there is no answer yet")),
            },
            Line::Save(path) => self.save(path)?,
            Line::Help => self.context.printer.write(&command::help())?,
            Line::Quit => return Ok(Next::End),
        }
        Ok(Next::Turn)
    }

    /// A turn: says something, and shows what comes back.
    async fn say(&mut self, words: &str) -> Result<(), Trouble> {
        let mut parts: Vec<_> = Some(words).filter(|words| !words.trim().is_empty()).map(Part::text).into_iter().collect();
        parts.extend(self.attached.iter().cloned());
        if self.has_gone_on(!parts.is_empty()).await? || parts.is_empty() {
            return Ok(());
        }
        let mut message = Message::new(Role::User, parts);
        message.context_id = self.context_id.clone();
        message.task_id = self.known.task.clone().filter(|_| self.known.state.is_interrupted());
        let mut request = SendMessage::new(message.clone());
        request.metadata.extend(self.context.settings.metadata.clone());
        let begun = Instant::now();
        let place = self.place.clone();
        let streams = self.streams && place.agent.offers(Capability::Streaming);
        let mut wait = Wait::new(&place.context, &place.agent)?;
        let sent = match &mut self.view {
            View::Talk(talk) => {
                let idle = talk.idle();
                let mut sending = std::pin::pin!(send(&mut wait, streams, request, &mut **talk));
                loop {
                    tokio::select! {
                        biased;
                        sent = &mut sending => break sent,
                        () = tokio::time::sleep(PROGRESS) => if idle.get() {
                            let seconds = begun.elapsed().as_secs();
                            self.context.notes.progress(&format!("waiting {seconds} s (Ctrl-C leaves the task running)"));
                        }
                    }
                }
            }
            View::Live => {
                let mut live = Live::new(&self.context.printer);
                let sent = send(&mut wait, streams, request, &mut live).await;
                live.close()?;
                sent
            }
            View::Whole => send(&mut wait, streams, request, &mut Blank).await,
        };
        self.context.notes.clear();
        match sent {
            Ok(reply) => {
                let reply = self.followed(reply).await?;
                self.answered(message, reply, begun.elapsed())
            }
            Err(halt) => {
                if wait.known.task.is_some() {
                    self.attached.clear();
                    self.note(wait.known.clone());
                }
                self.halted(&wait, halt)
            }
        }
    }

    /// Whether the task that waited for an authorization has gone on without a message. What came of it is shown then.
    async fn has_gone_on(&mut self, speaks: bool) -> Result<bool, Trouble> {
        let waiting = self.known.task.clone().filter(|_| self.known.state == TaskState::AuthRequired);
        let Some(task) = waiting else { return Ok(false) };
        let task = self.read(GetTask::new(task)).await?;
        if task.state() == TaskState::AuthRequired {
            if !speaks {
                self.remark("the task still waits for the authorization")?;
            }
            return Ok(false);
        }
        if speaks {
            self.remark("the task has gone on by itself, and what you said was not sent")?;
        }
        let reply = self.settled(task).await?;
        let reply = self.followed(reply).await?;
        let known = report::known(&reply);
        match &mut self.view {
            View::Talk(talk) => talk.end(reply.task().map(Task::state), known.task.as_ref(), None)?,
            View::Live => report::outcome(&self.place.context, &known, reply.task()),
            View::Whole => self.context.printer.line(&reply)?,
        }
        self.note(known);
        Ok(true)
    }

    /// The answer of whoever has the task in the end. The conversation goes on there.
    async fn followed(&mut self, mut reply: SendReply) -> Result<SendReply, Trouble> {
        let Some(task) = reply.task().cloned() else { return Ok(reply) };
        let mut journey = Journey::new(&self.place.agent.client, self.place.agent.caller(&self.place.context), task.id);
        while let Some(transfer) = reply.task().and_then(report::transfer) {
            // Should the other agent not be reached, this is where the conversation stands.
            self.note(report::known(&reply));
            let place = self.place.clone();
            let mut wait = Wait::new(&place.context, &place.agent)?;
            let handoff = wait.call(journey.handoff(&transfer)).await.map_err(|halt| wait.halted(halt))?;
            if !handoff.followed && !self.agrees(&handoff).await? {
                break;
            }
            self.remark(&handoff.to_string())?;
            let reached = wait.call(journey.follow(&transfer)).await.map_err(|halt| wait.halted(halt))?;
            let reached = reached.map_err(|error| place.agent.trouble(&place.context, error).or_hint(|| report::there(&transfer)))?;
            let agent = place.agent.moved(journey.head().client(), transfer.grant.as_ref());
            let context = conversational(&place.context.with_agent(&report::card_url(&transfer))?)?;
            self.go_to(Rc::new(Place { context, agent }));
            self.context_id = None;
            self.note(report::of(&reached));
            reply = self.settled(reached).await?;
        }
        Ok(reply)
    }

    /// Shows a task of another agent until it is done or wants something.
    async fn settled(&mut self, task: Task) -> Result<SendReply, Trouble> {
        let place = self.place.clone();
        let mut wait = Wait::new(&place.context, &place.agent)?;
        let settled = match &mut self.view {
            View::Talk(talk) => wait.resume(task, Mode::Stream, None, &mut **talk).await,
            View::Live => {
                let mut live = Live::new(&self.context.printer);
                let settled = wait.resume(task, Mode::Stream, None, &mut live).await;
                live.close()?;
                settled
            }
            View::Whole => wait.resume(task, Mode::Stream, None, &mut Blank).await,
        };
        settled.map_err(|halt| {
            self.note(wait.known.clone());
            wait.halted(halt)
        })
    }

    /// Whether somebody at a terminal wants to go on with another agent.
    async fn agrees(&mut self, handoff: &Handoff) -> Result<bool, Trouble> {
        let View::Talk(talk) = &mut self.view else { return Ok(false) };
        let question = talk.question(&format!("The task was {handoff}. Go on there? [y/N]"))?;
        match self.input.next(Some(question)).await? {
            Heard::Line(line) => Ok(matches!(line.trim(), "y" | "Y" | "yes")),
            Heard::Signal(143) => Err(Trouble::stopped(143)),
            Heard::Signal(_) | Heard::End => Ok(false),
        }
    }

    /// Talks with another agent from now on.
    fn go_to(&mut self, place: Rc<Place>) {
        if let View::Talk(talk) = &mut self.view {
            talk.rename(place.name());
        }
        self.place = place;
    }

    /// An answer is complete.
    fn answered(&mut self, message: Message, reply: SendReply, took: Duration) -> Result<(), Trouble> {
        self.attached.clear();
        let known = report::known(&reply);
        match &mut self.view {
            View::Talk(talk) => {
                let state = reply.task().map(Task::state);
                talk.end(state, known.task.as_ref(), Some(took))?;
                if let Some(transfer) = reply.task().and_then(report::transfer) {
                    talk.remark(&format!("handed over to {} task {}", transfer.agent_endpoint, transfer.task_id))?;
                }
                if let (Some(TaskState::AuthRequired), Some(command)) = (state, resume::command(&self.place.context.settings, &known)) {
                    talk.remark("when that is done, press Enter or say so here, or run")?;
                    talk.command(&command)?;
                }
            }
            View::Live => report::outcome(&self.place.context, &known, reply.task()),
            View::Whole => {
                self.context.printer.line(&reply)?;
                report::outcome(&self.place.context, &known, reply.task());
            }
        }
        self.note(known);
        self.turns.push((message, reply));
        Ok(())
    }

    /// A wait ended early: the user can go on, a script cannot.
    fn halted(&mut self, wait: &Wait<'_>, halt: Halt) -> Result<(), Trouble> {
        let goes_on = match (&self.known.task, self.known.state.is_terminal()) {
            (Some(task), false) => format!("task {task} goes on: /task shows it, /cancel ends it"),
            _ => "nothing came back".to_owned(),
        };
        let View::Talk(talk) = &mut self.view else { return Err(wait.halted(halt)) };
        match halt {
            Halt::Signal(130) => talk.remark(&format!("stopped waiting; {goes_on}")),
            Halt::Timeout => talk.remark(&format!("the time of --timeout is over; {goes_on}")),
            Halt::Signal(exit) => {
                talk.remark("stopped")?;
                Err(Trouble::stopped(exit))
            }
            Halt::Trouble(trouble) => Err(trouble),
        }
    }

    /// Notes where the conversation stands.
    fn note(&mut self, known: Known) {
        self.context_id = known.context.clone().filter(|context| !context.is_empty()).or(self.context_id.take());
        self.known = known;
    }

    /// Goes on with a task of an earlier conversation.
    async fn take_up(&mut self, id: &str) -> Result<(), Trouble> {
        let task = self.read(GetTask::new(id)).await?;
        if let View::Talk(talk) = &mut self.view {
            talk.task(&task)?;
            talk.end(Some(task.state()), Some(&task.id), None)?;
        }
        if let Some(context) = self.context_id.as_ref().filter(|context| **context != task.context_id) {
            let message = format!("task {id} is not in the context {context}");
            return Err(
                Trouble::usage(message).hint(format!("leave --context-id out, or: --context-id {}", quoted(task.context_id.as_str())))
            );
        }
        self.note(report::of(&task));
        Ok(())
    }

    async fn read(&self, get: GetTask) -> Result<Task, Trouble> {
        let Place { context, agent } = &*self.place;
        let mut wait = Wait::new(context, agent)?;
        let caller = agent.caller(context);
        let read = wait.call(agent.client.get_task(&caller, get)).await.map_err(|halt| wait.halted(halt))?;
        read.map_err(|error| agent.trouble(context, error))
    }

    async fn show_task(&mut self) -> Result<(), Trouble> {
        let Some(task) = self.known.task.clone() else { return Err(Trouble::usage("there is no task yet")) };
        let task = self.read(GetTask::new(task)).await?;
        self.context.printer.result(&task, |text| print_task::task(text, &task, Detail { updated: true, ..Detail::default() }))?;
        self.note(report::of(&task));
        Ok(())
    }

    async fn cancel(&mut self) -> Result<(), Trouble> {
        let Some(task) = self.known.task.clone() else { return Err(Trouble::usage("there is no task yet")) };
        let place = self.place.clone();
        let Place { context, agent } = &*place;
        let mut wait = Wait::new(context, agent)?;
        let caller = agent.caller(context);
        let canceled = wait.call(agent.client.cancel_task(&caller, CancelTask::new(task))).await.map_err(|halt| wait.halted(halt))?;
        let task = canceled.map_err(|error| agent.trouble(context, error))?;
        match &mut self.view {
            View::Talk(talk) => talk.end(Some(task.state()), Some(&task.id), None)?,
            _ => self.context.printer.result(&task, |text| print_task::task(text, &task, Detail::default()))?,
        }
        self.note(report::of(&task));
        Ok(())
    }

    fn attach(&mut self, flag: PartFlag, value: &str) -> Result<(), Trouble> {
        if value == "-" {
            return Err(Trouble::usage("stdin is what you type"));
        }
        let named = |trouble: Trouble| {
            let message = trouble.message.trim_start_matches("--file: ").trim_start_matches("--data: ").to_owned();
            Trouble { message, ..trouble }
        };
        let part = message::part(self.context, flag, value, MAX_INLINE).map_err(named)?;
        let what = match (&part.content, part.filename.as_str()) {
            (chancery_core::Content::Raw(bytes), name) => format!("{name} ({}, {} bytes)", part.media_type, bytes.len()),
            (chancery_core::Content::Url(url), _) => url.clone(),
            _ => "data".to_owned(),
        };
        self.attached.push(part);
        self.remark(&format!("{what} goes out with the next message; Enter alone sends it"))
    }

    /// Writes the conversation to a file that is not there yet.
    fn save(&self, path: &str) -> Result<(), Trouble> {
        let file = expanded(path, self.context.settings.layers.around.home.as_deref());
        let text = if path.ends_with(".json") {
            let turns: Vec<_> = self.turns.iter().map(|(sent, reply)| json!({"sent": sent, "answer": reply})).collect();
            let json = serde_json::to_string_pretty(&turns);
            json.map_err(|error| Trouble::internal(format!("the conversation is no JSON: {error}")))?
        } else {
            let mut text = Text::default();
            for (sent, reply) in &self.turns {
                text.block("You", &sent.text());
                sent.parts.iter().filter(|part| part.as_text().is_none()).for_each(|part| print_task::part(&mut text, part));
                match reply {
                    SendReply::Task(task) => print_task::task(&mut text, task, Detail::default()),
                    SendReply::Message(message) => print_task::message(&mut text, message),
                }
            }
            text.as_str().to_owned()
        };
        let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
        let written = made.and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()));
        written.map_err(|error| Trouble::usage(format!("{} cannot be written: {error}", file.display())))?;
        let count = self.turns.len();
        let turns = if count == 1 { "1 turn".to_owned() } else { format!("{count} turns") };
        self.context.notes.say(&format!("Saved: {turns} in {}", file.display()));
        Ok(())
    }

    /// Says something that is no part of the conversation.
    fn remark(&mut self, words: &str) -> Result<(), Trouble> {
        match &mut self.view {
            View::Talk(talk) => talk.remark(words),
            _ => {
                self.context.notes.note(words);
                Ok(())
            }
        }
    }

    /// Tells what went wrong to somebody who can try again.
    fn tell(&mut self, trouble: &Trouble) -> Result<(), Trouble> {
        if let View::Talk(talk) = &mut self.view {
            talk.rest()?;
        }
        self.context.notes.error(&trouble.to_string());
        if let Some(hint) = &trouble.hint {
            self.context.notes.say(&format!("hint: {hint}"));
        }
        Ok(())
    }

    /// Leaves the command that goes on here.
    fn farewell(&self) -> Result<(), Trouble> {
        let Some(context) = &self.context_id else { return Ok(()) };
        let task = self.known.task.as_ref().filter(|_| self.known.state.is_interrupted());
        let task = task.map(|task| format!(" --task-id {}", quoted(task.as_str()))).unwrap_or_default();
        let same = resume::same(&self.place.context.settings);
        let line = format!("Resume with: a2a chat{same} --context-id {}{task}", quoted(context.as_str()));
        if self.context.printer.is_json() {
            self.context.notes.say(&line);
            return Ok(());
        }
        self.context.printer.write(&format!("{line}\n"))
    }
}

/// Sends a message, over a stream or by asking again and again.
async fn send(wait: &mut Wait<'_>, streams: bool, request: SendMessage, screen: &mut dyn Screen) -> Result<SendReply, Halt> {
    match streams {
        true => wait.send(request, Mode::Stream, screen).await,
        false => wait.send_and_poll(request, screen).await,
    }
}
