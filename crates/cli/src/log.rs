//! The log on stderr: a line for each request, and whatever else happens.

use std::{collections::BTreeMap, fmt};

use chancery_engine::clock::{Clock as _, SystemClock};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer as _,
    filter::Targets,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer, time::FormatTime},
    layer::SubscriberExt as _,
    registry::LookupSpan,
    util::SubscriberInitExt as _,
};

/// Starts the log of this process.
pub(crate) fn start(json: bool, level: Level) {
    // What other crates say is of interest to those who ask for more.
    let others = if level >= Level::DEBUG { level } else { Level::WARN };
    let mut targets = Targets::new().with_default(others);
    // A target is a prefix: every crate of this workspace.
    for own in ["a2a", "chancery"] {
        targets = targets.with_target(own, level);
    }
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let layer = if json { layer.json().flatten_event(true).boxed() } else { layer.event_format(Lines).boxed() };
    // A second log in one process is refused, and the first one goes on.
    drop(tracing_subscriber::registry().with(layer.with_filter(targets)).try_init());
}

/// `12:04:31 demo SendMessage JSONRPC 1.0 task=0192f3c4 COMPLETED 4ms`
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut fields = Fields::default();
        event.record(&mut fields);
        Clock.format_time(&mut line)?;
        let message = fields.take("message");
        if matches!(message.as_str(), "answered" | "refused" | "failed") && fields.0.contains_key("op") {
            for field in ["agent", "op", "binding", "version"] {
                write!(line, " {}", fields.take(field))?;
            }
            if let Some(task) = fields.0.remove("task") {
                write!(line, " task={task}")?;
            }
            if let Some(state) = fields.0.remove("state") {
                write!(line, " {}", state.strip_prefix("TASK_STATE_").unwrap_or(&state))?;
            }
            write!(line, " {}", rounded(&fields.take("took")))?;
            if let Some(error) = fields.0.remove("error") {
                write!(line, " {message}: {error}")?;
            }
        } else {
            if *event.metadata().level() != Level::INFO {
                write!(line, " {}", event.metadata().level().as_str().to_lowercase())?;
            }
            write!(line, " {message}")?;
        }
        for (name, value) in &fields.0 {
            write!(line, " {name}={value}")?;
        }
        writeln!(line)
    }
}

/// `1.518574ms` is `1.5ms` for people.
fn rounded(took: &str) -> String {
    let unit = took.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(took.len());
    let (number, unit) = took.split_at(unit);
    number.parse::<f64>().map_or_else(|_| took.to_owned(), |number| format!("{}{unit}", (number * 10.0).round() / 10.0))
}

/// The fields of an event, as text.
#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Fields {
    fn take(&mut self, name: &str) -> String {
        self.0.remove(name).unwrap_or_default()
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

/// The time of day, UTC.
struct Clock;

impl FormatTime for Clock {
    fn format_time(&self, line: &mut Writer<'_>) -> fmt::Result {
        let second = SystemClock.now().unix().0.rem_euclid(86_400);
        write!(line, "{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn times_are_short() {
        for (took, short) in [("1.518574ms", "1.5ms"), ("2ms", "2ms"), ("13.04s", "13s"), ("812.4µs", "812.4µs"), ("", "")] {
            assert_eq!(rounded(took), short);
        }
    }
}
