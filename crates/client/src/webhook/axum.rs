//! Notifications as an extractor of axum.
//!
//! ```no_run
//! use axum::{Router, http::StatusCode, routing::post};
//! use chancery_client::webhook::{Notification, Receiver};
//!
//! async fn hook(notification: Notification) -> StatusCode {
//!     println!("{}: {:?}", notification.task_id(), notification.event.state());
//!     StatusCode::NO_CONTENT
//! }
//!
//! # fn run() -> chancery_core::Result<()> {
//! let receiver = Receiver::new().token("a secret").signed_by("https://agent.example.com")?;
//! let router: Router = Router::new().route("/hook", post(hook)).with_state(receiver);
//! # Ok(()) }
//! ```

use axum::{
    body::to_bytes,
    extract::{FromRef, FromRequest, Request},
    response::{IntoResponse, Response},
};

use super::{Notification, Receiver, Rejection};

/// A notification that was checked, and was not here before. What is refused, or was here before, does not reach
/// the handler. A handler that fails calls [`Receiver::forget`], so that the repetition reaches it.
impl<S> FromRequest<S> for Notification
where
    S: Send + Sync,
    Receiver: FromRef<S>,
{
    type Rejection = Rejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, Rejection> {
        let receiver = Receiver::from_ref(state);
        let (head, body) = request.into_parts();
        let body = to_bytes(body, receiver.0.limit).await.map_err(|_| Rejection::TooLarge)?;
        receiver.receive(&head.headers, &body).await
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        self.status().into_response()
    }
}
