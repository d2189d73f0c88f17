//! HTTP as both JSON bindings use it: one pool of connections, answers of a bounded size.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use chancery_core::{Binding, Error, ErrorKind, Operation, Secret, Version};
use chancery_net::{BodyError, Reach};
use chancery_wire::errors;
use http::{
    HeaderMap, Method,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use url::Url;

use crate::{
    builder::Settings,
    clock,
    failure::Failed,
    observer::{ObserverSlot, Placement, Wire, WireRequest, WireResponse},
    trouble::{Trouble, TroubleKind},
};

/// A pool of connections.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: chancery_net::Client,
    /// Bytes of an answer, and of one frame of a stream.
    pub(crate) limit: usize,
    /// How long a stream may be silent.
    pub(crate) silence: Duration,
    pub(crate) observer: ObserverSlot,
}

/// Everything of a request but its body and where it goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestHead {
    /// What is asked for, in which version and binding; `None` for a card.
    pub(crate) call: Option<(Operation, Version, Binding)>,
    pub(crate) headers: HeaderMap,
    /// Credentials that go into the query.
    pub(crate) query: Vec<(String, Secret)>,
    pub(crate) placed: Vec<Placement>,
    /// The request is shown, and not sent.
    pub(crate) dry: bool,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        Self::reaching(settings, settings.reach())
    }

    /// A pool that connects on this word.
    pub(crate) fn reaching(settings: &Settings, reach: Reach) -> Result<Self, Error> {
        let client = chancery_net::Client::new(reach, &settings.http())?;
        Ok(Self { client, limit: settings.limit, silence: settings.silence, observer: settings.observer.clone() })
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn exchange(&self, method: Method, url: &str, head: RequestHead, body: Option<Bytes>) -> Result<Exchange, Failed> {
        self.observer.see(|| {
            Wire::Request(WireRequest {
                operation: head.call.map(|(operation, ..)| operation),
                version: head.call.map(|(_, version, _)| version),
                binding: head.call.map_or(Binding::HttpJson, |(_, _, binding)| binding),
                method: method.as_str(),
                url,
                headers: &head.headers,
                credentials: &head.placed,
                body: body.as_deref().unwrap_or_default(),
            })
        });
        if head.dry {
            return Err(dry_run());
        }
        let mut url = Url::parse(url).map_err(no_url)?;
        if !head.query.is_empty() {
            let secrets = head.query.iter().map(|(name, secret)| (name, secret.expose()));
            url.query_pairs_mut().extend_pairs(secrets);
        }
        let mut request = self.client.request_url(method, url).map_err(Failed::unreachable)?.headers(head.headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        // Errors show the URL, which may hold a credential.
        match request.send().await.map_err(reqwest::Error::without_url) {
            Ok(response) => Ok(Exchange { response, observer: self.observer.clone() }),
            Err(error) if error.is_builder() => Err(no_url(error)),
            Err(error) if error.is_connect() => Err(Failed::unreachable(error)),
            Err(error) => Err(Failed::cut(error)),
        }
    }
}

/// The request was shown, and that is all.
pub(crate) fn dry_run() -> Failed {
    Failed::here(Error::new(ErrorKind::Unavailable, "nothing was sent, as wanted").caused_by(Trouble::new(TroubleKind::DryRun)))
}

fn no_url(source: impl Into<chancery_core::BoxError>) -> Failed {
    Error::new(ErrorKind::InvalidParams, "the agent's address is no URL that can be called").caused_by(source).into()
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) response: reqwest::Response,
    observer: ObserverSlot,
}

impl Exchange {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// The media type without its parameters, in lower case; empty when there is none.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.is_success() && self.media_type() == "text/event-stream"
    }

    /// The text of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// After how long the peer wants to be asked again, if it said so.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER.as_str()).and_then(|text| retry_after(text, clock::now()))
    }

    /// Shows the answer to whoever looks.
    pub(crate) fn show(&self, body: &[u8]) {
        self.observer.see(|| {
            let content_type = self.header(CONTENT_TYPE.as_str()).unwrap_or_default();
            Wire::Response(WireResponse { status: self.status(), content_type, headers: self.response.headers(), body })
        });
    }

    /// Reads the whole body, if it is not larger than `limit`.
    pub(crate) async fn read(mut self, limit: usize) -> Result<Bytes, Failed> {
        let body = chancery_net::read_body(&mut self.response, limit).await.map_err(|error| match error {
            BodyError::Broken(error) => Failed::cut(error),
            _ => Failed::garbage(format!("the agent's answer is larger than {limit} bytes")),
        })?;
        self.show(&body);
        Ok(body.into())
    }
}

/// How long `Retry-After` asks to wait: a number of seconds, or a date.
pub(crate) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = httpdate::parse_http_date(text).ok()?;
    Some(at.duration_since(now).unwrap_or_default())
}

/// Says how an error that came with an HTTP status is to be taken: some versions have no words for
/// "later" and "not you", and the status says it.
pub(crate) fn with_status(status: u16, error: Error, retry_after: Option<Duration>) -> Failed {
    let meant = errors::kind_of_http_status(status);
    let error = match (error.kind(), status) {
        (ErrorKind::Internal, 401 | 403 | 429 | 503) => {
            let told = Error::new(meant, error.message()).violations_from(error.violations().iter().cloned());
            error.metadata().iter().fold(told, |told, (key, value)| told.with(key, value))
        }
        _ => error,
    };
    match (status, error.kind()) {
        (429 | 503, _) => Failed::busy(error, status, retry_after),
        (401 | 403, _) => Failed::refused(error, status),
        (_, ErrorKind::Unauthenticated) => Failed::refused(error, 401),
        (_, ErrorKind::PermissionDenied) => Failed::refused(error, 403),
        _ => error.into(),
    }
}

/// As [`with_status`], for an answer that holds no error of the protocol: the status is all there is.
pub(crate) fn bare_status(status: u16, error: Error, retry_after: Option<Duration>) -> Failed {
    let failed = with_status(status, error, retry_after);
    if Trouble::of(&failed.error).is_some() {
        return failed;
    }
    failed.error.caused_by(Trouble::new(TroubleKind::Status).with_status(status)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:07 GMT").unwrap();
        for (text, seconds) in [
            ("0", Some(0)),
            (" 7 ", Some(7)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(30)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now), seconds.map(Duration::from_secs), "{text:?}");
        }
    }
}
