/// Declares every problem type: status, name, title, and the cases in which it is answered.
macro_rules! problems {
    ($($variant:ident, $status:literal, $name:literal, $title:expr, $when:literal;)+) => {
        /// A problem type of RFC 9457, the `type` of an answer that refuses a request.
        ///
        /// The table of `docs/http.md` is written from these.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Problem {
            $(#[doc = $when] $variant,)+
        }

        impl Problem {
            /// All types, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The HTTP status.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// The last segment of the `type`, such as `not-found` of `/problems/not-found`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The `title`.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// The cases in which it is answered, for the documentation.
            #[must_use]
            pub const fn when(self) -> &'static str {
                match self { $(Self::$variant => $when,)+ }
            }
        }
    };
}

const CONFLICT: &str = "What is stored does not allow it";

problems! {
    InvalidRequest, 400, "invalid-request", "The request is not valid",
        "a field is wrong, missing or unknown; a day that is over; a cursor of another list";
    Forbidden, 403, "forbidden", "Not allowed",
        "the account, company or user is another caller's, or the request reaches across them without `operate`";
    NotFound, 404, "not-found", "Not found",
        "no such thing, or it is another company's";
    StatusConflict, 409, "status-conflict", CONFLICT,
        "the payment's status does not allow the move, or the payment has moved already";
    TransactionIdUsed, 409, "transaction-id-used", CONFLICT,
        "the transaction id names another payment";
    CartFull, 409, "cart-full", CONFLICT,
        "a cart has 32 active items";
    CartEmpty, 409, "cart-empty", CONFLICT,
        "a checkout of an empty cart";
    QuantityLimit, 409, "quantity-limit", CONFLICT,
        "more than 9,999 of a product in one item";
    Purchased, 409, "purchased", CONFLICT,
        "a change of an item that was purchased";
    ProgressBackwards, 409, "progress-backwards", CONFLICT,
        "less progress or fewer points than are recorded, without `correction`";
    JobUnderWay, 409, "job-under-way", CONFLICT,
        "another change of the same references has not ended";
    JobNotFailed, 409, "job-not-failed", CONFLICT,
        "a retry of a job that runs or is done";
    InsufficientFunds, 409, "insufficient-funds", CONFLICT,
        "the debit would overdraw the account";
    AccountFrozen, 409, "account-frozen", CONFLICT,
        "the account is frozen";
    AccountClosed, 409, "account-closed", CONFLICT,
        "the account is closed";
    CurrencyMismatch, 409, "currency-mismatch", CONFLICT,
        "the account has another currency";
    BalanceTooLarge, 409, "balance-too-large", CONFLICT,
        "the balance would have more than 38 digits";
    BalanceNotZero, 409, "balance-not-zero", CONFLICT,
        "an account is closed before its balance is 0";
    AlreadyReversed, 409, "already-reversed", CONFLICT,
        "another request has reversed the transaction";
    IsReversal, 409, "is-reversal", CONFLICT,
        "the transaction is a reversal itself";
    AnotherVersion, 412, "another-version", "Changed since",
        "the activity or account was changed since the version that the request names";
    TooLarge, 413, "too-large", "Too large",
        "a payment or an activity over 8 KB, another part of an activity over 16 KB, a reference over 4 KB, a registration's data over 2 KB, a template over 48 KB, a cart item over 1 KB, a body over 64 KB, or a list over 5 MB";
    UnsupportedMediaType, 415, "unsupported-media-type", "Not JSON",
        "the body is not `application/json`";
    IdempotencyKeyReused, 422, "idempotency-key-reused", "The key was used before",
        "the key came with another request before";
    Throttled, 429, "throttled", "Too many requests",
        "DynamoDB throttled; `Retry-After` says when to send the request again";
    Unavailable, 503, "unavailable", "Not available now",
        "DynamoDB did not answer before the deadline, or other writes kept getting in between";
    Internal, 500, "internal", "Internal error",
        "a defect; the log has the reason";
}
