//! `a2a help`: of a command, or about a topic.

use crate::{
    args::{self, Help},
    context::Context,
    settings::table::TABLE,
    trouble::Trouble,
};

const REFERENCES: &str = "\
The agent is named by -a REF, by A2ACLI_AGENT_CARD, or by a settings file. REF is tried as:
  -                          a card as JSON on stdin
  file://..., ./..., /...    a card in a file; also ~/... and the name of a file that exists
  urn:...                    an entry of the registry that --registry names
  CATALOG@ENTRY              an entry of a catalog, by its identifier or its name
  [http(s)://]host[:port]    the card at /.well-known/agent-card.json of the host
  [http(s)://]host/path      the card at this address

Without a scheme, loopback names get http and all others https. Names and passwords in a URL are refused.
Without a card: -e URL --transport jsonrpc|rest|grpc.

Example:
  a2a card get localhost:8080
";

const EXITS: &str = "\
0    the command did its work, whatever became of the task
1    the agent refused, or a check failed; error.code is the protocol's name of the error
2    usage: arguments, flags, settings, files that cannot be read
3    the card or the agent cannot be reached
4    credentials are missing, or were refused
5    --timeout is over; the task goes on
130  stopped by Ctrl-C; the task goes on (143: by SIGTERM)

Whether a task succeeded is in its state:
  a2a send hi -o json | jq -e '.task.status.state == \"TASK_STATE_COMPLETED\"'

With -o json an error is an object on stdout: {\"error\":{\"code\",\"message\",\"hint\",\"a2aCode\"}}
";

const LAYERS: &str = "\
A setting is looked for in this order:
  1. the flag
  2. the variable: A2ACLI_ and the flag in upper case, with _ for -
  3. the local file: --config FILE, or --profile NAME, else the nearest .env, up to the home folder
  4. ~/.config/a2a-cli/agents/HOST_PORT.env, then ~/.config/a2a-cli/.env
  5. what is built in
A file has a line A2ACLI_NAME=value for each. a2a config show says what holds, and why.
Switches are 1, true, 0 or false. Options that repeat are separated by commas; A2ACLI_SVC_PARAM has one per line.

Variables:
";

/// The topics besides the commands.
pub(crate) const TOPICS: [&str; 3] = ["references", "environment", "exit-codes"];

pub(crate) fn run(context: &Context, args: &Help) -> Result<(), Trouble> {
    let text = match args.words.first().map(String::as_str) {
        Some("references") => REFERENCES.to_owned(),
        Some("environment") => environment(),
        Some("exit-codes") => EXITS.to_owned(),
        _ => args::help_of(&args.words).map_err(|trouble| topics(trouble, &args.words))?,
    };
    context.printer.write(&text)
}

/// A word that is no command may be meant as a topic.
fn topics(trouble: Trouble, words: &[String]) -> Trouble {
    let near = words.first().and_then(|word| chancery_config::nearest(word, TOPICS));
    match near {
        Some(near) => trouble.hint(format!("did you mean \"help {near}\"?")),
        None => trouble,
    }
}

fn environment() -> String {
    let lines = TABLE.iter().filter(|spec| !spec.flag_only).map(|spec| format!("  {:<26} --{}\n", spec.variable(), spec.name));
    let others = [
        ("A2ACLI_AUTH_CREDENTIALS", "--auth-credentials"),
        ("A2ACLI_CLIENT_SECRET", "the secret of auth login --client-id"),
        ("A2ACLI_SERVER", "--server"),
    ];
    let others = others.map(|(variable, about)| format!("  {variable:<26} {about}\n"));
    format!("{LAYERS}{}{}", lines.collect::<String>(), others.concat())
}
