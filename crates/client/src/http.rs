//! HTTP as both JSON bindings use it: one pool of connections, answers of a bounded size.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use chancery_core::{Error, ErrorKind};
use chancery_wire::errors;
use http::{
    HeaderMap, Method,
    header::{CONTENT_TYPE, RETRY_AFTER},
};

use crate::{builder::Settings, failure::Failed};

/// A pool of connections.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    /// Bytes of an answer, and of one frame of a stream.
    pub(crate) limit: usize,
    /// How long a stream may be silent.
    pub(crate) silence: Duration,
}

impl Http {
    pub(crate) fn new(settings: &Settings) -> Result<Self, Error> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("chancery/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(settings.connect_timeout)
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(30))
            // A redirected call may arrive as another one; whoever follows does it knowingly.
            .redirect(reqwest::redirect::Policy::none())
            // Retries are decided where it is known what may be repeated.
            .retry(reqwest::retry::never())
            .build()
            .map_err(Error::internal)?;
        Ok(Self { client, limit: settings.limit, silence: settings.silence })
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn exchange(&self, method: Method, url: &str, headers: HeaderMap, body: Option<Bytes>) -> Result<Exchange, Failed> {
        let mut request = self.client.request(method, url).headers(headers);
        if let Some(body) = body {
            request = request.body(body);
        }
        match request.send().await {
            Ok(response) => Ok(Exchange { response }),
            Err(error) if error.is_builder() => {
                Err(Error::new(ErrorKind::InvalidParams, "the agent's address is no URL that can be called").caused_by(error).into())
            }
            Err(error) if error.is_connect() => Err(Failed::unreachable(error)),
            Err(error) => Err(Failed::cut(error)),
        }
    }
}

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) response: reqwest::Response,
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

    /// When the peer wants to be asked again, if it gave a number of seconds.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.header(RETRY_AFTER.as_str()).and_then(|text| text.trim().parse().ok()).map(Duration::from_secs)
    }

    /// Reads the whole body, if it is not larger than `limit`.
    pub(crate) async fn read(mut self, limit: usize) -> Result<Bytes, Failed> {
        let too_large = || Failed::garbage(format!("the agent's answer is larger than {limit} bytes"));
        if self.response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        while let Some(piece) = self.response.chunk().await.map_err(Failed::cut)? {
            if body.len() + piece.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }
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
    match status {
        429 | 503 => Failed::busy(error, retry_after),
        _ => error.into(),
    }
}
