//! Faults of execution environments: an invocation that is killed or frozen at one of its calls.
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::Serialize;
use tokio::{sync::Notify, time::Instant};

/// A fault that was injected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Injected {
    /// Name of the rate.
    pub fault: &'static str,
    /// What happened.
    pub detail: String,
}

/// Faults of one call, or of one event.
pub type Notes = Arc<Mutex<Vec<Injected>>>;

tokio::task_local! {
    static RUN: Arc<Run>;
    static NOTES: Notes;
}

/// A running invocation whose environment can fail.
#[derive(Debug)]
pub struct Run {
    /// The end of the invocation.
    deadline: Instant,
    killed: Notify,
    frozen: AtomicBool,
}

impl Run {
    /// Starts an invocation with this timeout.
    pub fn start(timeout: Duration) -> Arc<Self> {
        Arc::new(Self { deadline: Instant::now() + timeout, killed: Notify::new(), frozen: AtomicBool::new(false) })
    }

    /// Runs the work of the invocation.
    pub async fn scope<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        RUN.scope(self, work).await
    }

    /// The running invocation. `None` outside of an invocation.
    pub(super) fn current() -> Option<Arc<Self>> {
        RUN.try_with(Arc::clone).ok()
    }

    /// Waits until the environment is killed.
    pub async fn killed(&self) {
        self.killed.notified().await;
    }

    /// Whether the environment froze. It then continues after the deadline.
    pub fn is_frozen(&self) -> bool {
        self.frozen.load(Ordering::Relaxed)
    }

    /// Ends the invocation.
    pub(super) async fn kill(&self) {
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }

    /// Stops the invocation until a time after its deadline.
    pub(super) async fn freeze(&self, longer: Duration) {
        self.frozen.store(true, Ordering::Relaxed);
        tokio::time::sleep_until(self.deadline + longer).await;
    }
}

/// Collects the faults that happen during the work.
pub async fn noting<F: Future>(notes: Notes, work: F) -> F::Output {
    NOTES.scope(notes, work).await
}

/// Adds a fault to the notes of the current call.
pub(super) fn note(injected: Injected) {
    let _ = NOTES.try_with(|notes| notes.lock().unwrap_or_else(PoisonError::into_inner).push(injected));
}

/// Returns the faults of the current event.
pub fn noted() -> Vec<Injected> {
    NOTES.try_with(|notes| notes.lock().unwrap_or_else(PoisonError::into_inner).clone()).unwrap_or_default()
}
