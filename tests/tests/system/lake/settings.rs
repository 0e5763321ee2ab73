use super::{
    driver::{clients, invoke, settings},
    stub::{Fault, Stub},
};
use function::{Settings, SettingsError};
use serde_json::Value;
use std::time::Duration;

const KEY: &str = "0123456789abcdef0123456789abcdef";

async fn fault(settings: Settings) -> Option<String> {
    let stub = Stub::start(|_| Fault::None).await;
    let function = lake::patterns::export_changes::function();
    function.bind(&settings, clients(&stub)).err().map(|error: SettingsError| error.to_string())
}

#[tokio::test]
async fn reports_every_invalid_setting() {
    assert_eq!(
        fault(Settings::default()).await.as_deref(),
        Some("DELIVERY_PREFIX is missing; FAILURE_BUCKET is missing; LAKE_BUCKET is missing")
    );
    let short = fault(settings([("ACCOUNT_TOKEN_KEY", &KEY[1..]), ("FAILURE_BUCKET", "")])).await;
    let text = short.expect("faults");
    assert_eq!(text, "FAILURE_BUCKET is missing; ACCOUNT_TOKEN_KEY: must have at least 32 characters");
    assert!(!text.contains(&KEY[1..]), "the error must not contain the key");
    assert_eq!(fault(settings([("ACCOUNT_TOKEN_KEY", "")])).await, None, "an empty key disables tokens");
    assert_eq!(fault(settings([("ACCOUNT_TOKEN_KEY", KEY)])).await, None);
}

#[tokio::test]
async fn rows_have_tokens_instead_of_account_ids_if_a_key_is_set() {
    let stub = Stub::start(|_| Fault::None).await;
    let function = lake::patterns::export_changes::function();
    let service = function.bind(&settings([("ACCOUNT_TOKEN_KEY", KEY)]), clients(&stub)).expect("valid settings");
    let event = serde_json::from_str(include_str!("../../../../events/lake/export-changes.json")).expect("JSON");
    invoke(&service, event, Duration::from_mins(1)).await.answer.expect("an answer");
    let rows = stub.taken().rows();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(!row.to_string().contains("Account1"), "{row}");
        assert_eq!(row["account_id"], Value::from("token-NVoSHo1v3-PAysreNNUaN7Vp0Z-rnlis8xS2YykEYQ8"));
    }
}
