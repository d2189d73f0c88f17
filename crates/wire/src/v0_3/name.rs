//! Resource names: `tasks/{id}` and `tasks/{id}/pushNotificationConfigs/{id}` (V03-GRPC-003).
//!
//! The ids stand in them as they are, so an id with a slash cannot be read back.

use std::fmt;

use chancery_core::{PushConfig, PushConfigId, TaskId};
use serde::{Serialize, Serializer};

const CONFIGS: &str = "/pushNotificationConfigs/";

/// The name of a task.
#[derive(Clone, Copy)]
pub(in crate::v0_3) struct TaskName<'a>(pub(in crate::v0_3) &'a TaskId);

impl fmt::Display for TaskName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tasks/{}", self.0)
    }
}

impl Serialize for TaskName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The name of a push config.
#[derive(Clone, Copy)]
pub(in crate::v0_3) struct ConfigName<'a> {
    task: &'a TaskId,
    id: &'a str,
}

impl<'a> ConfigName<'a> {
    /// A config without an id is the one named like its task (V03-PUSHCFG-002, V03-PUSHCFG-004).
    pub(in crate::v0_3) fn new(task: &'a TaskId, id: Option<&'a PushConfigId>) -> Self {
        Self { task, id: id.map(PushConfigId::as_str).filter(|id| !id.is_empty()).unwrap_or(task.as_str()) }
    }

    pub(in crate::v0_3) fn of(config: &'a PushConfig) -> Self {
        Self::new(&config.task_id, Some(&config.id))
    }

    /// The config's own part of the name.
    pub(in crate::v0_3) fn id(&self) -> &'a str {
        self.id
    }
}

impl fmt::Display for ConfigName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tasks/{}{CONFIGS}{}", self.task, self.id)
    }
}

impl Serialize for ConfigName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The task in a task's name.
pub(in crate::v0_3) fn read_task(name: &str) -> Option<TaskId> {
    name.strip_prefix("tasks/").and_then(segment).map(TaskId::from)
}

/// The task and the config in a config's name. The config's id is missing in the names that Python
/// clients give to configs without one.
pub(in crate::v0_3) fn read_config(name: &str) -> Option<(TaskId, Option<PushConfigId>)> {
    let (task, id) = name.strip_prefix("tasks/")?.split_once(CONFIGS)?;
    let id = if id.is_empty() { None } else { Some(segment(id)?.into()) };
    Some((segment(task)?.into(), id))
}

fn segment(text: &str) -> Option<&str> {
    (!text.is_empty() && !text.contains('/')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// V03-GRPC-003.
    #[test]
    fn names_are_read_as_they_are_written_and_nothing_else_is() {
        let task = TaskId::from("t-1");
        assert_eq!(read_task(&TaskName(&task).to_string()), Some(task.clone()));
        let config = PushConfig::new("https://c.example").for_task("t-1").id("hook-1");
        assert_eq!(read_config(&ConfigName::of(&config).to_string()), Some((task.clone(), Some("hook-1".into()))));
        assert_eq!(ConfigName::new(&task, None).to_string(), "tasks/t-1/pushNotificationConfigs/t-1");
        assert_eq!(read_config("tasks/t-1/pushNotificationConfigs/"), Some((task, None)));
        for name in ["", "t-1", "tasks/", "task/t-1", "tasks/a/b", "/tasks/a"] {
            assert_eq!(read_task(name), None, "{name}");
        }
        for name in ["", "tasks/a", "tasks//pushNotificationConfigs/c", "tasks/a/pushNotificationConfigs/c/d", "tasks/a/configs/c"] {
            assert_eq!(read_config(name), None, "{name}");
        }
    }
}
