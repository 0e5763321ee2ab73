//! Events that Lambda stopped retrying (docs/operations.md#failed-events).

use super::stored::AuthoredActivity;
use crate::Activity;
use function::{Input, ObjectCreated};
use keys::wellness::{CompanyId, CompanyPartition, EmployeeSort, JobId, JobSort, RegistrationSort, UploadKey, UserId};
use serde_json::Value;

/// The images of a stream record.
const IMAGES: [&str; 2] = ["NewImage", "OldImage"];

/// The owner of the data to erase: a company, or one of its employees.
#[derive(Debug, Clone, PartialEq, Eq, Input)]
pub(crate) struct Owner {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(path = "userId")]
    pub(crate) user: Option<UserId>,
}

/// A failed event without the data of an owner.
#[derive(Debug, PartialEq)]
pub(crate) enum Cleaned {
    /// The event has no data of the owner.
    Unchanged,
    /// The records of others, without the owner as an author.
    Others(Vec<u8>),
    /// All records belong to the owner.
    Nothing,
}

impl Owner {
    /// Removes the records of the owner from a document that Lambda has written. Removes an erased
    /// employee as the author from the records of activities.
    ///
    /// A document about a stream has the event as text in `payload`. A document about another event
    /// has it in `requestPayload`.
    pub(crate) fn clean(&self, document: &[u8]) -> Cleaned {
        let Ok(mut document) = serde_json::from_slice::<Value>(document) else { return Cleaned::Unchanged };
        let payload =
            document.get("payload").and_then(Value::as_str).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let is_text = payload.is_some();
        let request = || document.get_mut("requestPayload").map(Value::take).unwrap_or_default();
        let mut event = payload.unwrap_or_else(request);
        let Some(Value::Array(records)) = event.get_mut("Records") else { return Cleaned::Unchanged };
        let before = records.len();
        records.retain(|record| !self.owns(record));
        let mut has_forgotten = false;
        for record in records.iter_mut() {
            has_forgotten |= self.forget(record);
        }
        if records.len() == before && !has_forgotten {
            return Cleaned::Unchanged;
        }
        if records.is_empty() {
            return Cleaned::Nothing;
        }
        if is_text {
            document["payload"] = event.to_string().into();
        } else {
            document["requestPayload"] = event;
        }
        Cleaned::Others(document.to_string().into_bytes())
    }

    fn owns(&self, record: &Value) -> bool {
        if let Some(object) = ObjectCreated::of_record(record) {
            let upload = object.key.parse::<UploadKey>();
            return self.user.is_none() && upload.is_ok_and(|upload| upload.company == self.company);
        }
        let change = &record["dynamodb"];
        let key = |name: &str| change["Keys"][name]["S"].as_str().unwrap_or_default();
        let is_of_company = CompanyPartition(self.company.clone()).owns(key("PK"));
        let of_user = |user: &UserId| names_user(key("SK"), user);
        (is_of_company || IMAGES.into_iter().any(|image| self.is_of_company(&change[image])))
            && self.user.as_ref().is_none_or(of_user)
    }

    fn is_of_company(&self, image: &Value) -> bool {
        image["CompanyId"]["S"].as_str() == Some(self.company.as_str())
    }

    /// Removes the employee as the author of an activity. Returns whether the employee was it.
    fn forget(&self, record: &mut Value) -> bool {
        let Some(user) = &self.user else { return false };
        let author = Activity::CHANGED_BY.as_str();
        let mut was_author = false;
        for image in IMAGES {
            let Some(image) = record.pointer_mut(&format!("/dynamodb/{image}")) else { continue };
            if self.is_of_company(image) && image[author]["M"][AuthoredActivity::SUB]["S"] == user.as_str() {
                was_author |= image.as_object_mut().and_then(|image| image.remove(author)).is_some();
            }
        }
        was_author
    }
}

/// Whether the sort key is that of an employee, of a registration, or of a job on the employee.
fn names_user(sort: &str, user: &UserId) -> bool {
    let job = |JobSort(id): JobSort| match id {
        JobId::Departure(of) | JobId::EmployeeErasure(of) => of == *user,
        _ => false,
    };
    sort.parse().is_ok_and(|EmployeeSort(of)| of == *user)
        || sort.parse().is_ok_and(|RegistrationSort(of)| of == *user)
        || sort.parse().is_ok_and(job)
}
