//! Counts what happens, and tells it in the text format of Prometheus.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use chancery_core::{Binding, ErrorKind, Operation, Version};

/// The upper bounds of the time that requests took, in seconds.
const BOUNDS: [f64; 10] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 300.0];
const OPERATIONS: [Operation; 11] = Operation::ALL;
const VERSIONS: [Version; 5] = Version::ALL;
const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

/// What the router counts.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Answered requests: by version, binding, operation, and whether the answer was an error.
    answered: [[[[AtomicU64; 2]; 11]; 3]; 5],
    /// How long they took, by operation.
    times: [Times; 11],
    /// Requests that were refused before they had an operation.
    refused: AtomicU64,
    /// Requests whose caller was not known, and those whose caller was not allowed.
    denied: [AtomicU64; 2],
    /// Errors that were our fault.
    faults: AtomicU64,
    connections: AtomicU64,
}

#[derive(Debug, Default)]
struct Times {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

impl Meter {
    /// Counts an answer; that of a stream is its beginning.
    pub(crate) fn answered(&self, version: Version, binding: Binding, operation: Operation, error: Option<ErrorKind>, took: Duration) {
        let place = |found: Option<usize>| found.unwrap_or_default();
        let operation = place(OPERATIONS.iter().position(|known| *known == operation));
        let version = place(VERSIONS.iter().position(|known| *known == version));
        let binding = place(BINDINGS.iter().position(|known| *known == binding));
        add(&self.answered[version][binding][operation][usize::from(error.is_some())], 1);
        if matches!(error, Some(ErrorKind::Internal | ErrorKind::InvalidAgentResponse)) {
            add(&self.faults, 1);
        }
        let times = &self.times[operation];
        if let Some(bucket) = BOUNDS.iter().position(|bound| took.as_secs_f64() <= *bound) {
            add(&times.buckets[bucket], 1);
        }
        add(&times.count, 1);
        add(&times.micros, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    }

    /// Counts a request that never came to an operation.
    pub(crate) fn refused(&self) {
        add(&self.refused, 1);
    }

    /// Counts a request whose caller was not let in.
    pub(crate) fn denied(&self, kind: ErrorKind) {
        add(&self.denied[usize::from(kind == ErrorKind::PermissionDenied)], 1);
    }

    /// Counts a connection.
    pub(crate) fn connected(&self) {
        add(&self.connections, 1);
    }

    /// Everything, for a scraper.
    pub(crate) fn text(&self, requests: usize, streams: usize) -> String {
        let mut text = String::new();
        head(&mut text, "a2a_requests_total", "counter", "Answered requests.");
        for (v, version) in VERSIONS.iter().enumerate() {
            for (b, binding) in BINDINGS.iter().enumerate() {
                for (o, operation) in OPERATIONS.iter().enumerate() {
                    for (e, outcome) in ["ok", "error"].iter().enumerate() {
                        let count = read(&self.answered[v][b][o][e]);
                        if count > 0 {
                            let labels = format!(
                                "operation=\"{}\",version=\"{version}\",binding=\"{binding}\",outcome=\"{outcome}\"",
                                operation.name()
                            );
                            line(&mut text, "a2a_requests_total", &labels, count);
                        }
                    }
                }
            }
        }
        head(&mut text, "a2a_request_seconds", "histogram", "How long requests took; of streams, until they began.");
        for (times, operation) in self.times.iter().zip(OPERATIONS).filter(|(times, _)| read(&times.count) > 0) {
            let operation = operation.name();
            let mut below = 0;
            for (bucket, bound) in times.buckets.iter().zip(BOUNDS) {
                below += read(bucket);
                line(&mut text, "a2a_request_seconds_bucket", &format!("operation=\"{operation}\",le=\"{bound}\""), below);
            }
            let count = read(&times.count);
            line(&mut text, "a2a_request_seconds_bucket", &format!("operation=\"{operation}\",le=\"+Inf\""), count);
            let seconds = Duration::from_micros(read(&times.micros)).as_secs_f64();
            line(&mut text, "a2a_request_seconds_sum", &format!("operation=\"{operation}\""), seconds);
            line(&mut text, "a2a_request_seconds_count", &format!("operation=\"{operation}\""), count);
        }
        head(&mut text, "a2a_denied_total", "counter", "Requests whose caller was not let in.");
        for (count, reason) in self.denied.iter().zip(["unknown", "not_allowed"]) {
            line(&mut text, "a2a_denied_total", &format!("reason=\"{reason}\""), read(count));
        }
        for (name, kind, help, value) in [
            ("a2a_refused_total", "counter", "Requests that were refused before they had an operation.", read(&self.refused)),
            ("a2a_faults_total", "counter", "Errors that were the server's or the agent's fault.", read(&self.faults)),
            ("a2a_connections_total", "counter", "Connections that were accepted.", read(&self.connections)),
            ("a2a_requests_under_way", "gauge", "Requests under way.", requests as u64),
            ("a2a_streams_open", "gauge", "Streams that are open.", streams as u64),
        ] {
            head(&mut text, name, kind, help);
            line(&mut text, name, "", value);
        }
        text
    }
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
}

fn line(text: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    text.push_str(&format!("{name}{labels} {value}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scraper_reads_what_was_counted() {
        let meter = Meter::default();
        let took = Duration::from_millis(7);
        meter.answered(Version::V0_3, Binding::Grpc, Operation::GetTask, None, took);
        meter.answered(Version::V0_3, Binding::Grpc, Operation::GetTask, Some(ErrorKind::TaskNotFound), took);
        let text = meter.text(3, 2);
        for expected in [
            "a2a_requests_total{operation=\"GetTask\",version=\"0.3\",binding=\"GRPC\",outcome=\"ok\"} 1\n",
            "a2a_requests_total{operation=\"GetTask\",version=\"0.3\",binding=\"GRPC\",outcome=\"error\"} 1\n",
            "a2a_request_seconds_bucket{operation=\"GetTask\",le=\"0.005\"} 0\n",
            "a2a_request_seconds_bucket{operation=\"GetTask\",le=\"0.01\"} 2\n",
            "a2a_request_seconds_bucket{operation=\"GetTask\",le=\"+Inf\"} 2\n",
            "a2a_request_seconds_sum{operation=\"GetTask\"} 0.014\n",
            "a2a_faults_total 0\n",
            "a2a_requests_under_way 3\n",
            "a2a_streams_open 2\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }
}
