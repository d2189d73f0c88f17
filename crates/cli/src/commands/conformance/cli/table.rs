//! The requirements of the official CLI specification 0.2: each with its tier, its sentence and its check.

use super::{
    check,
    trial::{Checked, Trial},
};

/// A requirement.
pub(super) struct Row {
    pub(super) id: &'static str,
    /// The tier that it belongs to; tiers add up.
    pub(super) tier: u8,
    /// Whether it concerns only programs that have the thing at all.
    pub(super) conditional: bool,
    pub(super) requirement: &'static str,
    pub(super) check: fn(&Trial<'_>) -> Checked,
}

impl Row {
    /// The part of the program that it is about: `SEND`, `TASK_GET`, ….
    pub(super) fn area(&self) -> &'static str {
        let name = self.id.strip_prefix("A2ACLI_").unwrap_or(self.id);
        name.rsplit_once('_').map_or(name, |(area, _)| area)
    }
}

const fn row(id: &'static str, tier: u8, conditional: bool, requirement: &'static str, check: fn(&Trial<'_>) -> Checked) -> Row {
    Row { id, tier, conditional, requirement, check }
}

/// Every requirement.
#[rustfmt::skip]
pub(super) const ROWS: [Row; 66] = [
    row("A2ACLI_CARD_GET_001", 1, false, "`card get` resolves a host, a full card URL or a local file (`file://` or plain path), parses the card, and the card decides the transport of later calls", check::card_get_001),
    row("A2ACLI_SEND_001", 1, false, "`send` starts an interaction with a message", check::send_001),
    row("A2ACLI_SEND_002", 1, false, "Waits by default; `--async` returns the ids at once (`--return-immediately`, `--no-wait` optional aliases)", check::send_002),
    row("A2ACLI_SEND_003", 1, false, "`--stream` reads the event stream when offered, never hangs when not; an answer that is only a Message ends cleanly", check::send_003),
    row("A2ACLI_SEND_004", 1, false, "Renders artifacts; no part is dropped silently", check::send_004),
    row("A2ACLI_SEND_005", 1, false, "`--media-type` sets the type of the part flag before it; the type is guessed only when none was given", check::send_005),
    row("A2ACLI_SEND_006", 1, false, "`--text`, `--file`, `--data` repeat and keep their order; `--data -` reads stdin", check::send_006),
    row("A2ACLI_TASK_GET_001", 1, false, "`task get` returns state, artifacts and history; artifacts are always rendered", check::task_get_001),
    row("A2ACLI_TASK_CANCEL_001", 1, false, "`task cancel` cancels, is idempotent, reports the resulting state", check::task_cancel_001),
    row("A2ACLI_INTERACT_001", 1, false, "`--context-id` continues an interaction (new task, same context)", check::interact_001),
    row("A2ACLI_INTERACT_002", 1, false, "`--task-id` continues a task, with or without `--context-id`; a pair must match; a refused id fails non-zero, makes no task, shows the protocol error and points at `--debug`", check::interact_002),
    row("A2ACLI_INTERACT_003", 1, false, "Never makes up server ids; never treats a context as a chat session", check::interact_003),
    row("A2ACLI_INTERACT_004", 1, false, "Prints task id, context id and state at the end and at an interruption, ready to copy, with the exact resume command", check::interact_004),
    row("A2ACLI_INTERACT_005", 1, false, "Stateless: stores no last id, has no `--continue`, keeps no state only in memory", check::interact_005),
    row("A2ACLI_TASK_POLL_001", 1, false, "One-shot `task get`, and `task get --wait` until terminal or interrupted", check::task_poll_001),
    row("A2ACLI_TASK_POLL_002", 1, false, "Honours `--poll-interval` and `--timeout`; bounded backoff; no busy loop; interruptible without losing the printed id", check::task_poll_002),
    row("A2ACLI_TASK_POLL_003", 1, false, "Stops at once on interrupted states; UNSPECIFIED is neither, polling goes on under `--timeout`", check::task_poll_003),
    row("A2ACLI_TASK_POLL_004", 1, false, "A wait that used a stream falls back to polling when the stream fails and reaches the end", check::task_poll_004),
    row("A2ACLI_OUT_001", 1, false, "Every answer about a task names context, task and state in every mode; payload on stdout, talk on stderr", check::out_001),
    row("A2ACLI_OUT_002", 1, false, "`-o json` without `--stream` is exactly one document, the terminal protocol object, never an event log", check::out_002),
    row("A2ACLI_OUT_003", 1, false, "`-o json --stream` is JSONL, one object per line, flushed; last line is the terminal event; an error that ends the stream is the last line", check::out_003),
    row("A2ACLI_OUT_004", 1, false, "Errors are machine-readable and equal on all transports: protocol failures by A2A name, local ones as `A2ACLI_ERR_*`; no own codes in that name space; hint filled", check::out_004),
    row("A2ACLI_OUT_005", 1, false, "`text` floor: each line is one `Label: value` with labels that never change and without escape bytes; longer content is a block under its own `Label:`, ended by a blank line, not mixed with field lines; interactive modes fall back to text off a terminal and never block there", check::out_005),
    row("A2ACLI_OUT_006", 1, false, "`--async` still emits a result with task id and context id", check::out_006),
    row("A2ACLI_EXIT_001", 1, false, "Exit 0, 1, 2 exist; 3, 4, 5 only with their meaning; exit and reported error agree", check::exit_001),
    row("A2ACLI_EXIT_002", 1, false, "A reported turn exits 0 whatever the agent decided; a bad or paused outcome is named on stderr", check::exit_002),
    row("A2ACLI_AUTH_001", 1, false, "Bearer and API key by flag or environment, placed as the card declares; `--svc-param` is separate and never described as authentication", check::auth_001),
    row("A2ACLI_AUTH_002", 1, false, "Each credential flag has a variable; help warns that flags show in the process list and shell history; flag still wins", check::auth_002),
    row("A2ACLI_AUTH_003", 1, false, "A clear warning on stderr when a credential travels with verification off; never silently off", check::auth_003),
    row("A2ACLI_AUTH_004", 1, false, "Credentials never appear in diagnostics, also not in `--debug` wire logs; no flag can undo it", check::auth_004),
    row("A2ACLI_TX_001", 1, false, "The transport comes from the card in its declared order", check::tx_001),
    row("A2ACLI_TX_002", 1, false, "First supported entry without a preference; `--transport` repeats and is ordered", check::tx_002),
    row("A2ACLI_TX_003", 1, true, "The tenant of the chosen interface is sent in every request exactly as declared, and left out when none is declared", check::tx_003),
    row("A2ACLI_VER_001", 1, false, "`A2A-Version` on every request, never empty; negotiates down only within 1.x; no silent downgrade", check::ver_001),
    row("A2ACLI_DEFAULT_001", 1, false, "Ships six defaults (server transport order, wait, text, concise, highest common version not below 1.0, TLS check on), each with an overriding flag, all visible in help", check::default_001),
    row("A2ACLI_CONFIG_001", 1, false, "What is stored lies at a conventional path, secrets mode 0600, readable through `config show`, editable and deletable by the user; never ids to resume", check::config_001),
    row("A2ACLI_CLI_001", 1, false, "`help` and `<command> --help` print usage and end; `-v`/`--version` prints the version; help shows effective defaults", check::cli_001),
    row("A2ACLI_SKILL_001", 1, true, "Exactly one agent skill file, generic and short, pointing to run-time help", check::skill_001),
    row("A2ACLI_SKILL_002", 1, true, "Skill and specification stay separate; the skill repeats no normative text", check::skill_002),
    row("A2ACLI_CARD_GET_002", 2, false, "`card get --validate` checks the card against the A2A schema", check::card_get_002),
    row("A2ACLI_TASK_LIST_001", 2, false, "`task list` pages by cursor and filters by status and context", check::task_list_001),
    row("A2ACLI_TASK_SUBSCRIBE_001", 2, false, "`task subscribe` attaches to a task's event stream", check::task_subscribe_001),
    row("A2ACLI_TASK_SUBSCRIBE_002", 2, false, "Resumes after a lost connection; first event is the whole Task, no extra get needed", check::task_subscribe_002),
    row("A2ACLI_AUTH_005", 2, false, "`auth login` runs the OAuth 2.1 device flow", check::auth_005),
    row("A2ACLI_AUTH_006", 2, false, "`auth login` runs client credentials", check::auth_006),
    row("A2ACLI_AUTH_007", 2, false, "Tokens are stored safely and attached later by themselves", check::auth_007),
    row("A2ACLI_TX_004", 2, false, "At least two transports, selectable", check::tx_004),
    row("A2ACLI_VER_003", 2, false, "Checks the capability on the card before a gated call (streaming, push, extended card)", check::ver_003),
    row("A2ACLI_CONFIG_002", 2, false, "Order flag, environment, local file, global file, built-in; can be scoped per agent; `config show` names each source", check::config_002),
    row("A2ACLI_DOWNLOAD_001", 2, false, "`task download` saves artifacts", check::download_001),
    row("A2ACLI_OUT_007", 2, false, "`--debug` logs to stderr, with the raw protocol messages", check::out_007),
    row("A2ACLI_CONFORM_001", 2, false, "`conformance` smoke-checks a live agent against the TCK", check::conform_001),
    row("A2ACLI_CLI_002", 2, false, "`completion <shell>` prints a completion script", check::cli_002),
    row("A2ACLI_PUSH_001", 2, false, "`task push-config` create, get, list, delete", check::push_001),
    row("A2ACLI_CARD_GET_003", 3, false, "Extended card, fetched only with a scheme the public card declares", check::card_get_003),
    row("A2ACLI_AUTH_008", 3, false, "A card endpoint gets a credential only if it declared a scheme that accepts it", check::auth_008),
    row("A2ACLI_CARD_GET_004", 3, false, "Verifies card signatures when present; reports verified, unverifiable or absent; absent is no failure; unverified is never shown as verified", check::card_get_004),
    row("A2ACLI_CARD_GET_005", 3, false, "A catalog or registry entry works wherever `--agent-card` takes a reference", check::card_get_005),
    row("A2ACLI_PUSH_002", 3, false, "A local webhook receiver", check::push_002),
    row("A2ACLI_CHAT_001", 3, false, "`chat` carries context and open task over turns", check::chat_001),
    row("A2ACLI_TX_005", 3, false, "gRPC transport", check::tx_005),
    row("A2ACLI_AUTH_009", 3, false, "Mutual TLS", check::auth_009),
    row("A2ACLI_AUTH_010", 3, false, "OpenID Connect", check::auth_010),
    row("A2ACLI_AUTH_011", 3, false, "Handles AUTH_REQUIRED inside a task", check::auth_011),
    row("A2ACLI_DEMO_SERVER_001", 3, false, "Demo or mock agent", check::demo_server_001),
    row("A2ACLI_VER_002", 3, false, "Declares the protocol extensions the server requires", check::ver_002),
];
