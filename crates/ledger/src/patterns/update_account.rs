//! L9: freezes, reactivates or closes an account, or changes its posting
//! ([permissions](../../../../docs/decisions/ledger-accounts.md),
//! [closing](../../../../docs/decisions/ledger-accounts.md),
//! [posting](../../../../docs/decisions/ledger-throughput.md)). The
//! [requirement](../../../../docs/requirements/ledger.md#where-our-keys-differ) does not name this
//! pattern.

use crate::{
    Account, AccountBody, DOMAIN, LastLeg, Ledger, Leg, Posting, Transaction,
    cost::{self, Calls, Named, Pattern},
    model::access::user,
    model::{
        posting_plan::{PostingPlan, unavailable},
        reconciliation::SETTLES,
        transaction::{CLOSING, Draft},
    },
};
use function::{
    Caller, ChangedBy, Contract, Error, Fields, Fingerprint, Input, Json, Problem, Request, Route, Trigger, Version,
    optimistically,
};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{AccountStatus, FrozenBy, LegType, PostingMode, UserId},
};
use money::Money;
use serde::de::IgnoredAny;
use serde_json::json;
use table::{
    Value,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "L9",
    name: "update-account",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/ledger/accounts/{accountId}",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Freeze, reactivate or close an account",
        problems: &[
            Problem::NotFound,
            Problem::AccountClosed,
            Problem::BalanceNotZero,
            Problem::BalanceUnverified,
            Problem::HoldsOpen,
            Problem::InsufficientFunds,
            Problem::AccountFrozen,
            Problem::CurrencyMismatch,
            Problem::BalanceTooLarge,
            Problem::AccountUnavailable,
            Problem::AnotherVersion,
        ],
    }]),
    calls: &[
        Calls::new("", Named::changed),
        Calls::new(", closed", |case| case.changed().read(cost::LEDGER, read(case.leg))),
        Calls::new(", posting", |case| case.with_inbox(Cost::default().write(cost::LEDGER, write(case.account)))),
        Calls::new(", grouped", |case| {
            let update = Cost::default().write(cost::LEDGER, write(case.account));
            case.with_inbox(update.write(cost::BY_TIME, write(case.of_user)))
        }),
        Calls::new(", transferTo", |case| {
            let reads = read(case.account).times(case.legs) + read(case.leg);
            case.posted(false).read(cost::LEDGER, reads).write(cost::BY_TIME, write(case.of_user))
        }),
    ],
    contract: function::contract(&update_account),
    function: || function::http(update_account, Ledger::warm_by_get),
};

/// A requested change of an account.
#[derive(Debug, Clone)]
pub struct UpdateAccountInput {
    account: AccountId,
    what: What,
    version: Option<i64>,
}

/// The changed attribute.
#[derive(Debug, Clone)]
enum What {
    Status {
        status: AccountStatus,
        /// The account that receives the balance of the closed account.
        transfer_to: Option<AccountId>,
    },
    Posting(PostingMode),
}

/// The statuses that a request can set.
struct WantedStatus;
keys::schema!(WantedStatus as "WantedAccountStatus": {"type": "string", "enum": ["active", "frozen", "closed"]});

impl Input for UpdateAccountInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, version) = (fields.path::<AccountId>("accountId"), fields.body_if_any::<Version>("version"));
        let version = version.map(i64::from);
        if fields.has_body("posting") {
            let posting = fields.body("posting");
            for other in ["status", "transferTo"] {
                // Reading the member prevents a second fault, which would call it unknown.
                if fields.has_body(other) && fields.body::<IgnoredAny>(other).is_some() {
                    fields.fault::<()>(&format!("/body/{other}"), "cannot be combined with posting");
                }
            }
            return Some(Self { account: account?, what: What::Posting(posting?), version });
        }
        let status = fields.body::<AccountStatus>("status");
        let transfer_to = fields.body_if_any("transferTo");
        if status == Some(AccountStatus::Closing) {
            fields.fault::<()>("/body/status", "must be active, frozen or closed");
        }
        if transfer_to.is_some() && status.is_some_and(|status| status != AccountStatus::Closed) {
            fields.fault::<()>("/body/transferTo", "can be combined only with the status closed");
        }
        if transfer_to.is_some() && transfer_to == account {
            fields.fault::<()>("/body/transferTo", "must be another account");
        }
        Some(Self { account: account?, what: What::Status { status: status?, transfer_to }, version })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<AccountId>("accountId", "");
        contract.name_body("AccountPatch");
        contract.body::<WantedStatus>("status", "", false);
        contract.body::<PostingMode>("posting", "Requires the operator scope.", false);
        contract.body::<Version>("version", "", false);
        let to = "The account that receives the balance of the closed account. Only with the status `closed`.";
        contract.body::<AccountId>("transferTo", to, false);
        contract.adapt_body(|body| {
            body.insert("description".to_owned(), "Either `status` or `posting`.".into());
            let shapes = json!([
                {"title": "OfStatus", "required": ["status"], "not": {"required": ["posting"]}},
                {"title": "OfPosting", "required": ["posting"], "properties": {"status": false, "transferTo": false}},
            ]);
            body.insert("allOf".to_owned(), json!([{"oneOf": shapes}]));
        });
    }
}

