//! An HTTP server that notes what comes.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    task::{AbortHandle, JoinSet},
};

/// It ends, with its connections, when it is dropped.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<HeaderMap>>>,
    accepting: AbortHandle,
}

impl Receiver {
    pub(crate) async fn start(answer: impl Fn() -> Response<Full<Bytes>> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, seen) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<HeaderMap>>>::default());
        let (noted, answer) = (seen.clone(), Arc::new(answer));
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (noted, answer) = (noted.clone(), answer.clone());
                connections.spawn(async move {
                    let service = service_fn(|request: http::Request<hyper::body::Incoming>| {
                        noted.lock().unwrap().push(request.headers().clone());
                        std::future::ready(Ok::<_, Infallible>(answer()))
                    });
                    // A client that goes away is no failure of the test.
                    drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await);
                });
            }
        });
        Self { address, seen, accepting: accepting.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The headers of each request.
    pub(crate) fn seen(&self) -> Vec<HeaderMap> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)]) -> Response<Full<Bytes>> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(Bytes::from_static(b"{}"))).unwrap()
}
