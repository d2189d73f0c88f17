//! `echo = true`: the agent that gives back what it gets.

use super::{Backend, Kind, Result, Section, Surroundings};

/// The kind.
pub const KIND: Kind = Kind { key: "echo", keys: &[], noun: "an echo", example: "echo = true", docs: include_str!("echo.toml"), read };

fn read(section: &mut Section<'_, '_>, _: Surroundings<'_>) -> Result<Backend> {
    match section.flag("echo")? {
        Some(echo) if !echo.value => {
            Err(section.error(&echo, "echo can only be true").with_hint("give the agent another back end instead"))
        }
        _ => Ok(Backend::Echo),
    }
}