/// Changes the status or the posting of an account. A closed account stays closed. With
/// `transferTo`, the balance of a closed account moves to another account in the same DynamoDB
/// transaction.
///
/// An account with an inbox first has the status `closing`. A repeated request closes it, once no
/// payment can arrive in the inbox, and the inbox is empty.
///
/// # Errors
/// Returns:
/// - 400 for an invalid request;
/// - 403 for another user's account, if the owner reactivates or closes an account that an operator
///   froze, or if a caller without the operator scope changes the posting;
/// - 404 to an operator if an account does not exist (other callers get 403);
/// - 409 if the account is already closed, if the request closes an account with a balance and
///   without `transferTo`, if the last leg does not confirm the balance of the account to close, or
///   if the other account cannot take the balance;
/// - 412 if the account does not have the requested version.
pub async fn update_account(ledger: Ledger, request: Request<UpdateAccountInput>) -> Result<Json<AccountBody>, Error> {
    let account = optimistically(|| Box::pin(ledger.change(&request))).await?;
    Ok(Json(ledger.books.with_pending(account, &request.caller).await?))
}

impl UpdateAccountInput {
    fn must_have_version(&self, account: &Account) -> Result<(), Error> {
        if self.version.is_none_or(|version| version == account.version) { Ok(()) } else { Err(Error::AnotherVersion) }
    }
}

/// A permitted status change, with its time and author.
struct StatusChange {
    status: AccountStatus,
    at: TimestampMillis,
    user: UserId,
    by: ChangedBy,
    frozen_by: Option<FrozenBy>,
}

impl StatusChange {
    fn of(request: &Request<UpdateAccountInput>, status: AccountStatus) -> Result<Self, Error> {
        let role = if request.caller.operates(DOMAIN) { FrozenBy::Operator } else { FrozenBy::Owner };
        let frozen_by = (status == AccountStatus::Frozen).then_some(role);
        let by = request.caller.author(DOMAIN);
        Ok(Self { status, at: request.milli, user: user(&request.caller)?, by, frozen_by })
    }

    /// Adds the change to an update of the account.
    fn write(&self, update: table::Change) -> Result<table::Change, table::Error> {
        let update = update.set(Account::STATUS, &self.status).set(Account::STATUS_CHANGED_AT, &self.at);
        let update = update.set(Account::CHANGED_BY, Value::of(&self.by)?);
        Ok(match &self.frozen_by {
            Some(role) => update.set(Account::FROZEN_BY, role),
            None => update.remove(Account::FROZEN_BY),
        })
    }
}

impl Ledger {
    async fn change(&self, request: &Request<UpdateAccountInput>) -> Result<Account, Error> {
        let account = self.books.account(&request.input.account, &request.caller).await?;
        match &request.input.what {
            What::Status { status, transfer_to } => {
                self.change_status(request, account, *status, transfer_to.as_ref()).await
            }
            What::Posting(posting) => self.change_posting(request, account, *posting).await,
        }
    }

    /// Changes how credits reach the balance. A payment to the account that was decided before
    /// fails and is repeated if it would have updated the account. If it arrives in the inbox, it
    /// is settled.
    async fn change_posting(
        &self,
        request: &Request<UpdateAccountInput>,
        account: Account,
        posting: PostingMode,
    ) -> Result<Account, Error> {
        request.caller.must_operate(DOMAIN)?;
        account.readable_balance()?;
        if account.posting == posting {
            return Ok(account);
        }
        request.input.must_have_version(&account)?;
        if matches!(account.status, AccountStatus::Closing | AccountStatus::Closed) {
            return Err(account.refused(Problem::AccountClosed, "is closed or is being closed"));
        }
        let by = Value::of(&request.caller.author(DOMAIN))?;
        let update = account.next(&self.books.table).set(Account::CHANGED_BY, by);
        let update = match posting {
            PostingMode::Grouped => update.set(Account::POSTING, &posting).remove(Account::INBOX_UNTIL),
            PostingMode::Direct => {
                update.remove(Account::POSTING).set(Account::INBOX_UNTIL, &request.milli.plus_seconds(SETTLES))
            }
        };
        Ok(self.books.dynamo.update_as_read(update).await?)
    }

