//! What goes over the wire, for those who want to see it.

use std::{fmt, sync::Arc, time::Duration};

use chancery_core::{Binding, Operation, Version, security::ApiKeyLocation};
use http::HeaderMap;

use crate::credentials::CredentialKind;

/// Sees everything that a client sends, gets and decides. It is called where that happens, so it must not
/// block; what it keeps it must copy.
///
/// ```
/// use chancery_client::{Client, Observer, Wire};
///
/// struct Log;
///
/// impl Observer for Log {
///     fn see(&self, wire: &Wire<'_>) {
///         match wire {
///             Wire::Request(request) => println!("> {} {} {}", request.method, request.url, String::from_utf8_lossy(request.body)),
///             Wire::Response(response) => println!("< {} {}", response.status, String::from_utf8_lossy(response.body)),
///             Wire::Event(event) => println!("< {}", String::from_utf8_lossy(event.data)),
///             other => println!("{other:?}"),
///         }
///     }
/// }
///
/// let builder = Client::builder().observer(std::sync::Arc::new(Log));
/// ```
pub trait Observer: Send + Sync {
    /// Something happened.
    fn see(&self, wire: &Wire<'_>);
}

/// Something that happened between a client and an agent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Wire<'a> {
    /// An interface of the card was chosen.
    Chosen(Chosen<'a>),
    /// A request is about to be sent.
    Request(WireRequest<'a>),
    /// An answer has come; of a stream, its head.
    Response(WireResponse<'a>),
    /// An element of a stream has come.
    Event(WireEvent<'a>),
    /// Something that a person may want to know.
    Notice(Notice),
}

/// The interface that is used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chosen<'a> {
    /// The version.
    pub version: Version,
    /// The binding.
    pub binding: Binding,
    /// The address.
    pub url: &'a str,
    /// What every request carries; empty when there is nothing.
    pub tenant: &'a str,
    /// Its place among the interfaces of the card, counted from 1; 0 when there is no card.
    pub place: usize,
    /// How many interfaces the card has.
    pub of: usize,
}

/// A request that is about to be sent. Values of headers that are
/// [sensitive](http::HeaderValue::is_sensitive) must not be shown.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireRequest<'a> {
    /// What is asked for; `None` for a card.
    pub operation: Option<Operation>,
    /// The version that is spoken; `None` for a card.
    pub version: Option<Version>,
    /// The binding; HTTP+JSON for a card.
    pub binding: Binding,
    /// The HTTP method; for gRPC the service and its method, as `lf.a2a.v1.A2AService/GetTask`.
    pub method: &'a str,
    /// The URL, without credentials that go into its query.
    pub url: &'a str,
    /// The headers, or the metadata of gRPC.
    pub headers: &'a HeaderMap,
    /// Which credentials go with it, and where.
    pub credentials: &'a [Placement],
    /// The body; for gRPC the message as JSON of its version.
    pub body: &'a [u8],
}

/// Where a credential goes in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placement {
    /// The name of the scheme in the card.
    pub scheme: String,
    /// What kind of credential it is.
    pub kind: CredentialKind,
    /// Whether it is in a header, the query or a cookie.
    pub location: ApiKeyLocation,
    /// The name of the header, the parameter or the cookie.
    pub name: String,
}

/// An answer, or the head of a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WireResponse<'a> {
    /// The HTTP status; for gRPC the one that means the same.
    pub status: u16,
    /// The media type as it came; empty when there was none.
    pub content_type: &'a str,
    /// The headers, or the metadata of gRPC; empty when they are not known.
    pub headers: &'a HeaderMap,
    /// The body; for gRPC the message as JSON of v1.0, or the words of an error. Empty for a stream, whose elements follow.
    pub body: &'a [u8],
}

/// An element of a stream.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WireEvent<'a> {
    /// The id that came with it.
    pub id: Option<&'a str>,
    /// The data as it came; for gRPC the message as JSON of v1.0.
    pub data: &'a [u8],
}

/// Something that a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// The card has no scheme for a credential that is there; it is not sent.
    UnusedCredential(CredentialKind),
    /// Credentials go over a connection that is not encrypted, to a host that is not this one.
    Unencrypted {
        /// The origin they go to.
        origin: String,
    },
    /// Credentials are not shown at an origin that they are not for, and the call is made without them.
    Withheld {
        /// The origin that they are not for.
        origin: String,
    },
    /// A call failed in passing and is made again.
    Retry {
        /// What is asked for.
        operation: Operation,
        /// Which repetition it is, counted from 1.
        attempt: u32,
        /// How long it waits before.
        pause: Duration,
        /// What went wrong.
        reason: String,
    },
    /// Another interface or another version is tried, because the first did not do.
    Fallback {
        /// The version that is tried.
        version: Version,
        /// The binding that is tried.
        binding: Binding,
        /// What was wrong with the first.
        reason: String,
    },
    /// A stream was cut and is asked for again.
    Resubscribe {
        /// Which try it is since the last news, counted from 1.
        attempt: u32,
        /// What went wrong.
        reason: String,
    },
    /// A stream cannot go on; its task is read again and again instead.
    Polling {
        /// What went wrong.
        reason: String,
    },
    /// Credentials were refused and could be renewed; the call is made once more.
    Renewed,
}

/// An observer, if there is one.
#[derive(Clone, Default)]
pub(crate) struct ObserverSlot(pub(crate) Option<Arc<dyn Observer>>);

impl ObserverSlot {
    /// Shows what `make` gives, which is not even made when nobody looks.
    pub(crate) fn see<'a>(&self, make: impl FnOnce() -> Wire<'a>) {
        if let Some(observer) = &self.0 {
            observer.see(&make());
        }
    }

    pub(crate) fn notice(&self, make: impl FnOnce() -> Notice) {
        self.see(|| Wire::Notice(make()));
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for ObserverSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "open" } else { "closed" })
    }
}
