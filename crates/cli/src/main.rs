//! The binary `a2a`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people prints")]

mod agents;
mod config;
#[cfg(test)]
mod folder;
mod log;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Serve, call and check A2A agents
#[derive(Debug, Parser)]
#[command(name = "a2a", version, disable_version_flag = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Print the version
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    version: (),
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Serve>),
    /// Serve the demo agents, as `serve --demo`
    DemoServer(Box<serve::Serve>),
}

fn main() -> ExitCode {
    // Bad usage ends in here, with 2.
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Command::Serve(serve) => serve::run(&serve),
        Command::DemoServer(serve) => serve::run_demo(*serve),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
