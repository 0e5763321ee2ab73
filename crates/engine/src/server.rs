//! HTTP servers, by default on the loopback interface. Every listener of the stack is one of these
//! servers, so all listeners have the same guard, the same limits and the same protocols: HTTP/1.1,
//! and HTTP/2 with prior knowledge (docs/decisions/local-security.md).
mod cors;
mod guard;

use std::{
    convert::Infallible,
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    body::{Body, BodyDataStream, Bytes, HttpBody},
    extract::Request,
    response::Response,
};
use futures::{StreamExt, future::BoxFuture, stream};
use http::{HeaderValue, StatusCode, header, request::Parts};
use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde_json::Value;
use tokio::{
    net::{TcpListener, TcpStream},
    pin,
    sync::{oneshot, watch},
    task::{JoinHandle, JoinSet, yield_now},
    time::{sleep, timeout},
};
use tower::{Layer, ServiceExt};

pub use cors::cors;
pub use guard::Origins;
pub use tower_http::cors::CorsLayer;

/// Maximum time to wait for a complete request.
pub const PATIENCE: Duration = Duration::from_secs(30);
// Maximum time that the stop waits for running requests.
const LAST_REQUESTS: Duration = Duration::from_secs(1);
// Pause after a failed accept, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
// If the server responded before it has read the whole body, the client would see a broken
// connection. The server therefore reads and discards the rest of a body that is too large.
const DISCARD_FACTOR: usize = 8;

/// Service behind a server.
pub trait Endpoint: Send + Sync + 'static {
    /// Maximum size of a request body in bytes.
    const MAX_BODY: usize;
    /// Web pages that may send requests.
    const ORIGINS: Origins;

    /// What web pages of another origin on this machine may do with this request. `None` if the
    /// template allows none.
    fn pages(&self, _: &Parts) -> Option<&CorsLayer> {
        None
    }

    /// Responds to a complete request from this machine.
    fn answer(&self, request: Received) -> impl Future<Output = Response> + Send;

    /// Whether [`Endpoint::receive`] reads the body of this request while it arrives. The body may
    /// then have any size.
    fn streams(_: &Parts) -> bool {
        false
    }

    /// Responds to a request of this machine whose body is still arriving.
    fn receive(&self, _: Parts, _: Arriving) -> impl Future<Output = Response> + Send {
        async { Self::refuse(Refusal::TooLarge) }
    }

    /// Response to a request that the server rejects, in the format of the endpoint.
    fn refuse(refusal: Refusal) -> Response;
}

/// Body that is still arriving. Each part must arrive within the patience of the server.
pub struct Arriving {
    parts: BodyDataStream,
    patience: Duration,
    has_failed: bool,
}

impl Arriving {
    /// A body that has arrived.
    pub fn of(body: Body) -> Self {
        Self::within(PATIENCE, body)
    }

    fn within(patience: Duration, body: Body) -> Self {
        Self { parts: body.into_data_stream(), patience, has_failed: false }
    }

    /// Returns the next part, or `None` at the end of the body. A failure ends the body, so that
    /// nobody waits a second time for a part that does not arrive.
    pub async fn next(&mut self) -> Option<Result<Bytes, Refusal>> {
        if self.has_failed {
            return None;
        }
        let part = match timeout(self.patience, self.parts.next()).await {
            Ok(part) => part?.map_err(|_| Refusal::Malformed("The body is not complete.")),
            Err(_) => Err(Refusal::Incomplete),
        };
        self.has_failed = part.is_err();
        Some(part)
    }

    /// Discards the rest of the body, for at most the patience of the server. If a response came
    /// before the end of the body, the client would see a broken connection.
    pub async fn discard(&mut self) {
        let _ = timeout(self.patience, async { while let Some(Ok(_)) = self.next().await {} }).await;
    }
}

/// Complete request from this machine.
pub struct Received {
    /// The address of the client.
    pub peer: SocketAddr,
    /// Method, path and headers.
    pub parts: Parts,
    /// The body.
    pub body: Bytes,
}

