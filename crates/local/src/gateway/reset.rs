//! Requests to reset the data of the stack, which pass from the gateway to the stack.
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{
    Mutex,
    mpsc::{self, Receiver, Sender},
    oneshot,
};

/// Receives the number of deleted items, or the error.
pub(crate) type Reset = oneshot::Sender<Result<usize, String>>;

/// The waiting requests. A stack that does not look for them refuses them.
pub(crate) struct Resets {
    sender: Sender<Reset>,
    receiver: Mutex<Receiver<Reset>>,
    is_served: AtomicBool,
}

impl Default for Resets {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        Self { sender, receiver: Mutex::new(receiver), is_served: AtomicBool::new(false) }
    }
}

impl Resets {
    /// Waits for a request.
    pub(crate) async fn next(&self) -> Option<Reset> {
        self.is_served.store(true, Ordering::Relaxed);
        self.receiver.lock().await.recv().await
    }

    /// Asks the stack to reset its data.
    pub(super) async fn ask(&self) -> Result<usize, String> {
        let none = || "This stack has no sample data.".to_owned();
        let (reset, done) = oneshot::channel();
        if !self.is_served.load(Ordering::Relaxed) || self.sender.send(reset).await.is_err() {
            return Err(none());
        }
        done.await.unwrap_or_else(|_| Err(none()))
    }
}
