//! Changes of one part of an activity (docs/decisions/wellness-activities.md).

use crate::{
    Activity, DOMAIN, Wellness,
    model::{
        groups::MAX_GROUPS,
        parts::{MAX_REFERENCES, MAX_REWARDS},
        row::Row,
    },
};
use function::{Caller, Error, Fields, Problem};
use keys::wellness::{ActivityId, ActivityPartition, CompanyId, Level, ProgramSort};
use table::{Change, Condition, Key, Query, Value};

/// The routes of parts. They end in the name of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartRoute {
    Detail,
    Goal,
    Reward,
    Groups,
    Group,
}

impl PartRoute {
    pub(crate) fn of(fields: &mut Fields) -> Option<Self> {
        match fields.route().rsplit_once("{activityId}/").map(|(_, part)| part) {
            Some("detail") => Some(Self::Detail),
            Some("goal") => Some(Self::Goal),
            Some("rewards/{kind}") => Some(Self::Reward),
            Some("groups") => Some(Self::Groups),
            Some("groups/{groupId}") => Some(Self::Group),
            _ => fields.fault("/path", "names no part of an activity"),
        }
    }

    /// Reads the sort key of the part.
    pub(crate) fn sort(self, fields: &mut Fields) -> Option<ProgramSort> {
        match self {
            Self::Detail => Some(ProgramSort::Detail),
            Self::Goal => Some(ProgramSort::GoalPrimary),
            Self::Reward => fields.path("kind").map(ProgramSort::Reward),
            Self::Groups => Some(ProgramSort::Groups),
            Self::Group => fields.path("groupId").map(ProgramSort::Group),
        }
    }
}

/// The name of a part in error messages.
pub(crate) fn name(part: &ProgramSort) -> &'static str {
    match part {
        ProgramSort::Program => "activity",
        ProgramSort::Detail => "detail",
        ProgramSort::GoalPrimary => "goal",
        ProgramSort::Reward(_) => "reward",
        ProgramSort::Groups => "groups",
        ProgramSort::Group(_) => "group",
        ProgramSort::Reference(_) => "reference",
    }
}

/// The stored rows of a part's level: the detail, the goal, all rewards, or all groups.
pub(crate) struct PartLevel {
    pub(crate) rows: Vec<Row>,
    pub(crate) unreadable: Vec<Key>,
}

impl PartLevel {
    /// Whether the part is stored, readable or not.
    pub(crate) fn has(&self, part: &ProgramSort) -> bool {
        let sort = part.to_string();
        self.find(part).is_some() || self.unreadable.iter().any(|key| key.sort() == sort)
    }

    /// Returns the row of the part, if it can be read.
    pub(crate) fn find(&self, part: &ProgramSort) -> Option<&Row> {
        self.rows.iter().find(|row| row.sort() == part)
    }

    /// The primary keys of all rows.
    pub(crate) fn keys(&self, activity: &ActivityId) -> Vec<Key> {
        let partition = ActivityPartition(activity.clone());
        let readable = self.rows.iter().map(|row| Key::new(&partition, row.sort()));
        readable.chain(self.unreadable.iter().cloned()).collect()
    }

    /// Checks that the activity may get the new part.
    ///
    /// # Errors
    /// - 404 if a group is added to an activity without groups.
    /// - 409 if the activity has the maximum number of such parts.
    pub(crate) fn must_admit(&self, part: &ProgramSort) -> Result<(), Error> {
        let count = self.rows.len() + self.unreadable.len();
        match part {
            ProgramSort::Group(_) if !self.has(&ProgramSort::Groups) => Err(Error::NotFound("groups")),
            // The level also contains the row `Program#Groups`.
            ProgramSort::Group(_) if count > MAX_GROUPS => Err(limit(MAX_GROUPS, "groups")),
            ProgramSort::Reward(_) if count >= MAX_REWARDS => Err(limit(MAX_REWARDS, "rewards")),
            ProgramSort::Reference(_) if count >= MAX_REFERENCES => Err(limit(MAX_REFERENCES, "references")),
            _ => Ok(()),
        }
    }
}

/// The error for an activity that already has the maximum number of parts of a kind.
pub(crate) fn limit(most: usize, what: &str) -> Error {
    Error::Conflict(Problem::PartLimit, format!("An activity has at most {most} {what}."))
}

impl Wellness {
    /// Reads an activity that is about to change. `version` is the version in the request, if any.
    ///
    /// # Errors
    /// - 404 if the activity does not exist or belongs to another company.
    /// - 412 if the activity has a different version.
    pub(crate) async fn activity_at(
        &self,
        company: &CompanyId,
        activity: &ActivityId,
        version: Option<i64>,
    ) -> Result<Activity, Error> {
        let found = self.activity(company, activity).await?;
        if version.is_some_and(|version| version != found.version) {
            return Err(Error::AnotherVersion);
        }
        Ok(found)
    }

    /// Returns the update that increments the version, with the caller as the author. DynamoDB
    /// refuses it if the version has changed. What was read after the activity is therefore still
    /// current.
    pub(crate) fn next_version(&self, activity: &Activity, caller: &Caller) -> Result<Change, Error> {
        let row = self.table.update(Activity::key_of(activity.id()));
        let row = row.only_if(Condition::is(Activity::VERSION, activity.version));
        let row = row.set(Activity::VERSION, activity.version + 1);
        Ok(row.set(Activity::CHANGED_BY, Value::of(&caller.author(DOMAIN))?))
    }

    /// Reads the level that contains the part, with strong consistency.
    pub(crate) async fn level_with(&self, activity: &ActivityId, part: &ProgramSort) -> Result<PartLevel, Error> {
        let level = match part {
            ProgramSort::Detail => Level::Detail,
            ProgramSort::GoalPrimary => Level::GoalPrimary,
            ProgramSort::Reward(_) => Level::Rewards,
            ProgramSort::Groups | ProgramSort::Group(_) => Level::Groups,
            ProgramSort::Program | ProgramSort::Reference(_) => Level::Program,
        };
        let (partition, range) = (ActivityPartition(activity.clone()), level.range());
        let (page, unreadable) = self.table.query_all_with_unreadable(&Query::new(&partition, &range)).await?;
        Ok(PartLevel { rows: page.items, unreadable })
    }
}
