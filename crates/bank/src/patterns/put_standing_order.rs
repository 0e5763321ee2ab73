//! B20: creates or changes a standing order (docs/requirements/bank.md#standing-orders).

use crate::{
    Bank, DOMAIN, StandingOrderBody,
    cost::{self, Calls, Pattern},
    jobs::{Task, job_key, standing::StandingChange},
    model::{
        recurrence::{JsonDay, OrderDay, Recurrence, Schedule, TimeOfDay},
        standing::{EndedRevision, StandingOrder},
    },
};
use function::{Error, Fields, Input, Put, Request, Route, Trigger, optimistically};
use jobs::Job;
use keys::{
    AccountId, Day, RequestId, Shard, TimestampSeconds,
    bank::{JobId, StandingOrderId, StandingOrderSort},
};
use serde_json::value::RawValue;
use table::{
    JsonText,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "B20",
    name: "put-standing-order",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/bank/accounts/{accountId}/standing-orders/{orderId}",
        scopes: &["bank:write", "bank:operate"],
        summary: "Create or change a standing order, and schedule its payments asynchronously",
        problems: &[],
    }]),
    calls: &[
        Calls::new("", |case| {
            Cost::default()
                .read(cost::PAYMENTS, read(0))
                .write(cost::PAYMENTS, write(case.item).times(2))
                .write(cost::DUE_PAYMENTS, case.index_write())
                .write(cost::JOBS, 2)
        }),
        Calls::new(", change", |case| {
            Cost::default()
                .read(cost::PAYMENTS, read(case.item))
                .write(cost::PAYMENTS, write(case.item).times(2))
                .write(cost::DUE_PAYMENTS, case.index_write())
                .write(cost::JOBS, 2)
        }),
    ],
    contract: function::contract(&put_standing_order),
    function: || function::http(put_standing_order, Bank::warm_by_get_payment),
};

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
#[input(check = must_agree(schedule, day, first_date, last_date))]
pub struct PutStandingOrderInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "orderId")]
    order: StandingOrderId,
    #[input(body)]
    #[expect(dead_code, reason = "the check compares it with the day, which implies it")]
    schedule: Schedule,
    #[input(body, via = JsonDay)]
    day: OrderDay,
    #[input(body)]
    time: TimeOfDay,
    /// No payment is on an earlier date, and none is before the time of the request.
    #[input(body)]
    first_date: Day,
    /// No payment is on a later date. In a new or changed order, not before the current day in UTC.
    #[input(body)]
    last_date: Option<Day>,
    /// Data of each payment. The rules for the data of a scheduled payment apply.
    #[input(body, via = Box<RawValue>)]
    data: JsonText,
}

fn must_agree(
    fields: &mut Fields,
    schedule: Option<&Schedule>,
    day: Option<&OrderDay>,
    first: Option<&Day>,
    last: Option<&Day>,
) {
    if let Some((schedule, day)) = schedule.zip(day)
        && day.schedule() != *schedule
    {
        let detail = match schedule {
            Schedule::Monthly => "must be a whole number from 1 to 31, or \"last\", for schedule monthly",
            Schedule::Weekly => "must be a day of the week, such as \"monday\", for schedule weekly",
        };
        fields.fault::<()>("/body/day", detail);
    }
    if first.zip(last).is_some_and(|(first, last)| last < first) {
        fields.fault::<()>("/body/lastDate", "must not be before firstDate");
    }
}

/// Creates a standing order, or changes it. An equal order remains as it is.
///
/// Puts the order and the job that schedules its payments in one transaction. After a change, the
/// job also cancels the payments of the order that are not yet `PENDING`.
///
/// # Errors
/// 400 for a last date before today, or an instruction that the ledger cannot pay. 403 for an
/// account that the caller does not own, 413 for an item over 8 KB.
pub async fn put_standing_order(
    bank: Bank,
    request: Request<PutStandingOrderInput>,
) -> Result<Put<StandingOrderBody>, Error> {
    let PutStandingOrderInput { account, order, day, time, first_date, last_date, data, .. } = request.input;
    request.caller.must_own(&account, DOMAIN)?;
    let (now, shard) = (request.now, bank.due.shards.pick(&request.random));
    let new = StandingOrder {
        account,
        sort: StandingOrderSort(order),
        shard: None,
        due: None,
        revision: RequestId::new(request.milli.instant(), &request.random),
        created_at: now,
        changed_at: now,
        recurrence: Recurrence { day, time, first_date, last_date },
        data,
        replaces: None,
        by_operator: request.caller.operates(DOMAIN),
    };
    let example = new.payment(first_date, shard, now);
    example.must_fit()?;
    bank.payer.check(&example)?;
    let (is_new, order) = optimistically(|| bank.put_standing_order(&new, shard)).await?;
    Ok(Put { is_new, body: order.into() })
}

impl Bank {
    /// Puts the order. Returns whether it is new, and the stored order.
    async fn put_standing_order(&self, new: &StandingOrder, shard: Shard) -> Result<(bool, StandingOrder), Error> {
        let old = self.payments.get::<StandingOrder>(&new.key()).await?;
        if let Some(old) = old.as_ref().filter(|old| old.is_same(new)) {
            // This request has put the order if an earlier attempt of it did.
            return Ok((old.revision == new.revision && old.created_at == old.changed_at, old.clone()));
        }
        let now = new.changed_at;
        if new.recurrence.last_date.is_some_and(|last| last < now.day()) {
            return Err(Error::invalid("/body/lastDate", format!("must not be before {}", now.day())));
        }
        let (order, put) = if let Some(old) = &old {
            // The job of the change makes the order due when it has cancelled the old payments.
            let order = StandingOrder { created_at: old.created_at, replaces: Some(old.ended()), ..new.clone() };
            let put = self.payments.replace(&order)?.only_if_all(old.is_unchanged()?);
            (order, put)
        } else {
            let order = new.clone().due_on(new.recurrence.since(now), shard);
            let put = self.payments.put_new(&order)?;
            (order, put)
        };
        let job = self.job_of_change(&order, order.revision, order.replaces.clone(), now)?;
        self.dynamo.transact(vec![put, job]).await?;
        Ok((old.is_none(), order))
    }

    /// Returns the change that starts the job after a change or the end of a standing order.
    pub(crate) fn job_of_change(
        &self,
        order: &StandingOrder,
        id: RequestId,
        ended: Option<EndedRevision>,
        now: TimestampSeconds,
    ) -> Result<table::Change, Error> {
        let change = StandingChange { account: order.account.clone(), order: order.sort.0.clone(), id, ended };
        let name = JobId::StandingOrder(id);
        let job = Job::new(&job_key(&name), &name, &id, &Task::StandingOrder(Box::new(change)), now)?;
        Ok(self.jobs.table().put_new(&job)?)
    }
}
