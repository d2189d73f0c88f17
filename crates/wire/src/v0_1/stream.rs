//! Streams of v0.1: status and artifact events, never a task or a message.

use chancery_core::{ArtifactUpdate, Error, Event, Object, Result, StatusUpdate, TaskId};
use serde::Serialize;

use super::{
    read::{Snapshot, assemble},
    write::{Chunk, WriteArtifact, WriteStatus},
};
use crate::{dialect::StreamMemory, json, transfer};

#[derive(Serialize)]
struct StatusEvent<'a> {
    id: &'a str,
    status: WriteStatus<'a>,
    #[serde(rename = "final")]
    last: bool,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

#[derive(Serialize)]
struct ArtifactEvent<'a> {
    id: &'a TaskId,
    artifact: WriteArtifact<'a>,
    #[serde(skip_serializing_if = "Object::is_empty")]
    metadata: &'a Object,
}

/// Writes an event: a task as its status and then its artifacts, a message as the status of a task
/// that is completed with it (CONV-EVENT-001).
pub(super) fn encode(event: &Event, memory: &mut StreamMemory, out: &mut Vec<Vec<u8>>) -> Result<()> {
    let event = transfer::event_for_unaware(event);
    memory.note(&event);
    let empty = Object::new();
    match event.as_ref() {
        Event::Task(task) => {
            let status = WriteStatus::from(&task.status);
            out.push(json::write(&StatusEvent { id: task.id.as_str(), status, last: false, metadata: &task.metadata })?);
            for artifact in &task.artifacts {
                // More may be added to it as long as the task goes on.
                let chunk = Some(Chunk { append: false, last: task.state().is_terminal() });
                let artifact = WriteArtifact { artifact, index: memory.index(&artifact.artifact_id), chunk };
                out.push(json::write(&ArtifactEvent { id: &task.id, artifact, metadata: &empty })?);
            }
        }
        Event::Message(message) => {
            let id = message.task_id.as_ref().or(memory.task.as_ref()).map_or("", TaskId::as_str);
            let status = WriteStatus::answered(message);
            out.push(json::write(&StatusEvent { id, status, last: true, metadata: &empty })?);
            memory.closed = true;
        }
        Event::Status(update) => {
            memory.closed = event.ends_stream();
            let status = WriteStatus::from(&update.status);
            let id = update.task_id.as_str();
            out.push(json::write(&StatusEvent { id, status, last: memory.closed, metadata: &update.metadata })?);
        }
        Event::Artifact(update) => {
            let chunk = Some(Chunk { append: update.append, last: update.last_chunk });
            let artifact = WriteArtifact { artifact: &update.artifact, index: memory.index(&update.artifact.artifact_id), chunk };
            out.push(json::write(&ArtifactEvent { id: &update.task_id, artifact, metadata: &update.metadata })?);
        }
        _ => return Err(Error::internal("v0.1 has no form for this event")),
    }
    Ok(())
}

/// The closing status, when the last event was none and the task is over or waits
/// (CONV-EVENT-003): clients of v0.1 wait for `final`.
pub(super) fn encode_end(memory: &StreamMemory) -> Result<Option<Vec<u8>>> {
    let Some(state) = memory.state.filter(|state| !memory.closed && (state.is_terminal() || state.is_interrupted())) else {
        return Ok(None);
    };
    let id = memory.task.as_ref().map_or("", TaskId::as_str);
    json::write(&StatusEvent { id, status: state.into(), last: true, metadata: &Object::new() }).map(Some)
}

/// Reads an element. The first becomes the task with what is known of it, later ones are updates
/// (CONV-EVENT-004). The conversation is the one that the request named, if the memory has it.
pub(super) fn decode(json: &[u8], memory: &mut StreamMemory) -> Result<Vec<Event>> {
    let mut element: Snapshot<'_> = json::read(json)?;
    if element.status.is_none() && element.artifact.is_none() {
        return Err(Error::invalid_param("result", "holds neither a status nor an artifact"));
    }
    memory.closed |= element.r#final == Some(true);
    let task = element.id.take().or_else(|| memory.task.clone()).unwrap_or_default();
    let context = element.session_id.take().or_else(|| memory.context.clone()).unwrap_or_default();
    let status = element.status.take();
    let mut chunk = element.artifact.take().map(|chunk| chunk.into_update(&task, &context));
    if let (Some(chunk), None) = (&mut chunk, &status) {
        chunk.metadata = element.metadata.take().unwrap_or_default();
    }
    let mut events = Vec::with_capacity(1);
    // Whatever comes first makes the task, and a task has a state.
    if memory.state.is_none() {
        events.push(element.into_task(task, context, status).into());
        events.extend(chunk.map(Event::from));
    } else {
        let mut metadata = element.metadata.take().unwrap_or_default();
        for artifact in assemble(element.artifacts.take().unwrap_or_default()) {
            // Artifacts beside a status are whole (V01-STREAM-006).
            events.push(ArtifactUpdate::new(task.clone(), context.clone(), artifact).last().into());
        }
        events.extend(chunk.map(Event::from));
        if let Some(status) = status {
            let status = status.into_status(&task, &context, &mut metadata);
            let mut update = StatusUpdate::new(task, context, status);
            update.metadata = metadata;
            events.push(update.into());
        }
    }
    for event in &events {
        memory.note(event);
    }
    Ok(events)
}
