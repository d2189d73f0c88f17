//! gRPC in a build without the feature `grpc`: a transport that cannot be made.

use chancery_core::{Error, ErrorKind, Reply, Request, Version};
use chancery_wire::StreamMemory;
use tokio::time::Instant;

use crate::{builder::Settings, failure::Failed, http::RequestHead, source::Source};

/// No transport: there is none of its kind.
#[derive(Debug)]
pub(crate) enum Grpc {}

impl Grpc {
    pub(crate) fn new(_: &Settings, _: &str, _: Version) -> Result<Self, Error> {
        Err(Error::new(ErrorKind::UnsupportedOperation, "this client has no gRPC: build with the feature `grpc`, or use another binding"))
    }

    pub(crate) fn origin(&self) -> String {
        match *self {}
    }

    pub(crate) async fn reply(&self, _: &Request, _: RequestHead, _: Instant) -> Result<Reply, Failed> {
        match *self {}
    }

    pub(crate) async fn events(&self, _: &Request, _: RequestHead, _: StreamMemory) -> Result<Source, Failed> {
        match *self {}
    }
}
