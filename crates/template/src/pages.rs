//! Web pages of another origin that may call an API or a bucket (CORS).
use super::node::{Node, Result};

/// Names of the settings in the order of the fields of [`Pages`].
type Names = [&'static str; 5];

const API: Names = ["AllowOrigins", "AllowMethods", "AllowHeaders", "ExposeHeaders", "MaxAge"];
const BUCKET: Names = ["AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposedHeaders", "MaxAge"];

/// The web pages, and what they may send and read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Origins of the pages, such as `https://shop.example`.
    pub origins: Vec<String>,
    /// Methods of their requests.
    pub methods: Vec<String>,
    /// Headers of their requests. `*` allows all.
    pub headers: Vec<String>,
    /// Headers of the responses that they may read.
    pub exposed: Vec<String>,
    /// Seconds for which a browser may keep the answer to a preflight request.
    pub max_age: u64,
}

impl Pages {
    /// Reads the `CorsConfiguration` of an API.
    pub(crate) fn of_api(node: &Node) -> Result<Self> {
        Self::read(node, API)
    }

    /// Reads the `CorsConfiguration` of a bucket, which has one rule.
    pub(crate) fn of_bucket(node: &Node) -> Result<Self> {
        let rules = node.only("CorsConfiguration", &["CorsRules"], &[])?.need("CorsConfiguration", "CorsRules")?;
        match rules.list()? {
            [rule] => Self::read(rule, BUCKET),
            _ => super::node::fault(rules.line, "the local stack supports only one rule"),
        }
    }

    fn read(node: &Node, names: Names) -> Result<Self> {
        let [origins, methods, headers, exposed, max_age] = names;
        node.only("CorsConfiguration", &names, &[])?;
        let texts = |name| node.get(name).map_or_else(|| Ok(Vec::new()), Node::texts);
        Ok(Self {
            origins: node.need("CorsConfiguration", origins)?.texts()?,
            methods: node.need("CorsConfiguration", methods)?.texts()?,
            headers: texts(headers)?,
            exposed: texts(exposed)?,
            max_age: node.get(max_age).map_or(Ok(0), Node::number)?,
        })
    }
}
