//! `a2a task get`: a task as it stands, or as it ends.

use chancery_core::GetTask;

use crate::{
    args::Get,
    connect,
    context::Context,
    print::{
        live::{Blank, Live, Screen},
        task::Detail,
    },
    report,
    trouble::Trouble,
    wait::{Mode, Wait},
};

pub(crate) async fn run(context: &Context, args: &Get) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    let mut wait = Wait::new(context, &agent)?;
    let mut get = GetTask::new(args.id.as_str());
    get.history_length = args.history;
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.get_task(&caller, get)).await;
    let task = asked.map_err(|halt| wait.halted(halt))?.map_err(|error| agent.trouble(context, error))?;
    if !context.settings.wait {
        return report::task(context, &task, detail(context));
    }
    let mode = if context.settings.stream { Mode::Stream } else { Mode::Whole };
    let (mut live, mut blank) = (Live::new(&context.printer), Blank);
    let screen: &mut dyn Screen = if mode == Mode::Stream { &mut live } else { &mut blank };
    let reply = match wait.resume(task, mode, args.history, screen).await {
        Ok(reply) => reply,
        Err(halt) => {
            live.close()?;
            return Err(wait.halted(halt));
        }
    };
    match reply.task().filter(|_| mode == Mode::Whole) {
        Some(task) => report::task(context, task, detail(context)),
        None => report::end(context, &reply),
    }
}

fn detail(context: &Context) -> Detail {
    Detail { history: true, updated: true, verbose: context.settings.verbose }
}
