//! The commands, a file for each.

mod auth;
mod bench;
mod card_get;
mod card_init;
mod card_sign;
mod chat;
mod completion;
mod config_show;
mod conformance;
mod doctor;
mod graph;
mod help;
mod keys;
mod push;
mod send;
mod skill;
mod task;
mod version;

use std::pin::Pin;

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
        Command::Skill(skill) => skill::run(context, &skill),
        Command::Version(_) => version::run(context),
        Command::Keys(keys) => keys::run(context, &keys),
        Command::Card(args::Card::Sign(sign)) => card_sign::sign(context, &sign),
        Command::Card(args::Card::Diff(diff)) => card_sign::compare(context, &diff),
        Command::Bench(bench) => {
            // One thread could be slower than the server that it measures.
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Trouble::internal(format!("no runtime can be started: {error}")))?;
            runtime.block_on(bench::run(context, &bench))
        }
        other => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| Trouble::internal(format!("no runtime can be started: {error}")))?;
            // Behind a pointer, so that there is one copy of all commands and not one for each place that polls them.
            let work: Pin<Box<dyn Future<Output = Result<(), Trouble>> + '_>> = Box::pin(call(context, other));
            runtime.block_on(work)
        }
    }
}

/// Commands that talk to agents.
async fn call(context: &Context, command: Command) -> Result<(), Trouble> {
    match command {
        Command::Card(args::Card::Get(get)) => card_get::run(context, &get).await,
        Command::Card(args::Card::Init(init)) => card_init::run(context, &init).await,
        Command::Card(args::Card::Verify(verify)) => card_sign::verify(context, &verify).await,
        Command::Auth(auth) => auth::run(context, &auth).await,
        Command::Send(send) => send::run(context, &send).await,
        Command::Task(task) => task::run(context, &task).await,
        Command::Graph(graph) => graph::run(context, &graph).await,
        Command::Chat(chat) => chat::run(context, &chat).await,
        Command::Conformance(conformance) => conformance::run(context, &conformance).await,
        Command::Push(push) => push::run(context, &push).await,
        Command::Doctor(doctor) => doctor::run(context, &doctor).await,
        _ => Err(Trouble::internal("this command needs no runtime")),
    }
}
