//! The HTTP API with its JWT authorizer.
use super::node::{Node, Result, fault};

const WHAT: &str = "AWS::Serverless::HttpApi";

/// JWT authorizer of all routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorizer {
    /// Issuer of the tokens.
    pub issuer: String,
    /// Accepted audiences. A token must contain one of them.
    pub audiences: Vec<String>,
}

impl Authorizer {
    /// Authorizer of a local stack, with the issuer and audience `local`.
    pub fn local() -> Self {
        Self { issuer: "local".to_owned(), audiences: vec!["local".to_owned()] }
    }

    pub(crate) fn read(api: &Node) -> Result<Self> {
        api.only(
            WHAT,
            &["Auth", "CorsConfiguration"],
            &["AccessLogSettings", "DefaultRouteSettings", "FailOnWarnings"],
        )?;
        let auth = api.need(WHAT, "Auth")?;
        auth.only("Auth", &["DefaultAuthorizer", "Authorizers"], &[])?;
        let default = auth.need("Auth", "DefaultAuthorizer")?;
        let authorizers = auth.need("Auth", "Authorizers")?;
        let [entry] = authorizers.map()? else {
            return fault(authorizers.line, "the local stack supports only one authorizer");
        };
        if entry.key != default.text()? {
            return fault(default.line, format!("there is no authorizer {}", default.text()?));
        }
        Self::read_jwt(&entry.node)
    }

    fn read_jwt(authorizer: &Node) -> Result<Self> {
        authorizer.only("an authorizer", &["JwtConfiguration", "IdentitySource"], &[])?;
        if let Some(source) = authorizer.get("IdentitySource")
            && source.text()? != "$request.header.Authorization"
        {
            return fault(
                source.line,
                "the local stack supports only the identity source $request.header.Authorization",
            );
        }
        let jwt = authorizer.need("an authorizer", "JwtConfiguration")?;
        jwt.only("JwtConfiguration", &["issuer", "audience"], &[])?;
        let issuer = jwt.need("JwtConfiguration", "issuer")?.text()?.to_owned();
        let audiences = jwt.need("JwtConfiguration", "audience")?.texts()?;
        Ok(Self { issuer, audiences })
    }
}
