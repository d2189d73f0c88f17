//! `a2a send`.

use clap::Args;

use super::Parts;

/// Send a message: start an interaction, or continue one
///
/// Waits until the task is over or wants something, and prints what came of it; --stream shows it as it comes, --async only names the
/// task. The last line is the command to go on with. Parts are sent in the order in which their flags stand.
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a send -a localhost:8080 hi")]
pub(crate) struct Send {
    /// The text of the first part; - reads it from stdin
    #[arg(value_name = "TEXT|-")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) parts: Parts,
    /// A whole SendMessageRequest: JSON, a file, or - for stdin
    #[arg(long, hide_short_help = true, value_name = "PATH|-|JSON", allow_hyphen_values = true, conflicts_with_all = ["message", "text", "file", "data", "media-type", "history", "accept", "message_id", "reference_task", "push_url"])]
    pub(crate) request_payload: Option<String>,
    /// How many messages of history the answer may hold
    #[arg(long, hide_short_help = true, value_name = "N")]
    pub(crate) history: Option<i32>,
    /// A media type that can be taken; repeat it for more
    #[arg(long, hide_short_help = true, value_name = "TYPE")]
    pub(crate) accept: Vec<String>,
    /// The id of the message, to repeat one that failed [default: a new UUID]
    #[arg(long, hide_short_help = true, value_name = "ID")]
    pub(crate) message_id: Option<String>,
    /// Another task that the agent should look at; repeat it for more
    #[arg(long, hide_short_help = true, value_name = "ID")]
    pub(crate) reference_task: Vec<String>,
    /// A webhook that is told what happens to the task
    #[arg(long, hide_short_help = true, value_name = "URL")]
    pub(crate) push_url: Option<String>,
    /// A token that the webhook sees again
    #[arg(long, hide_short_help = true, value_name = "TOKEN", requires = "push_url")]
    pub(crate) push_token: Option<String>,
    /// How often a send that failed is repeated, with the same message id
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    pub(crate) retry: u32,
    /// The largest file that is sent inline
    #[arg(long, hide_short_help = true, value_name = "SIZE", default_value = "16MiB", value_parser = size)]
    pub(crate) max_inline: u64,
    /// Go on where the task was handed over to
    #[arg(long, hide_short_help = true)]
    pub(crate) follow_transfer: bool,
}

fn size(text: &str) -> Result<u64, String> {
    chancery_config::size(text).ok_or_else(|| "a size is written 64k or 16MiB".to_owned())
}
