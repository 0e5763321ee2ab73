//! Configuration of the AWS clients from Lambda's environment variables.
use aws_config::{
    BehaviorVersion, SdkConfig,
    ecs::EcsCredentialsProvider,
    environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider},
    meta::{credentials::CredentialsProviderChain, region::ProvideRegion},
    provider_config::ProviderConfig,
    retry::RetryConfig,
    timeout::TimeoutConfig,
};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::{
    rt::sleep::{SharedAsyncSleep, TokioSleep},
    time::SystemTimeSource,
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode},
};
use aws_smithy_runtime_api::client::http::{HttpClient, SharedHttpClient, http_client_fn};
use aws_types::service_config::{LoadServiceConfig, ServiceConfigKey};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{env, ffi::OsStr, time::Duration};

/// The five root certificates of Amazon Trust Services, which all AWS endpoints use.
///
/// Loading the system's 140 root certificates would take 3 to 20 ms (docs/decisions/cold-start.md).
const AMAZON_ROOTS: &[u8] = include_bytes!("../roots/amazon.pem");

/// Reads the region, the credentials and the endpoints from the standard AWS environment variables.
///
/// `aws_config::defaults` would add profiles, single sign-on, STS and instance metadata. Lambda
/// does not use these sources, and they would make the binary larger (docs/decisions/profile.md).
pub(crate) async fn config() -> Result<SdkConfig, lambda_runtime::Error> {
    let tls = TlsContext::builder().with_trust_store(trust_store()?).build()?;
    let https = Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).tls_context(tls).build_https();
    // Without this wrapper, each new client would parse the root certificates again.
    let http = http_client_fn(move |settings, components| https.http_connector(settings, components));
    Ok(SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(EnvironmentVariableRegionProvider::new().region().await)
        .credentials_provider(SharedCredentialsProvider::new(credentials(&http)))
        .service_config(Endpoints)
        .use_fips(is_on("AWS_USE_FIPS_ENDPOINT"))
        .use_dual_stack(is_on("AWS_USE_DUALSTACK_ENDPOINT"))
        .retry_config(retries())
        .timeout_config(timeouts())
        .sleep_impl(sleep())
        .time_source(SystemTimeSource::new())
        .http_client(http)
        .build())
}

/// The retries of the AWS clients of a Lambda.
pub fn retries() -> RetryConfig {
    RetryConfig::standard().with_max_attempts(5).with_max_backoff(Duration::from_secs(1))
}

/// The timeouts of the AWS clients of a Lambda.
///
/// After two seconds, the connection is probably broken, and a new attempt is faster. The deadline
/// of the invocation limits the total time of all attempts.
pub fn timeouts() -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(2))
        .build()
}

/// The timer of the AWS clients.
pub(crate) fn sleep() -> SharedAsyncSleep {
    SharedAsyncSleep::new(TokioSleep::new())
}

/// Returns the TLS settings for services outside AWS.
pub(crate) fn outbound_tls() -> Result<(Provider, TlsContext), lambda_runtime::Error> {
    let store = match named_roots()? {
        Some(roots) => TrustStore::empty().with_native_roots(false).with_pem_certificate(roots),
        None => TrustStore::empty().with_native_roots(true),
    };
    Ok((Provider::Rustls(CryptoMode::AwsLc), TlsContext::builder().with_trust_store(store).build()?))
}

/// Reads the credentials from environment variables, or else from the container credentials URL.
/// Lambda provides this URL if an execution environment can outlive its credentials.
fn credentials(http: &SharedHttpClient) -> CredentialsProviderChain {
    let provider = ProviderConfig::default().with_http_client(http.clone());
    CredentialsProviderChain::first_try("Environment", EnvironmentVariableCredentialsProvider::new())
        .or_else("Container", EcsCredentialsProvider::builder().configure(&provider).build())
}

fn is_on(variable: &str) -> bool {
    env::var(variable).is_ok_and(|value| value.eq_ignore_ascii_case("true"))
}

