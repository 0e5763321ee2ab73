//! B16: lists the payments that are overdue (docs/requirements/bank.md#list-overdue-payments,
//! docs/decisions/dispatch.md).

use crate::{
    Bank, DOMAIN, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::{
    KeyRange, TimestampSeconds,
    bank::{DueSort, Status},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::Page;

/// Default page size.
const PAGE: usize = 50;
/// Maximum number of reads for each of the two statuses. After these, the page is returned even if
/// it is not full.
const MAX_READS: usize = 10;

pub const PATTERN: Pattern = Pattern {
    id: "B16",
    name: "list-overdue-payments",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/payments/overdue",
        scopes: &["bank:operate"],
        summary: "List the payments that are PENDING for too long, or SCHEDULED for a past day",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        let pages = case.sharded_page(cost::PAYMENTS, cost::DUE_PAYMENTS);
        pages.read(cost::DUE_PAYMENTS, case.empty_shards())
    })],
    contract: function::contract(&list_overdue_payments),
    function: || function::http(list_overdue_payments, Bank::warm_by_due_payments),
};

/// Query parameters of the request: only those of pages.
#[derive(Debug, Clone, Copy, Input)]
#[input(page = PAGE)]
pub struct ListOverduePaymentsInput;

/// Why a payment is overdue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Reason {
    /// The payment has been `PENDING` for longer than `OverdueMinutes`, or is out of attempts.
    PendingTooLong,
    /// The payment is `SCHEDULED` for a past day.
    DayIsOver,
}

/// A payment, and why it is overdue.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverduePayment {
    #[serde(flatten)]
    payment: PaymentBody,
    overdue: Reason,
}

/// Lists the payments that are `PENDING` for longer than the setting `OVERDUE_MINUTES` or out of
/// attempts, and then the payments that are `SCHEDULED` for a past day. Both are in order of
/// scheduled time.
pub async fn list_overdue_payments(
    bank: Bank,
    request: Request<ListOverduePaymentsInput>,
) -> Result<List<OverduePayment>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (now, yesterday) = (request.first_page, request.first_page.day().before());
    let listing = request.listing(DueSort::pending_to_scheduled(yesterday), "")?;
    let dispatched_by = now.plus_seconds(-60 * i64::from(bank.overdue_minutes));
    let parts = [
        (Reason::PendingTooLong, DueSort::with_status(&Status::Pending)),
        (Reason::DayIsOver, DueSort::due_until(yesterday, Status::Scheduled)),
    ];
    let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
    for (reason, whole) in parts {
        let Some(rest) = rest_of(&whole, &listing.range) else { continue };
        let body = |payment: Payment| OverduePayment { payment: payment.body(&request.caller), overdue: reason };
        let is_overdue = |payment: &Payment| reason == Reason::DayIsOver || was_pending(payment, dispatched_by);
        bank.fill(&mut page, (&whole, rest), listing.limit, is_overdue, body).await?;
        if page.next.is_some() {
            break;
        }
    }
    Ok(listing.list(page))
}

/// Returns the part of the range that the rest of the list contains.
fn rest_of(whole: &KeyRange, rest: &KeyRange) -> Option<KeyRange> {
    if rest.from() <= whole.from() {
        return Some(whole.clone());
    }
    (rest.from() <= whole.to()).then(|| whole.starting_at(rest.from()))
}

fn was_pending(payment: &Payment, dispatched_by: TimestampSeconds) -> bool {
    payment.is_exhausted() || payment.dispatched_at.unwrap_or(payment.created_at) <= dispatched_by
}

impl Bank {
    /// Adds the overdue payments of a range to the page, until the page is full.
    async fn fill(
        &self,
        page: &mut Page<OverduePayment>,
        (whole, mut rest): (&KeyRange, KeyRange),
        limit: usize,
        is_overdue: impl Fn(&Payment) -> bool,
        body: impl Fn(Payment) -> OverduePayment,
    ) -> Result<(), Error> {
        for _ in 0..MAX_READS {
            let room = limit - page.items.len();
            if room == 0 {
                // The page was full before this range. The next page starts with the range.
                page.next.get_or_insert_with(|| whole.from().to_owned());
                return Ok(());
            }
            let found = self.payments.sharded_page::<Payment>(&self.due, &rest, room).await?;
            page.skipped += found.skipped;
            let overdue = found.items.into_iter().filter(|payment| is_overdue(payment));
            page.items.extend(overdue.map(&body));
            page.next = found.next;
            let Some(position) = &page.next else { return Ok(()) };
            rest = whole.after(position);
        }
        Ok(())
    }
}
