//! The message of `send`: from text, part flags, files, stdin, or a whole payload.

use std::{io::Read as _, path::Path};

use chancery_core::{Message, MessageId, Part, PushConfig, Role, SendMessage};
use serde_json::{Value, json};

use crate::{
    args::{PartFlag, Send},
    context::Context,
    files, media,
    reference::expanded,
    trouble::Trouble,
};

/// Schemes of files that are named, not read.
const REMOTE: [&str; 6] = ["http://", "https://", "s3://", "gs://", "ftp://", "ftps://"];

/// The request that the arguments stand for.
pub(crate) fn request(context: &Context, args: &Send) -> Result<SendMessage, Trouble> {
    let mut source = Source::new(context, args.max_inline);
    let mut request = match &args.request_payload {
        Some(text) => payload(source.json("--request-payload", text)?)?,
        None => SendMessage::new(composed(&mut source, args)?),
    };
    let settings = &context.settings;
    let message = &mut request.message;
    if let Some(id) = &settings.task_id {
        message.task_id = Some(id.as_str().into());
    }
    if let Some(id) = &settings.context_id {
        message.context_id = Some(id.as_str().into());
    }
    if let Some(id) = &args.message_id {
        message.message_id = id.as_str().into();
    }
    if message.message_id.is_empty() {
        message.message_id = MessageId::generate();
    }
    message.reference_task_ids.extend(args.reference_task.iter().map(|id| id.as_str().into()));
    request.metadata.extend(settings.metadata.clone());
    request.configuration.history_length = args.history.or(request.configuration.history_length);
    request.configuration.accepted_output_modes.extend(args.accept.iter().cloned());
    if let Some(url) = &args.push_url {
        let token = args.push_token.clone().or_else(|| settings.layers.variable("A2ACLI_PUSH_TOKEN"));
        let config = PushConfig::new(url);
        request.configuration.push_config = Some(Box::new(token.map_or(config.clone(), |token| config.token(token))));
    }
    Ok(request)
}

/// A part as a flag of `chat` or `send` names it.
pub(crate) fn part(context: &Context, flag: PartFlag, value: &str, max_inline: u64) -> Result<Part, Trouble> {
    Source::new(context, max_inline).part(flag, value)
}

fn composed(source: &mut Source<'_>, args: &Send) -> Result<Message, Trouble> {
    let mut parts = Vec::new();
    match args.message.as_deref() {
        Some("-") => parts.push(Part::text(source.text()?)),
        Some(text) => parts.push(Part::text(text)),
        None => {}
    }
    let before = parts.len();
    for (flag, value) in &args.parts.0 {
        match (flag, parts.len() > before) {
            (PartFlag::MediaType, false) => {
                return Err(Trouble::usage("--media-type stands behind the part it is about")
                    .hint("a2a send --file x.bin --media-type application/pdf"));
            }
            (PartFlag::MediaType, true) => {
                if let Some(part) = parts.last_mut() {
                    part.media_type.clone_from(value);
                }
            }
            (flag, _) => parts.push(source.part(*flag, value)?),
        }
    }
    if parts.is_empty() {
        return Err(Trouble::usage("there is nothing to send").hint("a2a send TEXT, or - to read the text from stdin"));
    }
    Ok(Message::new(Role::User, parts))
}

/// A whole request, a message alone, or its parts alone.
fn payload(value: Value) -> Result<SendMessage, Trouble> {
    let value = match value {
        Value::Array(_) => json!({"message": {"parts": value}}),
        Value::Object(ref members) if !members.contains_key("message") && members.contains_key("parts") => json!({"message": value}),
        other => other,
    };
    let read = serde_json::from_value::<SendMessage>(value);
    let mut request = read.map_err(|error| Trouble::usage(format!("--request-payload is no SendMessageRequest: {error}")))?;
    if request.message.role == Role::Unspecified {
        request.message.role = Role::User;
    }
    if request.message.parts.is_empty() {
        return Err(Trouble::usage("--request-payload: the message has no parts"));
    }
    Ok(request)
}

