//! L7: lists the legs of an account
//! ([requirement](../../../../docs/requirements/ledger.md#statement-of-a-period),
//! [decision](../../../../docs/decisions/ledger-costs.md)).

use crate::{
    Ledger, Leg,
    cost::{self, Calls, Named, Pattern},
    history::NewestLeg,
    model::{
        reconciliation::DiscrepancyBody,
        statement::{PeriodBalances, Statement, StatementLeg},
        transaction::ReversedBody,
    },
};
use function::{Contract, Error, Fields, Input, JsonOrCsv, MediaType, Problem, Request, Route, Trigger};
use futures::future::{try_join, try_join3};
use keys::{
    AccountId, Bounds, TimestampMillis,
    ledger::{AccountPartition, LegTimeSort},
};
use money::{Currency, Money};
use table::{
    Page, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L7",
    name: "get-statement",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}/statement",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "List the legs of an account, newest first",
        problems: &[Problem::NotFound],
    }]),
    calls: &[
        Calls::new("", Named::statement),
        Calls::new(", from and to", |case| case.statement().read(cost::BY_TIME, read_eventually(case.of_account))),
    ],
    contract: function::contract(&get_statement),
    function: || function::http(get_statement, Ledger::warm_by_index),
};

impl Named {
    fn statement(&self) -> Cost {
        Cost::default()
            .read(cost::BY_TIME, self.listed(self.of_account))
            .read(cost::BY_KEY, read_eventually(self.reversals))
            .read(cost::LEDGER, read_eventually(self.account))
    }
}

/// The requested account and period. Both ends are inclusive.
#[derive(Debug, Clone)]
pub struct GetStatementInput {
    account: AccountId,
    from: Option<TimestampMillis>,
    to: Option<TimestampMillis>,
    format: MediaType,
}

impl Input for GetStatementInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(100);
        let (from, to) = fields.bounds("from", "to").millis();
        let format = fields.header("accept").unwrap_or_default();
        Some(Self { account: fields.path("accountId")?, from, to, format })
    }

    fn describe(contract: &mut Contract) {
        contract.paging(100);
        Bounds::describe(contract);
        contract.path::<AccountId>("accountId", "");
    }
}

/// Lists the legs of an account, newest first, each with the balance after it and with attributes
/// of its transaction. For a period, also returns the balances at its start and at its end. Reports
/// each unreadable item as a finding
/// ([decision](../../../../docs/decisions/unreadable-items.md)).
///
/// # Errors
/// Returns 400 for an invalid request, and 403 if the account belongs to another user. If the
/// account does not exist, operators get 404, and other callers get 403.
pub async fn get_statement(ledger: Ledger, request: Request<GetStatementInput>) -> Result<JsonOrCsv<Statement>, Error> {
    let GetStatementInput { account: id, from, to, format } = &request.input;
    let listing = request.listing(LegTimeSort::period(*from, *to).newest_first(), "")?;
    let is_first = listing.position.is_none();
    let partition = AccountPartition(id.clone());
    let query = Query::new(&partition, &listing.range).on(&ledger.books.by_time);
    let legs = async { Ok(ledger.books.table.page_with_unreadable::<Leg>(&query, listing.limit).await?) };
    let is_period = from.is_some() || to.is_some();
    let before = ledger.before(id, *from);
    let reads = try_join3(ledger.books.account_shown(id, &request.caller), legs, before);
    let (account, (page, unreadable), opening) = Box::pin(reads).await?;
    let mut findings: Vec<_> =
        unreadable.iter().map(|key| DiscrepancyBody::of_statement(id, key, &request.caller)).collect();
    let closing = async {
        match first_balance(&page, is_first) {
            _ if !is_period => Ok(NewestLeg::None),
            FirstLeg::Balance(balance) => Ok(NewestLeg::Readable(balance)),
            FirstLeg::NoLeg => Ok(NewestLeg::None),
            FirstLeg::Unknown => ledger.newest(id, LegTimeSort::period(*from, *to)).await,
        }
    };
    let (reversed, closing) = Box::pin(try_join(ledger.reversed_legs(id, &page.items), closing)).await?;
    findings.extend(reversed.unreadable.iter().map(|key| DiscrepancyBody::of_statement(id, key, &request.caller)));
    let balances = is_period.then(|| balances(account.currency, &opening, &closing));
    if let (true, NewestLeg::Unreadable(Some(key))) = (is_period, &opening) {
        findings.push(DiscrepancyBody::of_statement(id, key, &request.caller));
    }
    let page = page.map(|leg| {
        let last = reversed.last.get(&leg.id);
        let last = last.map(|last| {
            let sum = last.leg.reversed_amount.map(|sum| (sum, leg.currency));
            ReversedBody::new(last.reversal().clone(), sum)
        });
        StatementLeg::of(leg, last, &request.caller)
    });
    let statement = Statement { legs: listing.list(page), balances, findings };
    Ok(match format {
        MediaType::Json => JsonOrCsv::Json(statement),
        MediaType::Csv => JsonOrCsv::Csv(statement.csv(is_first, (*from, *to))),
    })
}

/// The balance after the first leg of the first page, which is the closing balance.
enum FirstLeg {
    Balance(Money),
    /// The period has no leg.
    NoLeg,
    /// The page is not the first one, or a leg of it cannot be read.
    Unknown,
}

fn first_balance(page: &Page<Leg>, is_first: bool) -> FirstLeg {
    if !is_first || page.skipped > 0 {
        return FirstLeg::Unknown;
    }
    match page.items.first() {
        None => FirstLeg::NoLeg,
        Some(leg) => leg.after().map_or(FirstLeg::Unknown, FirstLeg::Balance),
    }
}

/// Returns the balances of the period. Without a leg in the period, both are equal.
fn balances(currency: Currency, opening: &NewestLeg, closing: &NewestLeg) -> PeriodBalances {
    let opening = match opening {
        NewestLeg::None => Some(Money::zero(currency)),
        NewestLeg::Readable(balance) => Some(*balance),
        NewestLeg::Unreadable(_) => None,
    };
    let closing = match closing {
        NewestLeg::None => opening,
        NewestLeg::Readable(balance) => Some(*balance),
        NewestLeg::Unreadable(_) => None,
    };
    PeriodBalances::new(currency, opening, closing)
}

impl Ledger {
    /// Reads the newest leg before the period. An unlimited period has none.
    async fn before(&self, account: &AccountId, from: Option<TimestampMillis>) -> Result<NewestLeg, Error> {
        match from {
            Some(from) => self.newest_before(account, from).await,
            None => Ok(NewestLeg::None),
        }
    }
}
