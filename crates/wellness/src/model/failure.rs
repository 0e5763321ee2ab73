//! Events that Lambda stopped retrying (docs/operations.md#failed-events).

use function::{Input, ObjectCreated};
use keys::wellness::{CompanyId, CompanyPartition, EmployeeSort, JobId, JobSort, UploadKey, UserId};
use serde_json::Value;

/// The owner of the data to erase: a company, or one of its employees.
#[derive(Debug, Clone, PartialEq, Eq, Input)]
pub(crate) struct Owner {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(path = "userId")]
    pub(crate) user: Option<UserId>,
}

/// A failed event without the records of an owner.
#[derive(Debug, PartialEq)]
pub(crate) enum Cleaned {
    /// The event has no record of the owner.
    Unchanged,
    /// The records of others.
    Others(Vec<u8>),
    /// All records belong to the owner.
    Nothing,
}

impl Owner {
    /// Removes the records of the owner from a document that Lambda has written.
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
        if records.len() == before {
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
        let names = |image: &str| change[image]["CompanyId"]["S"].as_str() == Some(self.company.as_str());
        let is_of_company = CompanyPartition(self.company.clone()).owns(key("PK"));
        let of_user = |user: &UserId| names_user(key("SK"), user);
        (is_of_company || names("NewImage") || names("OldImage")) && self.user.as_ref().is_none_or(of_user)
    }
}

/// Whether the sort key is that of an employee, or of a job on the employee.
fn names_user(sort: &str, user: &UserId) -> bool {
    let job = |JobSort(id): JobSort| match id {
        JobId::Departure(of) | JobId::EmployeeErasure(of) => of == *user,
        _ => false,
    };
    sort.parse().is_ok_and(|EmployeeSort(of)| of == *user) || sort.parse().is_ok_and(job)
}