/// Reads `AWS_ENDPOINT_URL_DYNAMODB` first, then `AWS_ENDPOINT_URL`. An empty variable counts as
/// not set, because a template can declare a variable whose value is only used locally.
#[derive(Debug)]
struct Endpoints;

impl LoadServiceConfig for Endpoints {
    fn load_config(&self, key: ServiceConfigKey<'_>) -> Option<String> {
        let service = key.service_id().to_uppercase().replace(' ', "_");
        endpoint([&format!("{}_{service}", key.env()), key.env()], |name| env::var(name).ok())
    }
}

/// Returns the value of the first variable that is not empty.
fn endpoint(names: [&str; 2], value: impl Fn(&str) -> Option<String>) -> Option<String> {
    names.into_iter().filter_map(value).find(|url| !url.trim().is_empty())
}

/// Returns Amazon's root certificates, unless the environment names others.
fn trust_store() -> Result<TrustStore, lambda_runtime::Error> {
    let roots = named_roots()?.unwrap_or_else(|| AMAZON_ROOTS.to_vec());
    Ok(TrustStore::empty().with_native_roots(false).with_pem_certificate(roots))
}

/// Reads the root certificates of the file that `AWS_CA_BUNDLE` or `SSL_CERT_FILE` names, for users
/// behind a TLS proxy.
fn named_roots() -> Result<Option<Vec<u8>>, lambda_runtime::Error> {
    let named = ["AWS_CA_BUNDLE", "SSL_CERT_FILE"].into_iter().find_map(|name| Some((name, env::var_os(name)?)));
    let Some((name, file)) = named else { return Ok(None) };
    Ok(Some(roots_of(&file).map_err(|why| format!("{name}={}: {why}", file.display()))?))
}

/// Reads and checks a file of root certificates.
///
/// Without this check, an invalid file would cause a panic in the first SDK call.
fn roots_of(file: &OsStr) -> Result<Vec<u8>, lambda_runtime::Error> {
    let roots = std::fs::read(file)?;
    let mut store = RootCertStore::empty();
    for (number, certificate) in CertificateDer::pem_slice_iter(&roots).enumerate() {
        // The error text of `add` refers to a TLS peer, which would be misleading here.
        store.add(certificate?).map_err(|_| format!("certificate {} can't be read", number + 1))?;
    }
    if store.is_empty() { Err("the file contains no certificate".into()) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_endpoint_counts_as_not_set() {
        let of = |own: Option<&str>, common: Option<&str>| {
            let value = |name: &str| if name == "own" { own } else { common }.map(str::to_owned);
            endpoint(["own", "common"], value)
        };
        let url = Some("http://127.0.0.1:8000".to_owned());
        assert_eq!(of(url.as_deref(), Some("http://other")), url);
        for empty in [None, Some(""), Some(" ")] {
            assert_eq!(of(empty, url.as_deref()), url);
            assert_eq!(of(empty, Some("")), None);
        }
    }

    #[test]
    fn invalid_roots_are_an_error_not_a_panic() {
        let amazon = String::from_utf8(AMAZON_ROOTS.to_vec()).expect("PEM");
        let cut = &amazon[..amazon.len() / 10];
        let not_base64 = amazon.replacen("MII", "M!!", 1);
        let not_der = "-----BEGIN CERTIFICATE-----\nTm8gREVS\n-----END CERTIFICATE-----\n";
        let one_of_them = format!("{amazon}{not_der}");
        let file = env::temp_dir().join(format!("roots-{}.pem", std::process::id()));
        for bad in ["", "no certificate", cut, &not_base64, not_der, &one_of_them] {
            std::fs::write(&file, bad).expect("written");
            assert!(roots_of(file.as_os_str()).is_err(), "{bad}");
        }
        std::fs::write(&file, &amazon).expect("written");
        assert_eq!(roots_of(file.as_os_str()).expect("roots"), AMAZON_ROOTS);
        std::fs::remove_file(&file).expect("removed");
        assert!(roots_of(file.as_os_str()).is_err());
    }
}
