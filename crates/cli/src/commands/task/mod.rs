//! `a2a task …`.

mod authorize;
mod cancel;
mod download;
mod get;
mod list;
mod push_config;
mod subscribe;

pub(super) use self::authorize::open as open_browser;
use crate::{args::Task, context::Context, trouble::Trouble};

pub(crate) async fn run(context: &Context, task: &Task) -> Result<(), Trouble> {
    match task {
        Task::Get(args) => get::run(context, args).await,
        Task::Cancel(args) => cancel::run(context, args).await,
        Task::List(args) => list::run(context, args).await,
        Task::Subscribe(args) => subscribe::run(context, args).await,
        Task::Download(args) => download::run(context, args).await,
        Task::PushConfig(args) => push_config::run(context, args).await,
        Task::Authorize(args) => authorize::run(context, args).await,
    }
}
