//! Ctrl-C and requests to end.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for Ctrl-C or a request to end, and gives the exit code of it.
pub(crate) async fn asked() -> u8 {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => 130,
        _ = terminate.recv() => 143,
    }
}