/// Reason for which the server rejects a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request comes from a web page, or names another host.
    Foreign(&'static str),
    /// The request is not valid HTTP.
    Malformed(&'static str),
    /// The request did not arrive within the patience of the server.
    Incomplete,
    /// The body is larger than the endpoint allows.
    TooLarge,
    /// The request line and the headers are too large.
    LargeHead,
}

impl Refusal {
    /// The status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Foreign(_) => StatusCode::FORBIDDEN,
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Incomplete => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::LargeHead => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }

    /// One sentence for the client.
    pub fn detail(self) -> &'static str {
        match self {
            Self::Foreign(detail) | Self::Malformed(detail) => detail,
            Self::Incomplete => "The body did not arrive in time.",
            Self::TooLarge => "The body is too large.",
            Self::LargeHead => "The request line and the headers have more than 10,240 bytes.",
        }
    }
}

/// Bound port.
pub struct Port {
    pub(crate) listener: TcpListener,
    /// The bound address.
    pub address: SocketAddr,
    /// Host names that requests may contain, in addition to those of the loopback interface.
    hosts: Vec<String>,
}

impl Port {
    /// Binds the port of the loopback interface. 0 selects any free port.
    pub async fn bind(port: u16) -> io::Result<Self> {
        Self::bind_at(Ipv4Addr::LOCALHOST.into(), port).await
    }

    /// Binds the port of another interface.
    pub async fn bind_at(address: IpAddr, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((address, port)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, hosts: Vec::new() })
    }

    /// Accepts requests with these host names as well.
    pub fn with_hosts(self, hosts: Vec<String>) -> Self {
        Self { hosts, ..self }
    }
}

/// Calls a server of this process without a connection.
#[derive(Clone)]
pub struct Near(Arc<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>);

impl Near {
    fn of<E: Endpoint>(service: Service<E>) -> Self {
        Self(Arc::new(move |request| {
            let service = service.clone();
            Box::pin(async move { service.respond((Ipv4Addr::LOCALHOST, 0).into(), request).await })
        }))
    }

    /// Sends a request, whose URI or header `Host` names the host.
    pub async fn send(&self, request: Request) -> Response {
        // As over a connection, the caller can end before the request arrives, and before the
        // response does.
        yield_now().await;
        let response = (self.0)(request).await;
        yield_now().await;
        response
    }
}

impl fmt::Debug for Near {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Near")
    }
}

/// Server that runs in its own task. It stops on request or when dropped.
pub struct Server {
    /// Calls the server without a connection.
    pub near: Near,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves the endpoint on the port. A connection without a running request is closed after
    /// `patience`, and so is a request whose body does not arrive within `patience`.
    pub fn start<E: Endpoint>(port: Port, endpoint: Arc<E>, patience: Duration) -> Self {
        let (stop, stopped) = oneshot::channel();
        let Port { listener, hosts, .. } = port;
        let service = Service { endpoint, hosts: hosts.into(), patience };
        let near = Near::of(service.clone());
        Self { near, stop, task: tokio::spawn(accept(listener, service, stopped)) }
    }

    /// Stops the server. Idle connections are closed immediately, and running requests after at
    /// most a second.
    pub async fn stop(mut self) {
        drop(self.stop);
        if timeout(LAST_REQUESTS, &mut self.task).await.is_err() {
            // This also ends the tasks of the connections.
            self.task.abort();
            let _ = self.task.await;
        }
    }
}

async fn accept<E: Endpoint>(listener: TcpListener, service: Service<E>, mut stopped: oneshot::Receiver<()>) {
    let (stop, stopping) = watch::channel(());
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection(stream, peer, service.clone(), stopping.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection can't be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
            _ = &mut stopped => break,
        }
    }
    drop((listener, stop));
    while connections.join_next().await.is_some() {}
}

