/// Declares the problem types: variant, status, name, title and cases.
macro_rules! problems {
    ($($variant:ident, $status:literal, $name:literal, $title:expr, $when:literal;)+) => {
        /// A problem type of RFC 9457, the `type` of an error response.
        ///
        /// The table in `docs/http.md` is generated from these types.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Problem {
            $(#[doc = $when] $variant,)+
        }

        impl Problem {
            /// All problem types, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// The last segment of the `type`, such as `not-found` in `/problems/not-found`.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The `title`.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// The value of the header `Retry-After`: a number of seconds.
            pub(crate) const fn retry_after(self) -> Option<&'static str> {
                match self {
                    Self::Throttled | Self::Unavailable => Some("1"),
                    Self::JobLimit => Some("5"),
                    _ => None,
                }
            }

            /// The documentation of the cases in which the API returns this problem.
            pub const fn when(self) -> &'static str {
                match self { $(Self::$variant => $when,)+ }
            }
        }
    };
}

const CONFLICT: &str = "Conflict with the current state";

problems! {
    InvalidRequest, 400, "invalid-request", "Invalid request",
        "a field is invalid, missing or unknown; a day is in the past; a cursor belongs to another list";
    Forbidden, 403, "forbidden", "Not allowed",
        "the account, company or user belongs to another caller, or the request needs the `operate` scope";
    NotFound, 404, "not-found", "Not found",
        "the resource does not exist or belongs to another company";
    PaymentMoved, 404, "payment-moved", "Not found",
        "the payment got a new time, and with it a new id; `movedTo` is the new id";
    StatusConflict, 409, "status-conflict", CONFLICT,
        "the payment's status does not allow the change, or another request has changed it";
    TransactionIdUsed, 409, "transaction-id-used", CONFLICT,
        "another payment already has this transaction id";
    ExecutionUnderWay, 409, "execution-under-way", CONFLICT,
        "the bank is executing the payment and will record the outcome itself";
    DispatchingDisabled, 409, "dispatching-disabled", CONFLICT,
        "an operator has disabled dispatching";
    CartFull, 409, "cart-full", CONFLICT,
        "the cart has 200 active items";
    ProductUnavailable, 409, "product-unavailable", CONFLICT,
        "the product does not exist or is not active";
    CartCurrency, 409, "cart-currency", CONFLICT,
        "the product has another currency than the cart";
    CartEmpty, 409, "cart-empty", CONFLICT,
        "the cart to check out is empty";
    QuantityLimit, 409, "quantity-limit", CONFLICT,
        "the quantity of a cart item would exceed 9,999";
    Purchased, 409, "purchased", CONFLICT,
        "the cart item was purchased and cannot be changed";
    TotalChanged, 409, "total-changed", CONFLICT,
        "the total of the checkout differs from `expectedTotal`; the problem has the new `total`, `currency` and `items`";
    OrderStatus, 409, "order-status", CONFLICT,
        "the status of the order does not allow the change";
    ProgressBackwards, 409, "progress-backwards", CONFLICT,
        "the progress or the points are lower than recorded, and `correction` is not set";
    ActivityNotOpen, 409, "activity-not-open", CONFLICT,
        "an employee joins, leaves or reports progress on an activity that is not active or has ended, reports before it starts, or waits for a seat";
    GoalWithoutTarget, 409, "goal-without-target", CONFLICT,
        "a value is reported, and the goal of the activity has no positive `target`";
    PartLimit, 409, "part-limit", CONFLICT,
        "the activity already has 10 rewards, 50 groups or 25 references";
    ReferenceInUse, 409, "reference-in-use", CONFLICT,
        "an activity refers to the record to remove";
    EnrolmentClosed, 409, "enrolment-closed", CONFLICT,
        "employees cannot join or leave the activity themselves";
    NotEligible, 409, "not-eligible", CONFLICT,
        "the filters of the activity exclude the employee";
    PlanOverlap, 409, "plan-overlap", CONFLICT,
        "the period of the plan overlaps another plan of the company";
    JobUnderWay, 409, "job-under-way", CONFLICT,
        "a job is already changing the same references";
    ImportRejected, 409, "import-rejected", CONFLICT,
        "the import to retry has failed because of its file";
    NoActivities, 409, "no-activities", CONFLICT,
        "no activity ends within the plan of the report";
    JobNotFailed, 409, "job-not-failed", CONFLICT,
        "the job to retry is running or done";
    InsufficientFunds, 409, "insufficient-funds", CONFLICT,
        "the debit exceeds the available amount of the account";
    AccountFrozen, 409, "account-frozen", CONFLICT,
        "the account is frozen";
    AccountClosed, 409, "account-closed", CONFLICT,
        "the account is closed or is being closed";
    CurrencyMismatch, 409, "currency-mismatch", CONFLICT,
        "the account has a different currency";
    AccountUnavailable, 409, "account-unavailable", CONFLICT,
        "an account of another user does not exist or cannot take part in the transaction; the reason is not disclosed";
    AccountLimit, 409, "account-limit", CONFLICT,
        "the user has already opened the maximum number of accounts";
    BalanceTooLarge, 409, "balance-too-large", CONFLICT,
        "the balance would have more than 38 digits";
    BalanceNotZero, 409, "balance-not-zero", CONFLICT,
        "the account to close has a balance other than 0, and the request has no `transferTo`";
    HoldsOpen, 409, "holds-open", CONFLICT,
        "the account to close has open holds";
    HoldClosed, 409, "hold-closed", CONFLICT,
        "the hold is captured, voided or expired";
    HoldExceeded, 409, "hold-exceeded", CONFLICT,
        "the amount to capture exceeds the rest of the hold";
    BalanceUnverified, 409, "balance-unverified", CONFLICT,
        "the last leg of the account to close is unreadable, or does not confirm the balance";
    AlreadyReversed, 409, "already-reversed", CONFLICT,
        "the whole transaction was already reversed";
    ReversalExceeded, 409, "reversal-exceeded", CONFLICT,
        "the amount to reverse exceeds the rest of the transaction, or the transaction has 99 reversals";
    ReferenceUsed, 409, "reference-used", CONFLICT,
        "another transaction of the caller and type has the reference";
    IsReversal, 409, "is-reversal", CONFLICT,
        "the transaction is itself a reversal";
    AnotherVersion, 412, "another-version", "The resource has changed",
        "the activity or account has changed since the version in the request";
    TooLarge, 413, "too-large", "Too large",
        "a payment or an activity is over 8 KB, another part of an activity over 16 KB, a reference over 4 KB, a registration's data over 2 KB, a template over 48 KB, a cart item over 1 KB, a body over 64 KB (a batch of transactions: 256 KB), a list over 5 MB, or a response over 6 MB";
    UnsupportedMediaType, 415, "unsupported-media-type", "Unsupported media type",
        "the body is not `application/json`";
    IdempotencyKeyReused, 422, "idempotency-key-reused", "Idempotency key already used",
        "the key was already used for a different request";
    Throttled, 429, "throttled", "Too many requests",
        "DynamoDB throttled the request; `Retry-After` is the time to wait before a retry";
    JobLimit, 429, "job-limit", "Too many running jobs",
        "callers of the company have started 10 jobs that are still running; `Retry-After` is the time to wait before a retry";
    Unavailable, 503, "unavailable", "Temporarily unavailable",
        "DynamoDB did not respond before the deadline, or the retries kept conflicting with other writes";
    Internal, 500, "internal", "Internal error",
        "a defect; the log contains the reason";
}
