//! A listener on loopback whose server stops when asked, or when it is dropped.
use std::{io, net::Ipv4Addr, net::SocketAddr, time::Duration};

use axum::Router;
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle, time::timeout};

// A request that is still running holds the end of its server no longer than this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bound port of this machine's loopback interface.
pub(crate) struct Port {
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
}

impl Port {
    /// Binds the port, or any free one for 0.
    pub(crate) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }
}

/// A server in a task of its own.
pub(crate) struct Server {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server that ends after the future that it is given; dropping the `Server` ends that one too.
    pub(crate) fn start<F>(serve: impl FnOnce(oneshot::Receiver<()>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, stopped) = oneshot::channel();
        Self { stop, task: tokio::spawn(serve(stopped)) }
    }

    /// Serves the routes on the port; `what` is what a log line calls the endpoint.
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

    /// Stops it: idle connections at once, running requests within a second.
    pub(crate) async fn stop(mut self) {
        drop(self.stop);
        if timeout(PATIENCE, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}