/// Endpoint of a server with the limits of the server.
struct Service<E> {
    endpoint: Arc<E>,
    hosts: Arc<[String]>,
    patience: Duration,
}

impl<E> Clone for Service<E> {
    fn clone(&self) -> Self {
        Self { endpoint: Arc::clone(&self.endpoint), hosts: Arc::clone(&self.hosts), patience: self.patience }
    }
}

async fn connection<E: Endpoint>(
    stream: TcpStream,
    peer: SocketAddr,
    service: Service<E>,
    mut stopping: watch::Receiver<()>,
) {
    // Only an optimisation, so an error does not matter.
    let _ = stream.set_nodelay(true);
    let (count, mut running) = watch::channel(0);
    let (count, patience) = (Arc::new(count), service.patience);
    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
        let (service, running) = (service.clone(), Running::new(&count));
        async move {
            let response = service.respond(peer, request.map(Body::new)).await;
            Ok::<_, Infallible>(response.map(|body| running.until_sent(body)))
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    // A client may close its side of the connection after its request.
    builder.http1().half_close(true);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = idle(&mut running, patience) => return,
        _ = stopping.changed() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        _ = connection => {}
        () = idle(&mut running, patience) => {}
    }
}

/// Counts a running request of a connection.
struct Running(Arc<watch::Sender<usize>>);

impl Running {
    fn new(count: &Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(Arc::clone(count))
    }

    /// Counts the request as running until the client has read a body that is streamed.
    fn until_sent(self, body: Body) -> Body {
        if body.size_hint().exact().is_some() {
            return body;
        }
        let parts = stream::unfold((body.into_data_stream(), self), |(mut parts, running)| async {
            parts.next().await.map(|part| (part, (parts, running)))
        });
        Body::from_stream(parts)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Returns when the connection has had no running request for this time. This covers idle
/// connections and requests whose head is incomplete, in both protocols.
async fn idle(running: &mut watch::Receiver<usize>, patience: Duration) {
    loop {
        let waited = running.wait_for(|count| *count == 0).await.is_ok();
        if !waited || timeout(patience, running.changed()).await.is_err() {
            return;
        }
    }
}

impl<E: Endpoint> Service<E> {
    async fn respond(&self, peer: SocketAddr, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        let pages = self.endpoint.pages(&parts).cloned();
        let origins = if pages.is_some() { Origins::Loopback } else { E::ORIGINS };
        if let Err(refusal) = guard::check(&mut parts, origins, &self.hosts) {
            return E::refuse(refusal);
        }
        let Some(pages) = pages else { return self.pass(peer, parts, body).await };
        let pass = tower::service_fn(|request: Request| async move {
            let (parts, body) = request.into_parts();
            Ok::<_, Infallible>(self.pass(peer, parts, body).await)
        });
        match pages.layer(pass).oneshot(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    async fn pass(&self, peer: SocketAddr, parts: Parts, body: Body) -> Response {
        if E::streams(&parts) {
            let body = Arriving::within(self.patience, body);
            return self.endpoint.receive(parts, body).await;
        }
        match timeout(self.patience, read(body, E::MAX_BODY)).await.unwrap_or(Err(Refusal::Incomplete)) {
            Ok(body) => self.endpoint.answer(Received { peer, parts, body }).await,
            Err(refusal) => E::refuse(refusal),
        }
    }
}

async fn read(body: Body, most: usize) -> Result<Bytes, Refusal> {
    let (mut chunks, mut kept, mut seen) = (body.into_data_stream(), Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Refusal::Malformed("The body is not complete."))?;
        seen = seen.saturating_add(chunk.len());
        if seen > most.saturating_mul(DISCARD_FACTOR) {
            break;
        }
        if seen <= most {
            kept.extend_from_slice(&chunk);
        }
    }
    if seen <= most { Ok(kept.into()) } else { Err(Refusal::TooLarge) }
}

/// Response with a JSON body. The body ends with a newline, so that the prompt of a terminal starts
/// a line.
pub fn json_response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(format!("{body}\n")));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests;
