//! `a2a chat`, `push …`, `bench`, `doctor`, `conformance`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

/// Talk to an agent, turn by turn
///
/// At a terminal lines can be edited, and those of before come back with the up key; /help shows what else can be typed. Through a pipe
/// each line is a turn.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a chat -a localhost:8080")]
pub(crate) struct Chat {
    /// Use no stream
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Go on wherever a task is handed over to
    #[arg(long)]
    pub(crate) follow_transfer: bool,
}

/// What is done with webhooks.
#[derive(Debug, Subcommand)]
pub(crate) enum Push {
    Listen(Box<PushListen>),
    DeadLetters(DeadLetters),
    Redeliver(Redeliver),
}

/// Receive what agents tell a webhook
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a push listen -a localhost:8080 --register TASK_ID --once")]
pub(crate) struct PushListen {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// The path of the webhook
    #[arg(long, default_value = "/")]
    pub(crate) path: String,
    /// Register the webhook for a task, and remove it at the end
    #[arg(long, value_name = "TASK_ID")]
    pub(crate) register: Option<String>,
    /// What agents call the webhook by
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// The token to expect [default: a random one, when registering]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Where the keys of signatures are, a URL or a file [default: those of the agent, when registering]
    #[arg(long, value_name = "URL")]
    pub(crate) jwks: Option<String>,
    /// The variable with the secret of signatures
    #[arg(long, value_name = "NAME")]
    pub(crate) hmac_secret_env: Option<String>,
    /// Take only what is verified
    #[arg(long)]
    pub(crate) only_verified: bool,
    /// The status to answer with
    #[arg(long, value_name = "STATUS", default_value_t = 200)]
    pub(crate) status: u16,
    /// Fail this many deliveries first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) fail_first: u32,
    /// Pass everything on to another webhook, and answer as it does
    #[arg(long, value_name = "URL")]
    pub(crate) forward: Option<String>,
    /// End after one event
    #[arg(long, conflicts_with = "count")]
    pub(crate) once: bool,
    /// End after this many events
    #[arg(long, value_name = "N")]
    pub(crate) count: Option<u64>,
}

/// Show what could not be delivered
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a push dead-letters --data .a2a -o table")]
pub(crate) struct DeadLetters {
    /// The server
    #[arg(long, value_name = "URL", env = "A2ACLI_SERVER", conflicts_with = "data")]
    pub(crate) server: Option<String>,
    /// The data folder of a server that is stopped
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Only those of a task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only those since then
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N")]
    pub(crate) page_size: Option<u32>,
    /// Throw one away
    #[arg(long, value_name = "ID")]
    pub(crate) purge: Option<String>,
}

/// Deliver again what could not be delivered
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a push redeliver --data .a2a --all --dry-run")]
pub(crate) struct Redeliver {
    /// Which
    #[arg(value_name = "ID", conflicts_with_all = ["task", "all"])]
    pub(crate) ids: Vec<String>,
    /// Those of a task
    #[arg(long, value_name = "ID", conflicts_with = "all")]
    pub(crate) task: Option<String>,
    /// All
    #[arg(long)]
    pub(crate) all: bool,
    /// The server
    #[arg(long, value_name = "URL", env = "A2ACLI_SERVER", conflicts_with = "data")]
    pub(crate) server: Option<String>,
    /// The data folder of a server that is stopped
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Measure how fast an agent is
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a bench -a localhost:8080 --scenario send -u 4 -n 100")]
pub(crate) struct Bench {
    /// What is done
    #[arg(long, value_parser = ["send", "stream", "get", "list", "card", "idle", "fanout", "mixed"], default_value = "send")]
    pub(crate) scenario: String,
    /// How many users at a time
    #[arg(short, long, value_name = "N", default_value_t = 16)]
    pub(crate) users: usize,
    /// For how long
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub(crate) duration: Duration,
    /// How many requests, instead of a time
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<u64>,
    /// Requests per second, of all users together
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
    /// Users over time, such as 10s:50,30s:200
    #[arg(long, value_name = "STAGES")]
    pub(crate) stages: Option<String>,
    /// Not measured at the beginning
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub(crate) warmup: Duration,
    /// Bytes of a message
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub(crate) payload: usize,
    /// Chunks of a stream
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) chunks: u32,
    /// What must hold, such as p99<50ms; repeat it for more
    #[arg(long, value_name = "EXPR")]
    pub(crate) threshold: Vec<String>,
    /// A process whose memory and time are measured
    #[arg(long)]
    pub(crate) pid: Option<u32>,
    /// A name for the result
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// Where the result is written
    #[arg(long, value_name = "FILE.json")]
    pub(crate) out: Option<PathBuf>,
    /// Measure an agent that is not on this machine
    #[arg(long)]
    pub(crate) yes_remote: bool,
}

/// Find out what is wrong with the way to an agent
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a doctor -a localhost:8080")]
pub(crate) struct Doctor {
    /// A file of `a2a serve` to look at
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// What is said to the agent to see how its stream comes
    #[arg(long, value_name = "TEXT", default_value = "ping", conflicts_with = "read_only")]
    pub(crate) message: String,
    /// Send no message
    #[arg(long)]
    pub(crate) read_only: bool,
}

/// Check an agent against the protocol
#[derive(Debug, Args)]
#[command(visible_alias = "check", before_help = "Example:\n  a2a conformance -a localhost:8080")]
pub(crate) struct Conformance {
    /// Which checks
    #[arg(long, value_parser = ["core", "tck", "acts", "all"], default_value = "core")]
    pub(crate) suite: String,
    /// Only checks of this level or above
    #[arg(long, value_parser = ["must", "should", "may"], default_value = "may")]
    pub(crate) level: String,
    /// The versions to check [default: those of the card]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) versions: Vec<String>,
    /// Only checks whose id fits; repeat it for more
    #[arg(long, value_name = "GLOB")]
    pub(crate) only: Vec<String>,
    /// Not the checks whose id fits; repeat it for more
    #[arg(long, value_name = "GLOB")]
    pub(crate) skip: Vec<String>,
    /// Which failures count
    #[arg(long, value_parser = ["must", "should", "any", "never"], default_value = "must")]
    pub(crate) fail_on: String,
    /// What a check is that has no answer within --timeout: skip for not tested, or fail
    #[arg(long, value_parser = ["skip", "fail"], default_value = "skip")]
    pub(crate) on_timeout: String,
    /// Make no task
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Where the report is written, by its ending .json, .xml, .html, .md or .yaml; repeat it for more
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Vec<PathBuf>,
    /// List the checks, and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Say what a check is about
    #[arg(long, value_name = "ID")]
    pub(crate) explain: Option<String>,
    /// Run the checks against built-in servers with known faults
    #[arg(long)]
    pub(crate) self_test: bool,
    /// Check this program against the requirements of the command line
    #[arg(long)]
    pub(crate) cli: bool,
}

fn time(text: &str) -> Result<Duration, String> {
    crate::settings::time(text).map_err(|trouble| trouble.message)
}
