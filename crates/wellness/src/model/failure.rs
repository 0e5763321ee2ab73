//! Events that Lambda stopped retrying (docs/operations.md#failed-events).

use function::ObjectCreated;
use keys::wellness::{CompanyId, CompanyPartition, EmployeeSort, JobId, JobSort, UploadKey, UserId};
use serde_json::Value;

/// The owner of the data to erase: a company, or one of its employees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) company: CompanyId,
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn owner(user: Option<&str>) -> Owner {
        let user = user.map(|user| user.parse().expect("a user"));
        Owner { company: "1".parse().expect("a company"), user }
    }

    fn change(partition: &str, sort: &str) -> Value {
        json!({"dynamodb": {"Keys": {"PK": {"S": partition}, "SK": {"S": sort}}}})
    }

    fn document(records: &[Value]) -> Vec<u8> {
        json!({"version": "1.0", "payload": json!({"Records": records}).to_string()}).to_string().into_bytes()
    }

    fn left(cleaned: Cleaned) -> Vec<Value> {
        let Cleaned::Others(document) = cleaned else { panic!("{cleaned:?}") };
        let document: Value = serde_json::from_slice(&document).expect("JSON");
        assert_eq!(document["version"], "1.0");
        let event: Value = serde_json::from_str(document["payload"].as_str().expect("a text")).expect("JSON");
        event["Records"].as_array().expect("records").clone()
    }

    #[test]
    fn only_the_records_of_the_owner_are_removed() {
        let own = [change("CompanyId-1#Employees#3", "UserId-u"), change("CompanyId-1", "Job#DepartureId-u")];
        let others = [change("CompanyId-11", "Job#DepartureId-u"), change("CompanyId-2#Employees#3", "UserId-u")];
        assert_eq!(owner(None).clean(&document(&own)), Cleaned::Nothing);
        assert_eq!(owner(None).clean(&document(&others)), Cleaned::Unchanged);
        assert_eq!(left(owner(None).clean(&document(&[&own[..], &others].concat()))), others);
        let mut registration = change("ActivityId-a", "Registration#UserId-u");
        registration["dynamodb"]["OldImage"] = json!({"CompanyId": {"S": "1"}});
        assert_eq!(owner(None).clean(&document(&[registration])), Cleaned::Nothing);
        let colleague = change("CompanyId-1#Employees#3", "UserId-v");
        assert_eq!(left(owner(Some("u")).clean(&document(&[own[0].clone(), colleague.clone()]))), [colleague]);
        assert_eq!(owner(Some("u")).clean(&document(&own)), Cleaned::Nothing);
        assert_eq!(owner(Some("u")).clean(&document(&others)), Cleaned::Unchanged);
    }

    #[test]
    fn events_of_objects_and_other_documents_are_recognized() {
        let object = |key: &str| {
            json!({
                "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
                "s3": {"bucket": {"name": "b"}, "object": {"key": key, "size": 1, "eTag": "e", "sequencer": "1"}},
            })
        };
        let event = |key: &str| json!({"requestPayload": {"Records": [object(key)]}}).to_string().into_bytes();
        assert_eq!(owner(None).clean(&event("uploads/1/files/f")), Cleaned::Nothing);
        assert_eq!(owner(None).clean(&event("uploads/11/files/f")), Cleaned::Unchanged);
        assert_eq!(owner(Some("u")).clean(&event("uploads/1/files/f")), Cleaned::Unchanged);
        for other in [&b"not JSON"[..], b"{}", b"[]", br#"{"payload": "no"}"#, br#"{"requestPayload": {"time": "t"}}"#]
        {
            assert_eq!(owner(None).clean(other), Cleaned::Unchanged);
        }
    }
}
