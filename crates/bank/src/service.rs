//! The transaction service, which executes payments (docs/decisions/execution.md).

mod http;
mod ledger;
mod reason;

pub use http::HttpService;
pub use ledger::LedgerService;
pub(crate) use ledger::MEMBERS;
pub use reason::Reason;

use crate::Payment;
use function::{Clients, Deadline, Error, SettingsReader};
use keys::{AccountId, Random, TimestampMillis, TransactionId};
use std::{collections::BTreeSet, fmt::Debug, str::FromStr};

/// Executes payments. The payment id is the idempotency key: an implementation executes all calls
/// for a payment at most once.
pub trait TransactionService {
    /// Executes the payment, or returns the outcome of an earlier call. Returns by the deadline of
    /// the order.
    fn execute(&self, order: &Order<'_>) -> impl Future<Output = Outcome> + Send;

    /// The accounts that the payment changes. The executor attempts payments that share an account
    /// one after another, in their order.
    fn accounts(&self, payment: &Payment) -> BTreeSet<AccountId> {
        BTreeSet::from([payment.account.clone()])
    }
}

/// A payment to execute.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The payment.
    pub payment: &'a Payment,
    /// Whether an operator scheduled the payment.
    pub by_operator: bool,
    /// The current time.
    pub now: TimestampMillis,
    /// The time by which the service must answer.
    pub until: Deadline,
    /// The random source for new ids.
    pub random: &'a Random,
}

/// The outcome of a payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The payment is paid.
    Completed(TransactionId),
    /// The payment is not paid, and no later call with its id will pay it.
    Rejected(Reason),
    /// The service works, but other payments of the same accounts came first during the whole
    /// attempt. It does not count as an attempt.
    Contended,
    /// The outcome is unknown.
    Unavailable(Reason),
}

impl Outcome {
    /// Creates the outcome of a rejected payment.
    pub fn rejected(text: &str) -> Self {
        Self::Rejected(Reason::new(text))
    }

    /// Creates the outcome of a payment without a final answer.
    pub fn unavailable(text: &str) -> Self {
        Self::Unavailable(Reason::new(text))
    }
}

/// The service that a deployment uses.
#[derive(Debug, Clone)]
pub enum Service {
    /// An external service reads the `PENDING` payments and reports their outcome with PATCH.
    None,
    /// The ledger service.
    Ledger(LedgerService),
    /// A service with an HTTP API.
    Http(Box<HttpService>),
}

/// The values of the setting `TRANSACTION_SERVICE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payer {
    /// An outside service collects the `PENDING` payments and reports their outcome.
    None,
    Ledger,
    Http,
}

impl Payer {
    /// Whether the bank executes payments itself.
    pub(crate) fn is_inside(self) -> bool {
        self != Self::None
    }

    /// Checks a payment that a request schedules. Data without `creditAccountId` is no instruction
    /// to the ledger, and can have any form.
    ///
    /// # Errors
    /// The ledger would reject the payment on its day.
    pub(crate) fn check(self, payment: &Payment) -> Result<(), Error> {
        if self == Self::Ledger && ledger::is_instruction(payment) { ledger::check(payment) } else { Ok(()) }
    }

    /// Checks a payment that a file schedules. The ledger pays amounts, so each line must have one.
    ///
    /// # Errors
    /// The ledger would reject the payment on its day.
    pub(crate) fn check_line(self, payment: &Payment) -> Result<(), Error> {
        if self == Self::Ledger { ledger::check(payment) } else { Ok(()) }
    }
}

impl FromStr for Payer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "ledger" => Ok(Self::Ledger),
            "http" => Ok(Self::Http),
            _ => Err("must be none, ledger or http"),
        }
    }
}

impl Service {
    /// Reads `TRANSACTION_SERVICE` and the settings of that service.
    pub fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        match settings.get("TRANSACTION_SERVICE")? {
            Payer::None => Some(Self::None),
            Payer::Ledger => LedgerService::start(settings, clients).map(Self::Ledger),
            Payer::Http => HttpService::start(settings, clients).map(Box::new).map(Self::Http),
        }
    }

    /// Starts the ledger if it executes the payments. Other services only execute payments, and are
    /// not started.
    pub(crate) fn start_ledger(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        match settings.get("TRANSACTION_SERVICE")? {
            Payer::Ledger => LedgerService::start(settings, clients).map(Self::Ledger),
            Payer::None | Payer::Http => Some(Self::None),
        }
    }

    /// Returns the ledger if it executes the payments.
    pub(crate) fn ledger(&self) -> Option<&LedgerService> {
        match self {
            Self::Ledger(ledger) => Some(ledger),
            Self::None | Self::Http(_) => None,
        }
    }

    /// Opens the connection before the first event. Errors are ignored.
    pub async fn warm_up(&self) {
        match self {
            Self::None => {}
            Self::Ledger(service) => service.warm_up().await,
            Self::Http(service) => service.warm_up().await,
        }
    }
}

impl TransactionService for Service {
    async fn execute(&self, order: &Order<'_>) -> Outcome {
        match self {
            Self::None => Outcome::unavailable("This deployment executes no payments."),
            Self::Ledger(service) => service.execute(order).await,
            Self::Http(service) => service.execute(order).await,
        }
    }

    fn accounts(&self, payment: &Payment) -> BTreeSet<AccountId> {
        match self {
            Self::None => BTreeSet::new(),
            Self::Ledger(service) => service.accounts(payment),
            Self::Http(service) => service.accounts(payment),
        }
    }
}
