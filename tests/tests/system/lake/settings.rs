use super::{
    driver::{clients, invoke, settings},
    stub::{Fault, Stub},
};
use function::{Settings, SettingsError};
use std::time::Duration;
use system_tests::{events::event, text};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn fault(settings: &Settings) -> Option<String> {
    let function = (lake::patterns::export_changes::PATTERN.function)();
    let bound = function.bind(settings, clients(&Stub::new(|_| Fault::None)));
    bound.err().map(|error: SettingsError| error.to_string())
}

#[tokio::test]
async fn reports_every_invalid_setting() {
    let missing = "DELIVERY_PREFIX is missing; FAILURE_BUCKET is missing; LAKE_BUCKET is missing";
    assert_eq!(fault(&Settings::default()).as_deref(), Some(missing));
    // The error must not contain the key.
    let short = fault(&settings([("ACCOUNT_TOKEN_KEY", &KEY[1..]), ("FAILURE_BUCKET", "")]));
    let wanted = "FAILURE_BUCKET is missing; ACCOUNT_TOKEN_KEY: must have at least 32 characters";
    assert_eq!(short.as_deref(), Some(wanted));
    assert_eq!(fault(&settings([("ACCOUNT_TOKEN_KEY", "")])), None, "an empty key disables tokens");
}

#[tokio::test]
async fn rows_have_tokens_instead_of_account_ids_if_a_key_is_set() {
    let stub = Stub::new(|_| Fault::None);
    let function = (lake::patterns::export_changes::PATTERN.function)();
    let service = function.bind(&settings([("ACCOUNT_TOKEN_KEY", KEY)]), clients(&stub)).expect("valid settings");
    invoke(&service, event("export-changes", ""), Duration::from_mins(1)).await.answer.expect("an answer");
    let rows = stub.taken().rows();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(!row.to_string().contains("Account1"), "{row}");
        assert_eq!(text(&row, "account_id"), "token-NVoSHo1v3-PAysreNNUaN7Vp0Z-rnlis8xS2YykEYQ8");
    }
}