/// Where parts come from; stdin is read at most once.
struct Source<'a> {
    context: &'a Context,
    max_inline: u64,
    used: bool,
}

impl<'a> Source<'a> {
    fn new(context: &'a Context, max_inline: u64) -> Self {
        // A card on stdin leaves nothing for parts.
        let used = context.settings.agent.as_deref() == Some("-");
        Self { context, max_inline, used }
    }

    fn part(&mut self, flag: PartFlag, value: &str) -> Result<Part, Trouble> {
        match flag {
            PartFlag::Text => Ok(Part::text(value)),
            PartFlag::Data => Ok(Part::data(self.json("--data", value)?)),
            PartFlag::File => self.file(value),
            PartFlag::MediaType => Err(Trouble::internal("a media type is no part")),
        }
    }

    /// JSON: inline, on stdin, or in a file.
    fn json(&mut self, option: &str, value: &str) -> Result<Value, Trouble> {
        let (text, from) = match value {
            "-" => (self.stdin()?, "stdin".to_owned()),
            inline if inline.trim_start().starts_with(['{', '[']) => (inline.as_bytes().to_vec(), "the value".to_owned()),
            path => (self.read(path, option)?, path.to_owned()),
        };
        serde_json::from_slice(&text).map_err(|error| Trouble::usage(format!("{option}: {from} is no JSON: {error}")))
    }

    fn file(&mut self, value: &str) -> Result<Part, Trouble> {
        if REMOTE.iter().any(|scheme| value.starts_with(scheme)) {
            let part = Part::url(value);
            let name = value.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
            let part = if name.contains('.') { part.filename(name) } else { part };
            return Ok(media::by_name(name).map_or(part.clone(), |media_type| part.media_type(media_type)));
        }
        if value == "-" {
            let bytes = self.stdin()?;
            let media_type = media::by_content(&bytes);
            return Ok(Part::raw(bytes).media_type(media_type));
        }
        let bytes = self.read(value, "--file")?;
        let name = Path::new(value).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let media_type = media::by_name(&name).unwrap_or_else(|| media::by_content(&bytes));
        Ok(Part::raw(bytes).filename(name).media_type(media_type))
    }

    fn read(&self, path: &str, option: &str) -> Result<Vec<u8>, Trouble> {
        let path = expanded(path, self.context.settings.layers.around.home.as_deref());
        let wrong = |error: std::io::Error| {
            Trouble::usage(format!("{option}: {}", files::unreadable(&path, &error))).hint(files::hint(&path, &error))
        };
        let size = std::fs::metadata(&path).map_err(wrong)?.len();
        if size > self.max_inline {
            let message = format!("{option}: {} has {size} bytes, and {} are sent inline at most", path.display(), self.max_inline);
            return Err(Trouble::usage(message).hint("give a URL instead, or raise --max-inline"));
        }
        std::fs::read(&path).map_err(wrong)
    }

    fn text(&mut self) -> Result<String, Trouble> {
        let text = String::from_utf8(self.stdin()?).map_err(|_| Trouble::usage("stdin is no text").hint("a2a send --file -"))?;
        // The end of the last line is the terminal's, not the message's.
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    fn stdin(&mut self) -> Result<Vec<u8>, Trouble> {
        if std::mem::replace(&mut self.used, true) {
            return Err(Trouble::usage("- stands for stdin, which can be read only once"));
        }
        let mut bytes = Vec::new();
        let limit = self.max_inline.saturating_add(1);
        let read = std::io::stdin().lock().take(limit).read_to_end(&mut bytes);
        read.map_err(|error| Trouble::usage(format!("stdin cannot be read: {error}")))?;
        if bytes.len() as u64 > self.max_inline {
            return Err(Trouble::usage(format!("stdin has more than {} bytes", self.max_inline)).hint("raise --max-inline"));
        }
        Ok(bytes)
    }
}
