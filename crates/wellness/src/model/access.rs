//! Which users and activities a caller may see (docs/decisions/wellness-activities.md).

use crate::DOMAIN;
use function::{Caller, Error, Input};
use keys::wellness::{CompanyId, EmployeeKey, Status, UserId};

/// The employee in a path below `/wellness/users/{userId}`. The path names only the user, and two
/// companies may have an employee with the same user id.
#[derive(Debug, Clone, Input)]
pub(crate) struct OfUser {
    #[input(path = "userId")]
    user: UserId,
    /// The company of the user. Required for operators. Other callers may only name their own
    /// company.
    #[input(query = "companyId")]
    company: Option<CompanyId>,
}

impl OfUser {
    /// Returns the employee if the caller may access it: the employee, an administrator of the
    /// company, or an operator. Operators name the company, and other callers have it in the token.
    ///
    /// # Errors
    /// - 400 if an operator does not name the company.
    /// - 403 if the caller is another user, or names another company.
    pub(crate) fn of(&self, caller: &Caller) -> Result<EmployeeKey, Error> {
        if !caller.administers(DOMAIN) {
            caller.must_be(&self.user, DOMAIN)?;
        }
        let company = match (caller.confined_to(DOMAIN)?, &self.company) {
            (None, None) => return Err(Error::invalid("/query/companyId", "is required for operators")),
            (None, Some(company)) => company.clone(),
            (Some(own), None) => own.parse().map_err(|_| Error::Forbidden)?,
            (Some(own), Some(company)) if company.as_str() == own => company.clone(),
            (Some(_), Some(_)) => return Err(Error::Forbidden),
        };
        table::set_tenant(&company);
        Ok(EmployeeKey { company, user: self.user.clone() })
    }
}

/// Whether the caller may see activities with this stored status. Employees see active activities,
/// also after their end. Administrators and operators see all.
pub(crate) fn sees(caller: &Caller, status: Status) -> bool {
    caller.administers(DOMAIN) || status == Status::Active
}
