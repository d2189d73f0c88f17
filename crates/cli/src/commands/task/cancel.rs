//! `a2a task cancel`: asking twice is asking once.

use chancery_core::{CancelTask, ErrorKind, GetTask, Operations as _, TaskState};

use crate::{
    args::Cancel,
    connect,
    context::Context,
    print::task::{Detail, state},
    report,
    trouble::Trouble,
    wait::Wait,
};

pub(crate) async fn run(context: &Context, args: &Cancel) -> Result<(), Trouble> {
    let agent = connect::agent(context).await?;
    let mut wait = Wait::new(context, &agent)?;
    let mut cancel = CancelTask::new(args.id.as_str());
    cancel.metadata = context.settings.metadata.clone();
    let caller = agent.caller(context);
    let asked = wait.call(agent.client.cancel_task(&caller, cancel)).await.map_err(|halt| wait.halted(halt))?;
    let task = match asked {
        Ok(task) => task,
        Err(error) if error.kind() == ErrorKind::TaskNotCancelable => {
            let get = GetTask::new(args.id.as_str());
            let read = wait.call(agent.client.get_task(&caller, get)).await.map_err(|halt| wait.halted(halt))?;
            match read {
                Ok(task) if task.state() == TaskState::Canceled => task,
                Ok(task) => {
                    let trouble = agent.trouble(context, error);
                    return Err(Trouble { message: format!("{}: it is {}", trouble.message, state(task.state())), ..trouble });
                }
                Err(_) => return Err(agent.trouble(context, error)),
            }
        }
        Err(error) => return Err(agent.trouble(context, error)),
    };
    report::task(context, &task, Detail { verbose: context.settings.verbose, ..Detail::default() })
}
