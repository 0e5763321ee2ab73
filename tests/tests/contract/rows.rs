//! The table of a service: who may, with which outcome.

use std::collections::BTreeSet;

/// A row of a table, such as `cart.txt`, which explains the columns.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The event, such as `add-cart-item`, or a variant of it.
    pub(crate) event: String,
    /// The scopes with which the gateway passes the request.
    pub(crate) scopes: BTreeSet<String>,
    /// The status for a customer's own resource.
    pub(crate) own: u16,
    /// The status for the resource of another customer.
    pub(crate) other: u16,
    /// The status for the customer's own path with the id of another customer's resource.
    pub(crate) stray: u16,
    /// The status for an id that nobody has.
    pub(crate) nobody: u16,
    /// The status for an operator.
    pub(crate) operator: u16,
    /// The status for an operator and an id that nobody has.
    pub(crate) operator_nobody: u16,
    /// The statuses for an employee of the customer: the employee's own resource, that of
    /// a colleague, that of another customer, and an id that nobody has.
    pub(crate) employee: [u16; 4],
    /// The read and write units that the event consumes.
    pub(crate) units: String,
    /// The types of the items without which the event fails.
    pub(crate) needs: BTreeSet<String>,
}

impl Row {
    /// The function of the event.
    pub(crate) fn function(&self) -> &str {
        self.event.split('.').next().unwrap_or_default()
    }
}

/// What differs between the services.
#[derive(Debug)]
pub(crate) struct Service {
    /// The name, which is also the folder of its events and the first segment of its paths.
    pub(crate) name: &'static str,
    /// The claim that names the owner.
    pub(crate) claim: &'static str,
    /// The path or query parameter that names the owner of the resource.
    pub(crate) owner: &'static str,
    /// An owner, for the events of operators.
    pub(crate) own: &'static str,
    /// Another owner.
    pub(crate) other: &'static str,
    /// An owner of nothing.
    pub(crate) nobody: &'static str,
    /// Values of path parameters that nobody has.
    pub(crate) unknown: &'static [(&'static str, &'static str)],
    /// Scopes of a customer.
    pub(crate) customer: &'static str,
    /// Scopes of the employees of a customer, if the customer is a company.
    pub(crate) employee: Option<&'static str>,
    /// Attributes in the filters of queries and in the conditions of writes.
    pub(crate) filters: &'static [&'static str],
    rows: &'static str,
}

const NO_ITEM: &str = "0192f3a1b2c37d5e8f90a1b2c3d4e5f6";

const SERVICES: [Service; 5] = [BANK, CART, LAKE, LEDGER, WELLNESS];

const CART: Service = Service {
    name: "cart",
    claim: "account_ids",
    owner: "accountId",
    own: "Account1",
    other: "Account2",
    nobody: "Account9",
    unknown: &[("itemId", NO_ITEM), ("orderId", NO_ITEM), ("sku", "nobodys"), ("jobId", "nobodys-PURCHASED")],
    customer: "cart:read cart:write",
    employee: None,
    filters: &["ExpiresAt", "Active"],
    rows: include_str!("cart.txt"),
};

const BANK: Service = Service {
    name: "bank",
    claim: "account_ids",
    owner: "accountId",
    own: "Account1",
    other: "Account2",
    nobody: "Account9",
    unknown: &[
        ("paymentId", "20991201T093000Z-01a1fc5e473c78b1a1bb5371724e7a94"),
        ("transactionId", "nobodys"),
        ("jobId", "dispatch-0"),
        ("importId", "nobodys"),
        ("orderId", "nobodys"),
        ("date", "2020-01-01"),
    ],
    customer: "bank:read bank:write",
    employee: None,
    filters: &[],
    rows: include_str!("bank.txt"),
};

const LAKE: Service = Service {
    name: "lake",
    claim: "sub",
    owner: "",
    own: "",
    other: "",
    nobody: "",
    unknown: &[],
    customer: "",
    employee: None,
    filters: &[],
    rows: include_str!("lake.txt"),
};

const LEDGER: Service = Service {
    name: "ledger",
    claim: "sub",
    owner: "userId",
    own: "3f1c2b6e-8a4d-4c57-9f6e-2d1b0a9c8e7f",
    other: "ann",
    nobody: "nobody",
    unknown: &[
        ("accountId", "nobodys"),
        ("holdId", "nobodys"),
        ("merchantId", "nobodys"),
        ("reconciliationId", "nobodys"),
        ("transactionId", "nobodys"),
    ],
    customer: "ledger:read ledger:write",
    employee: None,
    filters: &["Opened"],
    rows: include_str!("ledger.txt"),
};

const WELLNESS: Service = Service {
    name: "wellness",
    claim: "company_id",
    owner: "companyId",
    own: "123",
    other: "456",
    nobody: "999",
    unknown: &[
        ("activityId", NO_ITEM),
        ("facetId", "nobodys"),
        ("importId", NO_ITEM),
        ("jobId", "VenueId-nobodys"),
        ("planId", "nobodys"),
        ("sectionId", "nobodys"),
        ("templateId", NO_ITEM),
        ("userId", "nobody"),
    ],
    customer: "wellness:admin",
    employee: Some("wellness:read wellness:write"),
    filters: &["CompanyId", "UserId"],
    rows: include_str!("wellness.txt"),
};

impl Service {
    /// The service with this name.
    pub(crate) fn named(name: &str) -> &'static Self {
        SERVICES.iter().find(|service| service.name == name).expect("a service")
    }

    /// The rows of the table.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows
            .lines()
            .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
            .map(|line| self.row(line))
            .collect()
    }

    fn row(&self, line: &str) -> Row {
        let mut columns = line.split_whitespace();
        let mut next = || columns.next().unwrap_or_else(|| unreachable!("a column is missing: {line}"));
        let event = next().to_owned();
        let scopes = next().split(',').filter(|scope| *scope != "-");
        let scopes = scopes.map(|scope| format!("{}:{scope}", self.name)).collect();
        let mut status = || match next() {
            "-" => 0,
            status => status.parse().expect("a status"),
        };
        let (own, other, stray, nobody) = (status(), status(), status(), status());
        let (operator, operator_nobody) = (status(), status());
        let employee = if self.employee.is_some() { [(); 4].map(|()| status()) } else { [0; 4] };
        let units = next().to_owned();
        let needs = columns.map(str::to_owned).collect();
        Row { event, scopes, own, other, stray, nobody, operator, operator_nobody, employee, units, needs }
    }
}
