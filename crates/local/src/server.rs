//! Servers on the loopback interface. A server stops on request or when dropped.
use std::{io, net::Ipv4Addr, net::SocketAddr, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

// Maximum time that the stop waits for running requests.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bound port of the loopback interface.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Port {
    /// Binds the port. 0 selects any free port.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }
}

/// Server that runs in its own task.
pub(crate) struct Server {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server. The receiver resolves when the server must stop, or when `Server` is
    /// dropped.
    pub(crate) fn start<F>(serve: impl FnOnce(oneshot::Receiver<()>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(serve(stopped)) }
    }

    /// Serves the routes on the port. `what` names the endpoint in log entries.
    pub(crate) fn serve(port: Port, router: Router, what: &'static str) -> Self {
        Self::start(move |stopped| async move {
            let served = axum::serve(port.listener, router).with_graceful_shutdown(async {
                let _ = stopped.await;
            });
            if let Err(error) = served.await {
                tracing::error!(%error, what, "an endpoint stopped");
            }
        })
    }

    /// Stops the server. Idle connections are closed immediately, and running requests after at
    /// most a second.
    pub(crate) async fn stop(mut self) {
        drop(self.stop);
        if timeout(PATIENCE, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
