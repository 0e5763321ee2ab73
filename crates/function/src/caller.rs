use crate::Error;
use keys::{AccountId, is_identifier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeSet, HashMap},
    fmt::Display,
};

/// The caller of a request. The identity of a request comes only from the authorizer's claims.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// The user id (claim `sub`). Empty if the token has none, or if it is not a valid identifier.
    /// An empty text is no user's id.
    pub subject: String,
    scopes: BTreeSet<String>,
    accounts: BTreeSet<String>,
    company: Option<String>,
}

/// The caller who last changed an item (docs/decisions/authors.md). Only operators and
/// administrators see it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedBy {
    /// The user id: claim `sub` of the token. Empty if the token has none.
    pub sub: String,
    /// The strongest scope of the caller in the service.
    pub scope: String,
}

impl ChangedBy {
    /// The author, if the caller is an operator of the domain. Others do not see it.
    #[must_use]
    pub fn seen_by(self, caller: &Caller, domain: &str) -> Option<Self> {
        caller.operates(domain).then_some(self)
    }

    /// The author of an item of a company, if the caller is an administrator or an operator of the
    /// domain. The caller must belong to the company ([`Caller::must_belong_to`]).
    #[must_use]
    pub fn seen_in_company(self, caller: &Caller, domain: &str) -> Option<Self> {
        caller.administers(domain).then_some(self)
    }
}

impl Caller {
    /// Reads the claims `sub`, `scope` and `scp`, `account_ids` and `company_id`. Only scopes that
    /// begin with `prefix` count, without it.
    ///
    /// API Gateway passes every claim as a string. A list has the form `a b` or `[a b]`. No
    /// identifier contains white space or brackets, so the values that are not identifiers are
    /// dropped (docs/decisions/input.md).
    pub(crate) fn from_claims(claims: &HashMap<String, String>, prefix: &str) -> Self {
        let list = |claim: &str, prefix| claims.get(claim).map(|text| values(text, prefix)).unwrap_or_default();
        let id = |claim: &str| claims.get(claim).filter(|id| is_value(id)).cloned();
        Self {
            subject: id("sub").unwrap_or_default(),
            scopes: &list("scope", prefix) | &list("scp", prefix),
            accounts: list("account_ids", ""),
            company: id("company_id"),
        }
    }

    /// Creates a user without scopes, for work that another service starts in the user's name.
    pub fn user(subject: &impl Display) -> Self {
        Self { subject: subject.to_string(), ..Self::default() }
    }

    /// Returns the caller as the author of a change in the domain.
    pub fn author(&self, domain: &str) -> ChangedBy {
        let scope = if self.operates(domain) {
            format!("{domain}:operate")
        } else if self.administers(domain) {
            format!("{domain}:admin")
        } else {
            // `write` follows `read` in the alphabet.
            let prefix = format!("{domain}:");
            self.scopes.iter().rfind(|scope| scope.starts_with(&prefix)).cloned().unwrap_or_default()
        };
        ChangedBy { sub: self.subject.clone(), scope }
    }

    /// Returns `all` for an operator of any domain, otherwise `own`. Cursors include this value, so
    /// a caller cannot use a cursor from a caller with different access (docs/decisions/lists.md).
    pub(crate) fn reach(&self) -> &'static str {
        if self.scopes.iter().any(|scope| scope.ends_with(":operate")) { "all" } else { "own" }
    }

    /// Whether the caller is an operator of the domain.
    pub fn operates(&self, domain: &str) -> bool {
        self.scopes.contains(&format!("{domain}:operate"))
    }

    /// Whether the caller is an administrator or an operator of the domain. An administrator is
    /// confined to one company ([`Caller::confined_to`]).
    pub fn administers(&self, domain: &str) -> bool {
        self.scopes.contains(&format!("{domain}:admin")) || self.operates(domain)
    }

    /// Requires the caller to be an operator of the domain.
    ///
    /// # Errors
    /// Returns [`Error::OperatorsOnly`] (403) for other callers.
    pub fn must_operate(&self, domain: &str) -> Result<(), Error> {
        if self.operates(domain) { Ok(()) } else { Err(Error::OperatorsOnly(domain.to_owned())) }
    }

    /// Requires the caller to be the owner of the account or an operator of the domain.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] (403) for other callers.
    pub fn must_own(&self, account: &AccountId, domain: &str) -> Result<(), Error> {
        if self.accounts.contains(account.as_str()) || self.operates(domain) { Ok(()) } else { Err(Error::Forbidden) }
    }

    /// Requires the caller to be a member of the company or an operator of the domain. The units of
    /// the invocation are then counted for the company.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] (403) for other callers.
    pub fn must_belong_to(&self, company: &impl Display, domain: &str) -> Result<(), Error> {
        let belongs = self.company.as_ref().is_some_and(|own| *own == company.to_string());
        if !belongs && !self.operates(domain) {
            return Err(Error::Forbidden);
        }
        table::set_tenant(company);
        Ok(())
    }

    /// Returns the only company that the caller may access. Returns `None` for an operator of the
    /// domain, who may access all companies.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] (403) if the caller has neither a company nor the operator
    /// scope.
    pub fn confined_to(&self, domain: &str) -> Result<Option<&str>, Error> {
        match &self.company {
            _ if self.operates(domain) => Ok(None),
            Some(company) => Ok(Some(company)),
            None => Err(Error::Forbidden),
        }
    }

    /// Requires the caller to be this user or an operator of the domain.
    ///
    /// # Errors
    /// Returns [`Error::Forbidden`] (403) for other callers.
    pub fn must_be(&self, user: &impl Display, domain: &str) -> Result<(), Error> {
        let is_user = !self.subject.is_empty() && self.subject == user.to_string();
        if is_user || self.operates(domain) { Ok(()) } else { Err(Error::Forbidden) }
    }
}

