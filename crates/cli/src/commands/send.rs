//! `a2a send`.

use chancery_core::{SendMessage, SendReply};

use crate::{
    args::Send,
    connect::{self, Agent, Capability},
    context::Context,
    follow, message,
    print::{
        Text,
        live::{Blank, Live, Screen},
        task::{self, Detail},
    },
    report,
    trouble::Trouble,
    wait::{Mode, Wait},
};

pub(crate) async fn run(context: &Context, args: &Send) -> Result<(), Trouble> {
    let request = message::request(context, args)?;
    let builder = connect::builder(context)?.retries(args.retry.max(1)).idempotent(args.retry > 0);
    let builder = builder.follow_handoffs(follow::policy(args.follow_transfer));
    let agent = connect::connected(context, builder).await?;
    if args.push_url.is_some() {
        agent.require(Capability::PushNotifications, || "leave --push-url out: send waits for the answer by itself".to_owned())?;
    }
    if context.settings.verbose && !context.printer.is_json() {
        context.printer.text(&sent(&agent, &request))?;
    }
    let mode = Mode::of(context);
    let (mut live, mut blank) = (Live::new(&context.printer), Blank);
    let screen: &mut dyn Screen = if mode == Mode::Stream { &mut live } else { &mut blank };
    let mut wait = Wait::new(context, &agent)?;
    let id = request.message.message_id.clone();
    let reply = match wait.send(request, mode, screen).await {
        Ok(reply) => reply,
        Err(halt) => {
            live.close()?;
            return Err(repeatable(wait.halted(halt), id.as_str(), wait.known.task.is_some()));
        }
    };
    let moved = match &reply {
        SendReply::Task(task) if mode != Mode::Detached => follow::follow(context, &agent, (**task).clone(), mode, screen).await?,
        _ => None,
    };
    let (context, reply) = moved.as_ref().map_or((context, &reply), |moved| (&moved.context, &moved.reply));
    if mode == Mode::Stream {
        return report::end(context, reply);
    }
    let detail = Detail { history: args.history.is_some(), updated: false, verbose: context.settings.verbose };
    report::reply(context, reply, detail)
}

/// Says under which id a message that may not have arrived can be sent again.
fn repeatable(trouble: Trouble, id: &str, arrived: bool) -> Trouble {
    let unsure = matches!(&*trouble.code, "A2ACLI_ERR_UNREACHABLE" | "A2ACLI_ERR_TIMEOUT" | "A2ACLI_ERR_INTERNAL" | "InternalError");
    if arrived || !unsure {
        return trouble;
    }
    let hint = trouble.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
    trouble.clone().hint(format!("send it again with --message-id {id}{hint}"))
}

/// What goes out, for those who want to see everything.
fn sent(agent: &Agent, request: &SendMessage) -> Text {
    let mut text = Text::default();
    let client = &agent.client;
    let tenant = if client.tenant().is_empty() { String::new() } else { format!(" tenant={}", client.tenant()) };
    text.field("Interface", &format!("{} {} {}{tenant}", client.binding(), client.version(), client.url()));
    task::message(&mut text, &request.message);
    text
}
