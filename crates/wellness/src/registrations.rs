//! The registrations of an employee, read from GSI3
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).

use crate::{Registration, Wellness};
use function::Error;
use keys::{
    KeyRange,
    wellness::{
        ActivityEndDateSort, ActivityPartition, EmployeeKey, Period, RegistrationPlace, RegistrationsPartition,
    },
};
use table::{BadCursor, IndexPosition, Item, MergedQuery, Page, Projection};

/// Number of registrations of a page that names no limit. With 2 KB of data each, such a page is
/// smaller than a response may be.
pub(crate) const WHOLE_PAGE: usize = 1_000;
/// Maximum number of pages of [`Wellness::all_registrations`].
const MAX_PAGES: usize = 100;

impl Wellness {
    /// Reads a page of the registrations of an employee, sorted by end date. `after` is the `next`
    /// of the previous page.
    ///
    /// # Errors
    /// 400 if `after` is not a position of the list.
    pub(crate) async fn registrations_page<T: Item>(
        &self,
        of: &EmployeeKey,
        range: &KeyRange,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Page<T>, Error> {
        let partition = RegistrationsPartition { company: of.company.clone(), user: of.user.clone() }.to_string();
        let place = after.map(str::parse::<RegistrationPlace>).transpose();
        let place = place.map_err(|_| Error::invalid("/query/cursor", BadCursor))?;
        let behind = place.map(|RegistrationPlace { end, activity }| IndexPosition {
            partition: partition.clone(),
            sort: ActivityEndDateSort(end).to_string(),
            key: Registration::key_of(&activity, &of.user),
        });
        let (index, partitions) = (&self.registrations, vec![partition]);
        let list = MergedQuery { index, projection: Projection::All, partitions, range, behind };
        let is_usable = |position: &IndexPosition| place_of(position).is_some();
        let (page, _) = self.table.merged_page::<T>(list, limit, is_usable).await?;
        let next = page.next.as_ref().and_then(place_of).map(|place| place.to_string());
        Ok(Page { items: page.items, next, skipped: page.skipped })
    }

    /// Reads all registrations of an employee for activities that end within the period, and
    /// returns what `keep` keeps of each.
    ///
    /// # Errors
    /// [`table::Error::TooMuch`] if there are more than 100,000.
    pub(crate) async fn all_registrations<T>(
        &self,
        of: &EmployeeKey,
        period: Period,
        keep: impl Fn(Registration) -> T,
    ) -> Result<Page<T>, Error> {
        let range = ActivityEndDateSort::within(period);
        let mut all = Page { items: Vec::new(), next: None, skipped: 0 };
        for _ in 0..MAX_PAGES {
            let page = self.registrations_page::<Registration>(of, &range, all.next.as_deref(), WHOLE_PAGE).await?;
            all.items.extend(page.items.into_iter().map(&keep));
            (all.next, all.skipped) = (page.next, all.skipped + page.skipped);
            if all.next.is_none() {
                return Ok(all);
            }
        }
        Err(table::Error::TooMuch.into())
    }
}

/// Returns the place of an entry. `None` if its key is invalid.
fn place_of(position: &IndexPosition) -> Option<RegistrationPlace> {
    let ActivityEndDateSort(end) = position.sort.parse().ok()?;
    let ActivityPartition(activity) = position.key.partition().parse().ok()?;
    Some(RegistrationPlace { end, activity })
}
