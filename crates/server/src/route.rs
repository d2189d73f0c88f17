//! Extra routes: paths that are no agent's, answered by a handler of whoever runs the server.

use std::{pin::Pin, sync::Arc};

use chancery_core::Bytes;
use http::{Request, Response};

type Answering = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// What answers at a path and below it.
#[derive(Clone)]
pub(crate) struct Route {
    /// `/` and a name.
    path: String,
    answer: Arc<dyn Fn(Request<Bytes>) -> Answering + Send + Sync>,
}

impl Route {
    pub(crate) fn new<F, A>(path: String, answer: F) -> Self
    where
        F: Fn(Request<Bytes>) -> A + Send + Sync + 'static,
        A: Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self { path, answer: Arc::new(move |request| Box::pin(answer(request))) }
    }

    /// Whether a path is this one or below it.
    pub(crate) fn holds(&self, path: &str) -> bool {
        path.strip_prefix(self.path.as_str()).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    pub(crate) fn answer(&self, request: Request<Bytes>) -> Answering {
        (self.answer)(request)
    }
}
