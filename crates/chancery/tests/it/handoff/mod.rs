//! Tasks that go from agent to agent, each in a process of its own with its own data, over real connections. A proxy holds
//! messages back where a test needs a certain moment.

mod canceled;
mod delegated;
mod dialect;
mod follow;
mod killed;
mod process;
mod proxy;
mod ways;

use process::{Folder, Process, Setup, Visitor};
use proxy::Proxy;

/// Agent A, and agent B behind a proxy.
struct Pair {
    a: Process,
    b: Process,
    proxy: Proxy,
    /// Goes away after the processes.
    folder: Folder,
}

impl Pair {
    async fn start() -> Self {
        Self::with(|b| b).await
    }

    /// With a B that is set up in another way.
    async fn with(set_up: impl FnOnce(Setup) -> Setup) -> Self {
        let (folder, proxy) = (Folder::new(), Proxy::start().await);
        let b = set_up(Setup::new(folder.path("b")).public_url(&proxy.url)).start().await;
        proxy.lead_to(b.address);
        let a = Setup::new(folder.path("a")).start().await;
        Self { a, b, proxy, folder }
    }

    /// Words by which A hands these over to B.
    fn to_b(&self, words: &str) -> String {
        format!("to {} {words}", self.b.url)
    }

    /// Somebody who calls B past the proxy.
    async fn b_directly(&self) -> Visitor {
        Visitor::past(&self.b).await
    }

    /// The folder of one of the agents.
    fn folder(&self, name: &str) -> std::path::PathBuf {
        self.folder.path(name)
    }
}
