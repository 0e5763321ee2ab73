use crate::{
    Activity, Group, Groups, Registration, Wellness,
    model::{groups::Members, part::PartLevel, row::Row},
};
use function::{Deadline, Error};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, GroupId, GroupsPartition, ProgramSort, RegistrationSort},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use table::{Condition, Key, Query, Value};

/// Number of registrations that a step reads.
const PAGE: usize = 1_000;
/// Time in seconds after the end of an activity in which the progress is still computed: 31 days,
/// for corrections by administrators.
pub(crate) const AFTER_END: i64 = 31 * 24 * 60 * 60;

/// Computes the progress of the groups of an activity (docs/decisions/wellness-points.md).
///
/// Each step reads a page of the registrations. The last step writes the progress of each group.
pub(crate) struct GroupsOf<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    activity: ActivityId,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct GroupsProgress {
    /// The position in the registrations.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The members of each group before this position.
    members: BTreeMap<GroupId, Members>,
    /// Number of unreadable registrations and groups.
    skipped: u64,
}

impl<'a> GroupsOf<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, activity: ActivityId) -> Self {
        Self { wellness, company, activity }
    }

    /// Adds a page of registrations. An employee who waits or has left is no member.
    async fn add(&self, at: &mut GroupsProgress) -> Result<(), Error> {
        let all = RegistrationSort::all();
        let rest = at.after.as_ref().map_or_else(|| all.clone(), |position| all.after(position));
        let query = Query::new(&ActivityPartition(self.activity.clone()), &rest).consistent();
        let page = self.wellness.table.page::<Registration>(&query, PAGE).await?;
        for registration in page.items.into_iter().filter(|one| one.absence.is_none()) {
            if let Some(group) = registration.group {
                at.members.entry(group).or_default().add(registration.progress);
            }
        }
        at.skipped += u64::try_from(page.skipped).unwrap_or(u64::MAX);
        at.after = page.next;
        Ok(())
    }

    /// Writes the progress of each group. A group that has been removed stays removed.
    async fn write(&self, job: &Job, at: &mut GroupsProgress) -> Result<u64, Error> {
        let Some(activity) = self.wellness.table.get::<Activity>(&Activity::key_of(&self.activity)).await? else {
            return Ok(0);
        };
        let PartLevel { rows, unreadable } = self.wellness.level_with(&self.activity, &ProgramSort::Groups).await?;
        let groups = rows.iter().find_map(|row| if let Row::Groups(groups) = row { Some(groups) } else { None });
        let Some(groups) = groups.filter(|_| activity.company == self.company) else { return Ok(0) };
        at.skipped += u64::try_from(unreadable.len()).unwrap_or(u64::MAX);
        let mut done = 0;
        for row in &rows {
            let ProgramSort::Group(id) = row.sort() else { continue };
            let members = at.members.get(id).copied().unwrap_or_default();
            let update = self.wellness.table.update(Group::key_of(&self.activity, id));
            let update = update.set(Group::PROGRESS, Value::of(&groups.progress(members))?);
            let update = update.set(Group::MEMBERS, i64::from(members.count)).set(Group::AS_OF, &job.started_at);
            match self.wellness.dynamo.write(update).await {
                Ok(()) => done += 1,
                Err(table::Error::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if has_long_ended(&activity, job.started_at) {
            self.unlist(Key::new(&groups.partition, &groups.sort)).await?;
        }
        Ok(done)
    }

    /// Ends the computation. An extension of the activity resumes it.
    async fn unlist(&self, key: Key) -> Result<(), Error> {
        let listed = Condition::is(Groups::LIST, &GroupsPartition::of(&self.activity));
        let unlist = self.wellness.table.update(key).remove(Groups::LIST).remove(Groups::PLACE);
        match self.wellness.dynamo.write(unlist.only_if(listed)).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the activity ended so long ago that the progress of its groups is no longer computed.
pub(crate) fn has_long_ended(activity: &Activity, now: TimestampSeconds) -> bool {
    activity.end().is_over(now.plus_seconds(-AFTER_END))
}

impl JobRunner for GroupsOf<'_> {
    type Progress = GroupsProgress;

    async fn step(&mut self, job: &Job, at: GroupsProgress, _: Deadline) -> Result<Step<GroupsProgress>, Error> {
        let (mut progress, mut done) = (at, job.done);
        self.add(&mut progress).await?;
        if progress.after.is_some() {
            return Ok(Step { progress, done, next: Next::Continue });
        }
        done += self.write(job, &mut progress).await?;
        Ok(Step { progress: GroupsProgress { members: BTreeMap::new(), ..progress }, done, next: Next::End })
    }

    fn skipped(progress: &GroupsProgress) -> u64 {
        progress.skipped
    }
}
