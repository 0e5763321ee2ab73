//! W17: restarts a failed job (docs/decisions/jobs.md).

use crate::{
    Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Function, Route, Trigger};
use table::{
    Units,
    cost::{Cost, read, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(jobs::retry_job::<Wellness>, Wellness::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W17",
    name: "retry-job",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/jobs/{jobId}/retry",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = CompanyId-<id>, SK = Job#<job id>. Then update the job if it is still failed at the same step. For a job on references, the same transaction checks that Hold#VenueId-<id> is absent. For a replacement, it also checks that no job runs on the replacement, and puts Hold#VenueId-<replacement> if absent. For a replacement or a report, get SK = Starts, and if it lists 10 jobs, get them; the transaction also puts SK = Starts if it is unchanged",
        formula: "⌈job⌉ R; ⌈job⌉ W for registrations; 2 × (⌈job⌉ + 1) W for an update, 2 × (⌈job⌉ + ⌈hold⌉ + 3) W for a replacement, or more if an earlier job on the replacement is larger than 1 KB; 2 × (⌈job⌉ + 1) W for a report. For a replacement or a report, 1 R more, and ⌈job⌉ R for each of 10 jobs. The table shows the cost for an update",
        cost: |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .write(cost::JOBS, (write(case.job) + Units::whole(1)).times(2))
        },
    }],
    function,
};
