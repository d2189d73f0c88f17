//! `a2a graph …`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Workflows: who may pass what to whom
#[derive(Debug, Subcommand)]
pub(crate) enum Graph {
    Check(GraphCheck),
    Show(GraphShow),
}

/// Check every path of a workflow before it runs
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a graph check flow.toml")]
pub(crate) struct GraphCheck {
    #[command(flatten)]
    pub(crate) file: GraphFile,
}

/// Draw a workflow
#[derive(Debug, Args)]
#[command(before_help = "Example:\n  a2a graph show flow.toml --format mermaid")]
pub(crate) struct GraphShow {
    #[command(flatten)]
    pub(crate) file: GraphFile,
    /// As what
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Picture,
    /// Where it is written instead of stdout
    #[arg(long, short = 'O', value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The file, and how far its cards may be looked for.
#[derive(Debug, Args)]
pub(crate) struct GraphFile {
    /// The workflow
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Fetch nothing: only cards that are files
    #[arg(long)]
    pub(crate) offline: bool,
    /// A scope as JSON that comes in at the start, instead of that of the file
    #[arg(long, value_name = "FILE")]
    pub(crate) scope_from: Option<PathBuf>,
}

/// What a workflow can be drawn as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Picture {
    /// Lines
    Text,
    /// What was found, as JSON
    Json,
    /// For Graphviz
    Dot,
    /// For Mermaid
    Mermaid,
    /// An image
    Svg,
}
