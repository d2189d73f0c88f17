//! Executors: how each kind of back end runs the turns of an agent.

use std::sync::Arc;

use async_trait::async_trait;
use chancery_config::{self as config, Backend, backend::command::Mode};
use chancery_engine::{Failure, Outcome, Turn};

use crate::{demo, echo, jsonl::Jsonl, peers::Directory, process::Children, text::Text};

/// What runs the turns of an agent.
#[async_trait]
pub(crate) trait Executor: Send + Sync {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure>;
}

/// What executors share.
pub(crate) struct Shared<'a> {
    /// Every process that is started belongs to it.
    pub(crate) children: &'a Children,
    /// Who work may be passed on to, if that is said.
    pub(crate) directory: Option<&'a Arc<Directory>>,
}

/// The executor of a back end: one line for each kind.
pub(crate) fn executor(agent: &config::Agent, shared: &Shared<'_>) -> Arc<dyn Executor> {
    let children = shared.children.clone();
    match &agent.backend {
        Backend::Echo => Arc::new(Function(echo::echo)),
        Backend::Demo => Arc::new(Function(demo::run)),
        Backend::Command(command) => match &command.mode {
            Mode::Text { chunk, expose_stderr } => Arc::new(Text::new(agent, command.clone(), chunk.clone(), *expose_stderr, children)),
            Mode::Jsonl { lifetime, lenient } => {
                Arc::new(Jsonl::new(agent, command.clone(), *lifetime, *lenient, children, shared.directory.cloned()))
            }
        },
    }
}

/// An async function as an executor.
struct Function<F>(F);

#[async_trait]
impl<F, R> Executor for Function<F>
where
    F: Fn(Turn) -> R + Send + Sync,
    R: Future<Output = Result<Outcome, Failure>> + Send,
{
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        (self.0)(turn).await
    }
}

#[async_trait]
impl Executor for Text {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        Text::run(self, turn).await
    }
}

#[async_trait]
impl Executor for Jsonl {
    async fn run(&self, turn: Turn) -> Result<Outcome, Failure> {
        Jsonl::run(self, turn).await
    }
}
