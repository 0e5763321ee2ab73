//! B15: reads the certificate of a day (docs/requirements/bank.md#close-a-day,
//! docs/decisions/close.md).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    model::day::{
        Certificate, CertificateBody, Counts, CountsBody, Details, Discrepancy, LISTED, OpenPayment, complete,
    },
    patterns::start_close::DayInput,
};
use function::{Error, Json, Problem, Request, Route, Trigger};
use futures::future::try_join_all;
use keys::{
    Day,
    bank::{CertificateSort, CloseNumber, DayPartition, DiscrepancySort, DueSort, OpenSort, Status},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Page, Query,
    cost::{Cost, read, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B15",
    name: "get-day",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/days/{date}",
        scopes: &["bank:operate"],
        summary: "Get the certificate of a day, or its present counts if it is not closed",
        problems: &[Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", |_| Cost::default().read(cost::JOBS, read_eventually(0).times(3))),
        Calls::new(" not closed", |case| {
            Cost::default()
                .read(cost::JOBS, read_eventually(0) + read(0))
                .read(cost::DUE_PAYMENTS, case.queried(Status::ALL.len() * case.shards))
                .read(cost::DUE_TRANSACTIONS, case.empty_shards().times(Status::SETTLED.len()))
        }),
    ],
    contract: function::contract(&get_day),
    function: || function::http(get_day, Bank::warm_by_days),
};

/// Whether a day is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum DayStatus {
    Open,
    Closed,
}

/// A day. If it is not closed, it has only `counts`. `open` and `discrepancies` have the first 100
/// entries. `withoutAmount` is the number of settled payments that are not part of a total, because
/// their `data` has no valid `amount` and `currency`, or an amount of 10^28 minor units or more.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BankDay", extend("required" = ["date", "status", "counts"]))]
pub struct DayBody {
    date: Day,
    status: DayStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CountsBody")]
    counts: Option<Counts>,
    #[serde(flatten)]
    certificate: Option<CertificateBody>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    supplements: Vec<Supplement>,
}

/// Result of a later close. The counts and totals of settled payments are those since the close
/// before. The counts of `SCHEDULED` and `PENDING` payments are those that were still open. Only
/// the last supplement has `open` and `discrepancies`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "BankSupplement")]
struct Supplement {
    #[schemars(range(min = 2, max = 9_999))]
    number: u16,
    #[serde(flatten)]
    certificate: CertificateBody,
}

/// Reads the certificate of a day and its supplements. For a day that is not closed, counts its
/// payments by status. A payment that changes during the count may be counted twice or not at all.
///
/// # Errors
/// 403 for a caller without the operator scope. 413 if an index that projects all attributes has
/// more than 100 MB of the day's payments in one shard.
pub async fn get_day(bank: Bank, request: Request<DayInput>) -> Result<Json<DayBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let DayInput(date) = request.input;
    let certificates = bank.certificates(date).await?;
    let Some((first, others)) = certificates.split_first() else {
        let counts = Some(bank.counts(date).await?);
        return Ok(Json(DayBody { date, status: DayStatus::Open, counts, certificate: None, supplements: Vec::new() }));
    };
    let details = bank.details(date, first.sort.0).await?;
    let certificate = CertificateBody::of(first.clone(), None, Some(details));
    let mut supplements = Vec::with_capacity(others.len());
    for (position, supplement) in others.iter().enumerate() {
        let is_last = position + 1 == others.len();
        let details = if is_last { Some(bank.details(date, supplement.sort.0).await?) } else { None };
        let body = CertificateBody::of(supplement.clone(), certificates.get(position), details);
        supplements.push(Supplement { number: supplement.sort.0.number(), certificate: body });
    }
    let certificate = Some(certificate);
    Ok(Json(DayBody { date, status: DayStatus::Closed, counts: None, certificate, supplements }))
}

impl Bank {
    /// Reads the certificates of a day in order.
    async fn certificates(&self, day: Day) -> Result<Vec<Certificate>, Error> {
        let (partition, range) = (DayPartition(day), CertificateSort::all());
        Ok(self.jobs.table().look_up_all::<Certificate>(Query::new(&partition, &range)).await?.complete()?)
    }

    /// Reads the first open payments and discrepancies of a close.
    async fn details(&self, day: Day, number: CloseNumber) -> Result<Details, Error> {
        let (partition, open, found) = (DayPartition(day), OpenSort::all(&number), DiscrepancySort::all(&number));
        let (open, found) = (Query::new(&partition, &open), Query::new(&partition, &found));
        let table = self.jobs.table();
        let open: Page<OpenPayment> = table.page(&open, LISTED).await?;
        let found: Page<Discrepancy> = table.page(&found, LISTED).await?;
        Ok(Details {
            skipped: open.skipped + found.skipped,
            open: open.items.into_iter().map(Into::into).collect(),
            discrepancies: found.items.into_iter().map(Into::into).collect(),
        })
    }

    /// Counts the payments of the day in both tables. All payments of the history are settled.
    async fn counts(&self, day: Day) -> Result<Counts, Error> {
        let present = Status::ALL.map(|status| (&self.payments, status));
        let places = present.into_iter().chain(Status::SETTLED.map(|status| (&self.transactions, status)));
        let places = places.flat_map(|(table, status)| self.due.shards.read().map(move |shard| (table, status, shard)));
        let counts = places.map(|(table, status, shard)| async move {
            let range = DueSort::due_on(day, status);
            let count = table.count(&Query::new(&shard, &range).on(&self.due.index)).await?;
            Ok::<_, Error>((status, count))
        });
        Ok(complete(try_join_all(counts).await?))
    }
}
