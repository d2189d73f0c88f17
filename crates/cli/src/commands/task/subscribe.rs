//! `a2a task subscribe`: a task's events, or its end.

use chancery_client::TaskWait;
use chancery_core::{ErrorKind, SendReply, Seq, Subscribe as Request};

use crate::{
    args::Subscribe,
    connect::{self, Capability},
    context::Context,
    print::{
        live::{Blank, Live, Screen},
        task::Detail,
    },
    report, resume,
    trouble::Trouble,
    wait::{Mode, Wait},
};

pub(crate) async fn run(context: &Context, args: &Subscribe) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    agent.require(Capability::Streaming, || {
        format!("a2a task get{} --wait {}", resume::same(&context.settings), resume::quoted(&args.id))
    })?;
    let mut wait = Wait::new(context, &agent)?;
    let mut caller = wait.caller();
    if let Some(from) = args.from {
        caller = caller.resume_after(Seq::new(from));
    }
    let asked = wait.call(TaskWait::subscribe(&agent.client, caller, Request::new(args.id.as_str()))).await;
    let task = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| {
        let over = error.kind() == ErrorKind::UnsupportedOperation;
        let trouble = agent.trouble(context, error);
        match over {
            true => trouble.hint(format!("a2a task get{} {}", resume::same(&context.settings), resume::quoted(&args.id))),
            false => trouble,
        }
    })?;
    let mode = if context.settings.stream { Mode::Stream } else { Mode::Whole };
    let (mut live, mut blank) = (Live::new(&context.printer), Blank);
    let screen: &mut dyn Screen = if mode == Mode::Stream { &mut live } else { &mut blank };
    let reply = match wait.run(task, mode, None, screen).await {
        Ok(reply) => reply,
        Err(halt) => {
            live.close()?;
            return Err(wait.halted(halt));
        }
    };
    match reply {
        reply if mode == Mode::Stream => report::end(context, &reply),
        SendReply::Task(task) => report::task(context, &task, Detail { updated: true, verbose: context.settings.verbose, history: false }),
        reply => report::reply(context, &reply, Detail::default()),
    }
}
