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
    wait::Wait,
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
    let (mut live, mut blank) = (Live::new(&context.printer), Blank);
    let screen: &mut dyn Screen = if context.settings.stream { &mut live } else { &mut blank };
    let reply = wait.poll(task, args.history, screen).await.map_err(|halt| wait.halted(halt))?;
    match reply.task().filter(|_| !context.settings.stream) {
        Some(task) => report::task(context, task, detail(context)),
        None => report::end(context, &reply),
    }
}

fn detail(context: &Context) -> Detail {
    Detail { history: true, updated: true, verbose: context.settings.verbose }
}
