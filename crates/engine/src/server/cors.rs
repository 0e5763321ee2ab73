//! Answers to web pages of another origin (CORS).
use std::{str::FromStr, time::Duration};

use template::Pages;
use tower_http::cors::CorsLayer;

/// Answers preflight requests, and adds the headers to other responses, as the template declares.
/// Names that are not valid in HTTP are left out.
pub fn cors(pages: &Pages) -> CorsLayer {
    CorsLayer::new()
        .allow_origin(all(&pages.origins))
        .allow_methods(all(&pages.methods))
        .allow_headers(all(&pages.headers))
        .expose_headers(all(&pages.exposed))
        .max_age(Duration::from_secs(pages.max_age))
}

fn all<T: FromStr>(texts: &[String]) -> Vec<T> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
