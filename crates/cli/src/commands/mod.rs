//! The commands, a file for each.

mod card_get;
mod completion;
mod config_show;
mod help;
mod send;
mod task;
mod version;

use crate::{
    args::{self, Command},
    context::Context,
    serve,
    trouble::Trouble,
};

/// Does what a command says.
pub(crate) fn run(context: &Context, command: Command) -> Result<(), Trouble> {
    match command {
        // Servers have threads of their own.
        Command::Serve(serve) => serve::run(context, *serve),
        Command::DemoServer(demo) => serve::run_demo(context, demo.serve),
        Command::Config(args::Config::Show(show)) => config_show::run(context, &show),
        Command::Completion(completion) => completion::run(context, &completion),
        Command::Help(help) => help::run(context, &help),
        Command::Version(_) => version::run(context),
        other => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Trouble::internal(format!("no runtime can be started: {error}")))?;
            runtime.block_on(call(context, other))
        }
    }
}

/// Commands that talk to agents.
async fn call(context: &Context, command: Command) -> Result<(), Trouble> {
    match command {
        Command::Card(args::Card::Get(get)) => card_get::run(context, &get).await,
        Command::Auth(auth) => Err(Trouble::not_built(match auth {
            args::Auth::Login(_) => "auth login",
            args::Auth::Status(_) => "auth status",
            args::Auth::Logout(_) => "auth logout",
        })),
        Command::Send(send) => send::run(context, &send).await,
        Command::Task(task) => task::run(context, &task).await,
        Command::Chat(_) => Err(Trouble::not_built("chat")),
        Command::Conformance(_) => Err(Trouble::not_built("conformance")),
        Command::Skill(_) => Err(Trouble::not_built("skill")),
        Command::Push(_) => Err(Trouble::not_built("push")),
        Command::Bench(_) => Err(Trouble::not_built("bench")),
        Command::Doctor(_) => Err(Trouble::not_built("doctor")),
        _ => Err(Trouble::internal("this command needs no runtime")),
    }
}
