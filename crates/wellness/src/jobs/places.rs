//! The partitions of `Activities` with the data of a company.

use crate::{
    Activity, Wellness,
    model::stored::{ListedActivity, StoredItem},
};
use function::Error;
use keys::{
    KeyRange,
    wellness::{
        ActivityId, ActivityPartition, CompanyId, CompanyPartition, EmployeesPartition, EndDateSort, ListPartition,
        PointsPartition, RegistrationPlace, ReportsPartition,
    },
};
use table::{IndexPosition, Key, MergedQuery, Page, Projection, Query, Table};

/// A partition with items of a company.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Partition {
    /// The name of this kind of data in an export.
    pub(crate) group: &'static str,
    /// The partition key.
    pub(crate) key: String,
    /// The items.
    pub(crate) range: KeyRange,
}

/// A page of items.
pub(crate) struct StoredPage {
    pub(crate) items: Vec<StoredItem>,
    /// The sort keys of items with an attribute that JSON cannot express.
    pub(crate) unreadable: Vec<String>,
    /// The sort key after which the next page starts.
    pub(crate) next: Option<String>,
}

/// Returns the partitions of a company. Its employees come first, because functions that find no
/// employee write no registration.
pub(crate) fn partitions(company: &CompanyId, activities: &[ActivityId]) -> Vec<Partition> {
    let whole = |group, key| Partition { group, key, range: KeyRange::whole_partition() };
    let employees = (0..).map_while(|part| EmployeesPartition::numbered(company.clone(), part));
    let employees = employees.map(|key| whole("employees", key.to_string()));
    let activities = activities.iter().map(|id| whole("activities", ActivityPartition(id.clone()).to_string()));
    let others = [
        whole("company", CompanyPartition(company.clone()).to_string()),
        whole("points", PointsPartition(company.clone()).to_string()),
        whole("reports", ReportsPartition(company.clone()).to_string()),
    ];
    employees.chain(activities).chain(others).collect()
}

impl Partition {
    /// Reads a page with strong consistency.
    pub(crate) async fn page(&self, table: &Table, after: Option<&str>, limit: usize) -> Result<StoredPage, Error> {
        let rest = after.map_or_else(|| self.range.clone(), |position| self.range.after(position));
        let query = Query::new(&self.key, &rest).consistent();
        let (page, unreadable) = table.page_with_unreadable::<StoredItem>(&query, limit).await?;
        let unreadable = unreadable.iter().map(|key: &Key| key.sort().to_owned()).collect();
        Ok(StoredPage { items: page.items, unreadable, next: page.next })
    }
}

impl Wellness {
    /// Lists the activities of a company, of all times and statuses.
    pub(crate) async fn activities_of(&self, company: &CompanyId) -> Result<Vec<ActivityId>, Error> {
        let range = EndDateSort::all();
        let query = Query::new(&ListPartition(company.clone()), &range).on(&self.lists).large();
        let page = self.table.query_all::<ListedActivity>(&query).await?;
        Ok(page.items.into_iter().map(|activity| activity.partition.0).collect())
    }

    /// Reads a page of the activities of a company, of all times and statuses. `after` is the
    /// `next` of the previous page.
    pub(crate) async fn activities_page(
        &self,
        company: &CompanyId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<ActivityId>, Error> {
        let (partition, range) = (ListPartition(company.clone()).to_string(), EndDateSort::all());
        let place = after.map(str::parse::<RegistrationPlace>).transpose();
        let place = place.map_err(|error| Error::Internal(error.to_string()))?;
        let behind = place.map(|RegistrationPlace { end, activity }| IndexPosition {
            partition: partition.clone(),
            sort: EndDateSort(end).to_string(),
            key: Activity::key_of(&activity),
        });
        let (index, partitions) = (&self.lists, vec![partition]);
        let list = MergedQuery { index, projection: Projection::All, partitions, range: &range, behind };
        let place_of = |position: &IndexPosition| {
            let EndDateSort(end) = position.sort.parse().ok()?;
            let ActivityPartition(activity) = position.key.partition().parse().ok()?;
            Some(RegistrationPlace { end, activity })
        };
        let is_usable = |position: &IndexPosition| place_of(position).is_some();
        let (page, _) = self.table.merged_page::<ListedActivity>(list, limit, is_usable).await?;
        let next = page.next.as_ref().and_then(place_of).map(|place| place.to_string());
        let items = page.items.into_iter().map(|activity| activity.partition.0).collect();
        Ok(Page { items, next, skipped: page.skipped })
    }
}