    async fn change_status(
        &self,
        request: &Request<UpdateAccountInput>,
        account: Account,
        status: AccountStatus,
        transfer_to: Option<&AccountId>,
    ) -> Result<Account, Error> {
        let caller = &request.caller;
        // The response contains the balance. Without it, nothing must be written.
        let balance = account.readable_balance()?;
        // A retry after a lost response also succeeds here.
        if account.has_status(status, caller) {
            return self.closed_by(transfer_to, account).await;
        }
        request.input.must_have_version(&account)?;
        account.must_become(status, caller)?;
        let next = StatusChange::of(request, status)?;
        if status == AccountStatus::Closed {
            if account.readable_held()?.minor() != 0 {
                return Err(account.refused(Problem::HoldsOpen, "has open holds. Void them, or wait until they expire"));
            }
            if account.has_inbox() && !self.is_drained(request, &account).await? {
                return self.begin_closing(request, account).await;
            }
            let rest = self.verified_balance(&account, balance).await?;
            if rest.minor() != 0 {
                return self.close_and_transfer(request, account, rest, &next, transfer_to).await;
            }
        }
        Ok(self.books.dynamo.update_as_read(next.write(account.next(&self.books.table))?).await?)
    }

    /// Whether no payment can arrive in the inbox any more, and the inbox is empty.
    async fn is_drained(&self, request: &Request<UpdateAccountInput>, account: &Account) -> Result<bool, Error> {
        let is_shut = account.status == AccountStatus::Closing || account.posting == PostingMode::Direct;
        let is_late = account.inbox_until.is_some_and(|until| until < request.milli);
        Ok(is_shut && is_late && self.books.is_inbox_empty(&account.id).await?)
    }

    /// Starts to close the account, which accepts no further payments. If the account is already
    /// closing, starts its settlement.
    async fn begin_closing(&self, request: &Request<UpdateAccountInput>, account: Account) -> Result<Account, Error> {
        if account.status == AccountStatus::Closing {
            self.start_settlement(&account.id, &request.id, request.now).await?;
            return Ok(account);
        }
        let mut next = StatusChange::of(request, AccountStatus::Closing)?;
        // Closing does not let the owner lift a freeze of an operator.
        next.frozen_by = account.frozen_by;
        let until = request.milli.plus_seconds(SETTLES);
        let update = next.write(account.next(&self.books.table))?.set(Account::INBOX_UNTIL, &until);
        Ok(self.books.dynamo.update_as_read(update).await?)
    }

    /// Returns the balance of an account, if it equals the balance after its last leg. Otherwise,
    /// the closing could hide or move money that the legs do not show
    /// ([decision](../../../../docs/decisions/ledger-accounts.md)).
    ///
    /// # Errors
    /// Returns 409 if the last leg is missing, unreadable or has another balance.
    async fn verified_balance(&self, account: &Account, balance: Money) -> Result<Money, Error> {
        let unverified = |why: &str| account.refused(Problem::BalanceUnverified, why);
        let after = match account.last_key() {
            None => Some(Money::zero(account.currency)),
            Some(key) => match self.books.table.get::<Leg>(&key).await {
                Err(table::Error::Unreadable(..)) => {
                    return Err(unverified("cannot be closed, because its last leg cannot be read"));
                }
                leg => leg?.and_then(|leg| leg.after()),
            },
        };
        if after == Some(balance) {
            return Ok(balance);
        }
        Err(unverified("cannot be closed, because its balance differs from the balance after its last leg"))
    }

    /// Returns the account, which already has the requested status. If another request has closed
    /// it and moved its balance elsewhere, returns 409.
    async fn closed_by(&self, transfer_to: Option<&AccountId>, account: Account) -> Result<Account, Error> {
        let Some(to) = transfer_to else { return Ok(account) };
        let key = Transaction::key_of(&TransactionId::of_closing(&account.id));
        let transfer = self.books.table.get::<Transaction>(&key).await?;
        let is_same = transfer.is_none_or(|transfer| transfer.request == fingerprint(&account.id, to));
        if is_same { Ok(account) } else { Err(account.refused(Problem::AccountClosed, "is permanently closed")) }
    }

