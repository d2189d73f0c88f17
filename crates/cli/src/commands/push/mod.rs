//! `a2a push …`: webhooks from the other side.

mod hook;
mod letters;
mod listen;

use crate::{args::Push, context::Context, trouble::Trouble};

pub(crate) async fn run(context: &Context, args: &Push) -> Result<(), Trouble> {
    match args {
        Push::Listen(args) => listen::run(context, args).await,
        Push::DeadLetters(args) => letters::show(context, args).await,
        Push::Redeliver(args) => letters::redeliver(context, args).await,
    }
}
