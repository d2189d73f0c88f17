//! The command that goes on where this one ends, ready to copy.

use chancery_core::{ContextId, TaskId, TaskState};

use crate::{
    settings::{Settings, Source},
    trouble::Trouble,
};

/// What is known of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) task: Option<TaskId>,
    pub(crate) context: Option<ContextId>,
    pub(crate) state: TaskState,
}

/// The command that goes on with a task; `None` when there is nothing to go on with.
pub(crate) fn command(settings: &Settings, known: &Known) -> Option<String> {
    let same = same(settings);
    let task = known.task.as_ref().map(|task| quoted(task.as_str()));
    Some(match (known.state, task, &known.context) {
        (TaskState::InputRequired, Some(task), _) => format!("a2a send{same} --task-id {task} \"<reply>\""),
        (TaskState::AuthRequired, Some(task), _) => format!("a2a task authorize{same} {task}"),
        (state, Some(task), _) if !state.is_terminal() => format!("a2a task get{same} --wait {task}"),
        (_, _, Some(context)) if !context.is_empty() => format!("a2a send{same} --context-id {} \"<text>\"", quoted(context.as_str())),
        _ => return None,
    })
}

/// The options that name the same agent in the same way; never a credential.
pub(crate) fn same(settings: &Settings) -> String {
    let mut words = String::new();
    let mut add = |flag: &str, value: &str| words.push_str(&format!(" {flag} {}", quoted(value)));
    match (&settings.agent, &settings.endpoint) {
        (Some(agent), _) => add("-a", agent),
        (None, Some(endpoint)) => add("-e", endpoint),
        (None, None) => {}
    }
    for name in ["transport", "a2a-version", "tenant", "config", "profile"] {
        let flag = settings.layers.raw(name).filter(|raw| raw.source == Source::Flag);
        flag.iter().flat_map(|raw| &raw.values).for_each(|value| add(&format!("--{name}"), value));
    }
    words
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Adds to the trouble of a wait how to go on waiting.
pub(crate) fn hinted(settings: &Settings, known: &Known, trouble: Trouble) -> Trouble {
    match command(settings, known) {
        Some(command) => trouble.hint(command),
        None => trouble,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::settings::{Layers, Surroundings};

    fn settings(flags: &[(&'static str, &str)]) -> Settings {
        let flags: BTreeMap<_, _> = flags.iter().map(|(name, value)| (*name, vec![(*value).to_owned()])).collect();
        Layers::new(flags, Surroundings::default()).and_then(Settings::new).unwrap()
    }

    #[test]
    fn the_command_fits_the_state() {
        let settings = settings(&[("agent-card", "localhost:8080"), ("transport", "grpc"), ("bearer", "s3cret")]);
        let known = |state| Known { task: Some("t-1".into()), context: Some("c 1".into()), state };
        for (state, expected) in [
            (TaskState::InputRequired, "a2a send -a localhost:8080 --transport grpc --task-id t-1 \"<reply>\""),
            (TaskState::AuthRequired, "a2a task authorize -a localhost:8080 --transport grpc t-1"),
            (TaskState::Working, "a2a task get -a localhost:8080 --transport grpc --wait t-1"),
            (TaskState::Completed, "a2a send -a localhost:8080 --transport grpc --context-id 'c 1' \"<text>\""),
        ] {
            assert_eq!(command(&settings, &known(state)).as_deref(), Some(expected));
        }
        assert_eq!(command(&settings, &Known::default()), None);
    }
}