    /// Closes the account, and moves its balance to the account of `transferTo`. A negative balance
    /// is settled from that account.
    async fn close_and_transfer(
        &self,
        request: &Request<UpdateAccountInput>,
        account: Account,
        rest: Money,
        next: &StatusChange,
        transfer_to: Option<&AccountId>,
    ) -> Result<Account, Error> {
        let Some(to) = transfer_to else {
            let why = "has a balance. Name another account in transferTo to move the balance";
            return Err(account.refused(Problem::BalanceNotZero, why));
        };
        let target = self.transfer_target(to, &account, &request.caller).await?;
        let draft = transfer(&account, to, rest, &next.user)?;
        // An account that its owner froze takes the last leg, because the owner may also reactivate
        // it.
        let mut open = account.clone();
        // A closed account has no inbox, so the transfer changes its balance directly.
        (open.status, open.posting) = (AccountStatus::Active, PostingMode::Direct);
        let accounts = [open, target].map(|account| (account.id.clone(), account)).into();
        let shard = self.books.shards.pick(&request.random);
        let plan = PostingPlan::new(&draft, &accounts, true, &request.caller, request.milli, shard)?;
        let close = |id: &AccountId, update| if *id == account.id { next.write(update) } else { Ok(update) };
        self.books.dynamo.transact_once(plan.changes_with(&self.books.table, close)?).await?;
        let last = plan.posted.legs.iter().find(|leg| leg.account == account.id).and_then(LastLeg::of);
        Ok(account.emptied(next, last))
    }

    /// Reads the account that receives the balance. It must have the same owner, unless the caller
    /// is an operator.
    async fn transfer_target(&self, to: &AccountId, from: &Account, caller: &Caller) -> Result<Account, Error> {
        let target = self.books.account_if_any(to, caller).await?;
        if caller.operates(DOMAIN) {
            return target.ok_or(Error::NotFound("account"));
        }
        target.filter(|target| target.user == from.user).ok_or_else(unavailable)
    }
}

/// The transaction that moves the balance of `account` to the account `to`.
fn transfer(account: &Account, to: &AccountId, rest: Money, by: &UserId) -> Result<Draft, Error> {
    let transaction_type = CLOSING.parse().map_err(|error| Error::Internal(format!("{error}")))?;
    let is_debt = rest.minor() < 0;
    let (debit, credit) = if is_debt { (to, &account.id) } else { (&account.id, to) };
    let amount = if is_debt { -rest } else { rest };
    let posting = |leg_type, account: &AccountId| Posting { leg_type, amount, account: account.clone() };
    let postings = vec![posting(LegType::Debit, debit), posting(LegType::Credit, credit)];
    let (id, request) = (TransactionId::of_closing(&account.id), fingerprint(&account.id, to));
    Ok(Draft::new(id, transaction_type, postings, by.clone(), request))
}

fn fingerprint(account: &AccountId, to: &AccountId) -> Fingerprint {
    Fingerprint::of(&["close-account", account.as_str(), to.as_str()])
}

impl Account {
    /// Returns the account as stored after the transfer of its balance.
    fn emptied(mut self, next: &StatusChange, last: Option<LastLeg>) -> Self {
        (self.balance, self.last) = (Money::zero(self.currency).amount(), last);
        (self.status, self.frozen_by, self.version) = (next.status, next.frozen_by, self.version + 1);
        (self.status_changed_at, self.changed_by) = (Some(next.at), Some(next.by.clone()));
        self
    }

    /// Whether the account already has the status. If the owner froze the account, an operator can
    /// freeze it again, so that the owner can no longer reactivate it.
    fn has_status(&self, status: AccountStatus, caller: &Caller) -> bool {
        let is_taken_over =
            self.status == AccountStatus::Frozen && self.frozen_by == Some(FrozenBy::Owner) && caller.operates(DOMAIN);
        self.status == status && !is_taken_over
    }

    fn must_become(&self, status: AccountStatus, caller: &Caller) -> Result<(), Error> {
        match (self.status, status) {
            (AccountStatus::Closed, _) => Err(self.refused(Problem::AccountClosed, "is permanently closed")),
            (AccountStatus::Frozen, AccountStatus::Active | AccountStatus::Closed)
                if self.frozen_by != Some(FrozenBy::Owner) =>
            {
                caller.must_operate(DOMAIN)
            }
            (AccountStatus::Closing, _) if self.frozen_by == Some(FrozenBy::Operator) => caller.must_operate(DOMAIN),
            _ => Ok(()),
        }
    }

    fn refused(&self, rule: Problem, why: &str) -> Error {
        Error::Conflict(rule, format!("Account {} {why}.", self.id))
    }
}
