//! `a2a completion`: a script for a shell, made without any network.

use crate::{
    args::{self, Completion},
    context::Context,
    trouble::Trouble,
};

pub(crate) fn run(context: &Context, args: &Completion) -> Result<(), Trouble> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::completed(), "a2a", &mut script);
    context.printer.write(&String::from_utf8_lossy(&script))
}