/// The texts of a null in a claim.
const NULLS: [&str; 2] = ["null", "<nil>"];

fn is_value(text: &str) -> bool {
    is_identifier(text) && !NULLS.contains(&text)
}

/// The values of a list claim that begin with `prefix`, without it. Brackets within a list come
/// from a list or an object in it, such as `map[a:b]`, so that its values are not those that the
/// issuer listed.
fn values(text: &str, prefix: &str) -> BTreeSet<String> {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if text.contains(['[', ']']) {
        return BTreeSet::new();
    }
    text.split(' ')
        .filter_map(|value| value.strip_prefix(prefix))
        .filter(|value| is_value(value))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts of an identifier and of characters that could separate or frame the values of a list.
    fn claim() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            3 => "A-[12]",
            1 => "[\\[\\] \u{a0}\u{2028}\u{2029}\u{200b}\u{202e}\u{3000}\t\n\r,;\"]",
            1 => "bank:operate",
        ];
        prop::collection::vec(part, 0..6).prop_map(|parts| parts.concat())
    }

    #[test]
    fn an_author_has_the_strongest_scope_of_the_domain() {
        for (scopes, expected) in [
            ("bank:write bank:operate ledger:operate", "bank:operate"),
            ("bank:write bank:admin ledger:operate", "bank:admin"),
            ("bank:write bank:read wellness:write", "bank:write"),
            ("bank:read", "bank:read"),
            ("banks:operate", ""),
        ] {
            let claims = [("sub", "ann"), ("scope", scopes)].map(|(name, text)| (name.to_owned(), text.to_owned()));
            let author = Caller::from_claims(&claims.into(), "").author("bank");
            assert_eq!(author, ChangedBy { sub: "ann".to_owned(), scope: expected.to_owned() }, "{scopes}");
        }
    }

    proptest! {
        #[test]
        fn a_claim_reaches_only_the_values_that_the_issuer_listed(texts in prop::collection::vec(claim(), 0..4), company in claim()) {
            // The form in which API Gateway passes a list claim.
            let list = format!("[{}]", texts.join(" "));
            let claims = ["sub", "company_id"].map(|name| (name.to_owned(), company.clone()));
            let lists = ["scope", "account_ids"].map(|name| (name.to_owned(), list.clone()));
            let caller = Caller::from_claims(&claims.into_iter().chain(lists).collect(), "");
            // Only a plain space separates values. Brackets within the outer pair end the list.
            let has_brackets = texts.iter().any(|text| text.contains(['[', ']']));
            let listed = if has_brackets { &[][..] } else { &texts[..] };
            let values: Vec<&str> = listed.iter().flat_map(|text| text.split(' ')).collect();
            for id in ["A-1", "A-2", "A-1A-2"] {
                let account: AccountId = id.parse().expect("an account");
                let reaches = values.contains(&id) || values.contains(&"bank:operate");
                prop_assert_eq!(caller.must_own(&account, "bank").is_ok(), reaches, "{:?}", list);
                let is_company = company == id || values.contains(&"bank:operate");
                prop_assert_eq!(caller.must_belong_to(&id, "bank").is_ok(), is_company, "{:?}", company);
                prop_assert_eq!(caller.must_be(&id, "bank").is_ok(), is_company, "{:?}", company);
            }
            prop_assert!(caller.must_be(&"", "cart").is_err());
            for single in &texts {
                // A claim that is one string, and not a list.
                let caller = Caller::from_claims(&[("account_ids".to_owned(), single.clone())].into(), "");
                let bare = single.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(single);
                let account: AccountId = "A-1".parse().expect("an account");
                let is_listed = !bare.contains(['[', ']']) && bare.split(' ').any(|value| value == "A-1");
                prop_assert_eq!(caller.must_own(&account, "bank").is_ok(), is_listed);
            }
        }
    }

    fn caller(scope: &str, accounts: &str) -> Caller {
        let claims = [("sub", "u"), ("scope", scope), ("account_ids", accounts)];
        Caller::from_claims(&claims.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), "")
    }

    #[test]
    fn list_claims_may_have_brackets() {
        let account: AccountId = "A-2".parse().expect("an account");
        for accounts in ["A-1 A-2", "[A-1 A-2]", "[A-2]", "A-2"] {
            assert!(caller("bank:read", accounts).must_own(&account, "bank").is_ok(), "{accounts}");
        }
        for accounts in ["", "[]", "A-22", "a-2", "A-1,A-2"] {
            assert!(caller("bank:read", accounts).must_own(&account, "bank").is_err(), "{accounts}");
        }
    }

    #[test]
    fn scopes_come_from_either_claim() {
        for (name, text) in [("scope", "bank:operate a"), ("scp", "bank:operate"), ("scp", "[a bank:operate]")] {
            let caller = Caller::from_claims(&[(name.to_owned(), text.to_owned())].into(), "");
            assert!(caller.operates("bank"), "{name}: {text}");
        }
        let both = [("scope", "[bank:read]"), ("scp", "cart:operate")];
        let caller = Caller::from_claims(&both.map(|(name, text)| (name.to_owned(), text.to_owned())).into(), "");
        assert!(caller.operates("cart") && !caller.operates("bank"));
        for (name, text) in [("roles", "bank:operate"), ("scp", "map[a:x bank:operate b:y]")] {
            let caller = Caller::from_claims(&[(name.to_owned(), text.to_owned())].into(), "");
            assert!(!caller.operates("bank"), "{name}: {text}");
        }
    }

    #[test]
    fn only_scopes_with_the_prefix_count() {
        let claims = [("scope".to_owned(), "api/bank:operate cart:operate other/ledger:operate".to_owned())].into();
        let caller = Caller::from_claims(&claims, "api/");
        assert!(caller.operates("bank") && !caller.operates("cart") && !caller.operates("ledger"));
        assert!(!Caller::from_claims(&claims, "").operates("bank"));
    }

    /// A null, an object or a list within a list names nobody.
    #[test]
    fn odd_claims_open_nothing() {
        for text in
            ["null", "<nil>", "[null]", "[<nil>]", "[a null]", "map[x:a A-2 y:b]", "[[a A-2 b]]", "[a [A-2 b] c]"]
        {
            let claims = ["sub", "account_ids", "company_id"].map(|name| (name.to_owned(), text.to_owned()));
            let caller = Caller::from_claims(&claims.into(), "");
            for id in ["null", "<nil>", "A-2"] {
                let account: AccountId = id.parse().expect("an account");
                assert!(caller.must_own(&account, "bank").is_err(), "{text} {id}");
                assert!(caller.must_be(&id, "bank").is_err() && caller.must_belong_to(&id, "bank").is_err(), "{text}");
            }
            assert!(text.contains('[') || caller.subject.is_empty() && caller.confined_to("bank").is_err(), "{text}");
        }
    }

    #[test]
    fn caller_accesses_only_their_company_and_user() {
        let claims = [("sub", "u"), ("scope", "wellness:read"), ("company_id", "C-1")];
        let caller = Caller::from_claims(&claims.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), "");
        assert!(caller.must_belong_to(&"C-1", "wellness").is_ok() && caller.must_be(&"u", "wellness").is_ok());
        for other in ["C-11", "C-", "", "u"] {
            assert!(caller.must_belong_to(&other, "wellness").is_err(), "{other}");
        }
        assert!(caller.must_be(&"C-1", "wellness").is_err());
        assert!(
            Caller::default().must_belong_to(&"", "wellness").is_err(),
            "a caller without a company must not access any company"
        );
        assert_eq!(caller.confined_to("wellness").expect("a company"), Some("C-1"));
        assert!(Caller::default().confined_to("wellness").is_err());
        let operator = self::caller("wellness:operate", "");
        assert_eq!(operator.confined_to("wellness").expect("all"), None);
        assert!(operator.must_belong_to(&"C-2", "wellness").is_ok() && operator.must_be(&"v", "wellness").is_ok());
        assert!(operator.must_belong_to(&"C-2", "bank").is_err());
        assert!(operator.administers("wellness") && !operator.administers("bank") && !caller.administers("wellness"));
        let admin = self::caller("wellness:admin", "");
        assert!(admin.administers("wellness") && admin.must_be(&"v", "wellness").is_err());
        assert!(!admin.administers("bank") && !admin.operates("wellness") && admin.confined_to("wellness").is_err());
    }

    #[test]
    fn operator_accesses_all_accounts_of_one_domain() {
        let account: AccountId = "A-2".parse().expect("an account");
        assert!(caller("[bank:operate bank:read]", "").must_own(&account, "bank").is_ok());
        assert!(caller("cart:operate bank:read", "").must_own(&account, "bank").is_err());
        assert!(caller("bank:write", "A-2").must_operate("bank").is_err());
    }
}
