//! `a2a task …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What is done to a task.
#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    Get(Get),
    Cancel(Cancel),
    List(List),
    Subscribe(Subscribe),
    Download(Download),
    /// Webhooks of a task
    #[command(subcommand)]
    PushConfig(PushConfig),
    Authorize(Authorize),
}

/// Read a task; with --wait until it is over or wants something
///
/// A wait is a subscription where the agent streams; elsewhere the task is read again and again, see --poll-interval.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task get -a localhost:8080 --wait TASK_ID")]
pub(crate) struct Get {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) id: String,
    /// How many messages of history the answer may hold
    #[arg(long, value_name = "N")]
    pub(crate) history: Option<i32>,
}

/// Cancel a task; one that is canceled already is no error
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task cancel -a localhost:8080 TASK_ID")]
pub(crate) struct Cancel {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) id: String,
}

/// List tasks, newest first
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task list -a localhost:8080 --status completed -o table")]
pub(crate) struct List {
    /// Only tasks in this state: completed, INPUT_REQUIRED or the name on the wire
    #[arg(long, value_name = "STATE")]
    pub(crate) status: Option<String>,
    /// At most this many tasks
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) page_size: Option<i32>,
    /// Where the page before ended
    #[arg(long, value_name = "TOKEN")]
    pub(crate) page_token: Option<String>,
    /// All pages
    #[arg(long)]
    pub(crate) all: bool,
    /// Only tasks whose state is at least this new, such as 2026-03-02T09:15:07Z
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// How many messages of history each task may hold
    #[arg(long, value_name = "N")]
    pub(crate) history: Option<i32>,
    /// With what the tasks produced
    #[arg(long)]
    pub(crate) include_artifacts: bool,
}

/// Follow a task until it is over
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task subscribe -a localhost:8080 --stream TASK_ID")]
pub(crate) struct Subscribe {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) id: String,
    /// The last event that was seen; the stream goes on after it
    #[arg(long, value_name = "EVENT_ID")]
    pub(crate) from: Option<u64>,
}

/// Save what a task produced
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task download -a localhost:8080 TASK_ID --output-dir out")]
pub(crate) struct Download {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) id: String,
    /// Where to save
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) output_dir: PathBuf,
    /// Only this artifact; repeat it for more
    #[arg(long, value_name = "ID")]
    pub(crate) artifact: Vec<String>,
    /// Fetch parts that are URLs, without credentials
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

/// What is done to a webhook.
#[derive(Debug, Subcommand)]
pub(crate) enum PushConfig {
    Create(PushConfigCreate),
    /// Read one webhook
    #[command(before_help = "Example:\n  a2a task push-config get -a localhost:8080 TASK_ID CONFIG_ID")]
    Get(PushConfigOne),
    List(PushConfigList),
    /// Remove a webhook
    #[command(before_help = "Example:\n  a2a task push-config delete -a localhost:8080 TASK_ID CONFIG_ID")]
    Delete(PushConfigOne),
}

/// Register a webhook for a task
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task push-config create -a localhost:8080 TASK_ID https://hook.example/a2a")]
pub(crate) struct PushConfigCreate {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) task: String,
    /// The webhook
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// The id of the webhook [default: the agent's choice]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// A token that the webhook sees again. Prefer A2ACLI_TOKEN: a flag shows in the process list and in shell history
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// How the agent authenticates itself to the webhook, such as Bearer
    #[arg(long, value_name = "SCHEME")]
    pub(crate) auth_scheme: Option<String>,
    /// With which credentials. Prefer A2ACLI_AUTH_CREDENTIALS: a flag shows in the process list and in shell history
    #[arg(long, value_name = "CREDENTIALS")]
    pub(crate) auth_credentials: Option<String>,
}

/// A webhook by its names.
#[derive(Debug, Args)]
pub(crate) struct PushConfigOne {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) task: String,
    /// The webhook
    #[arg(value_name = "CONFIG_ID")]
    pub(crate) id: String,
}

/// List the webhooks of a task
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task push-config list -a localhost:8080 TASK_ID")]
pub(crate) struct PushConfigList {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) task: String,
    /// At most this many
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) page_size: Option<i32>,
    /// Where the page before ended
    #[arg(long, value_name = "TOKEN")]
    pub(crate) page_token: Option<String>,
    /// All pages
    #[arg(long)]
    pub(crate) all: bool,
}

/// Answer a task that wants an authorization
///
/// Shows what the agent says and its links, opens the first one in a browser if there is somebody at a terminal, and waits until the
/// task goes on. Credentials never go into a message: to decline, or to talk about it, use `a2a send --task-id`.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a task authorize -a localhost:8080 TASK_ID --no-browser")]
pub(crate) struct Authorize {
    /// The task
    #[arg(value_name = "TASK_ID")]
    pub(crate) id: String,
    /// Open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
}
