//! Values that some field refuses.

/// Values of a JSON member.
pub(crate) const JSON: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "2",
    "1.5",
    "-0.5",
    "9999",
    "10000",
    "2147483648",
    "4294967297",
    "9007199254740992",
    "18446744073709551617",
    "1e400",
    "1e3",
    "[]",
    "[1]",
    "[\"tea\"]",
    "[null]",
    "{}",
    "{\"a\": 1}",
];

/// Values of a JSON member that no field accepts, because other programs cannot read them.
pub(crate) const UNREADABLE: &[&str] = &[
    "\"\\ud800\"",
    "\"a\\udc00\"",
    "{\"\\ud800\": 1}",
    "{\"a\": 1, \"a\": 1}",
    "[{\"a\": {\"b\": 1, \"\\u0062\": 1}}]",
    "1e309",
    "1e-400",
    "123456789012345678901234567890123456789",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
];

/// Words of Rust and of its libraries, which the detail of a problem must not contain.
pub(crate) const RUST: &[&str] = &[
    "u8", "u16", "u32", "u64", "usize", "i32", "i64", "f64", "struct", "sequence", "invalid", "variant", "line",
    "column",
];

/// Texts of a JSON member, a path segment or a query parameter.
pub(crate) const TEXTS: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "%2E.",
    "#",
    "a#b",
    "a\u{0}b",
    "a\nb",
    "a\tb",
    "a\u{7f}b",
    "a\u{85}b",
    "a\u{a0}b",
    "a\u{200b}b",
    "a\u{200d}b",
    "\u{200d}a",
    "a\u{200d} b",
    "a\u{2028}b",
    "a\u{2029}b",
    "a\u{202e}b",
    "a\u{2066}b",
    "a\u{3000}b",
    "a\u{ad}b",
    "a\u{feff}b",
    "a\u{fffd}",
    "\u{e000}",
    "[a]",
    "a b",
    " a",
    "a ",
    "a  b",
    "a,b",
    "\u{1f455}",
    "x",
    "X",
    "5",
    "0",
    "1",
    "-1",
    "1.5",
    "12.345",
    "0.001",
    "-12.49",
    "+1",
    "1.",
    ".5",
    "01",
    "1e3",
    "12,49",
    "1 000",
    "\u{661}",
    "1000000000000",
    "1000000000000.00",
    "99999999999999999999999999999999999999999",
    "null",
    "true",
    "usd",
    "Usd",
    "USD",
    "USDX",
    "US",
    "XXX",
    "XAU",
    "ZZZ",
    "JPY",
    "KWD",
    "ACTIVE",
    "active",
    "SAVED",
    "REMOVED",
    "PURCHASED",
    "SHIPPED",
    "PLACED",
    "CANCELLED",
    "PENDING",
    "FAILED",
    "open",
    "today",
    "2026-02-28",
    "2026-02-29",
    "2026-02-30",
    "2026-13-01",
    "2026-1-1",
    "20260102",
    "2026-01",
    "10000-01-01",
    "0000-01-01",
    "2026-01-02T00:00:00",
    "2026-01-02T00:00:00Z",
    "2026-01-02T25:00:00Z",
    "2026-01-02T00:00:00+02:00",
    "2026-01-02T00:00:00+24:00",
    "2026-01-02T00:00:00.0000001Z",
    "2026-01-02 00:00:00Z",
    "2026-01-02T00:00Z",
    "0192f3a1b2c37d5e8f90a1b2c3d4e5f6",
    "0192F3A1B2C37D5E8F90A1B2C3D4E5F6",
    "0192f3a1-b2c3-7d5e-8f90-a1b2c3d4e5f6",
    "0192f3a1b2c37d5e8f90a1b2c3d4e5f",
    "CART",
    "ITEM#0192f3a1b2c37d5e8f90a1b2c3d4e5f6",
];

/// Bodies that no route can parse. `{}` stands for a body that the route accepts, and `{` for that
/// body without its last brace.
pub(crate) const BODIES: &[&str] = &["", " ", "[]", "null", "\"text\"", "true", "1", "sku=tea&quantity=1", "{"];

/// Media types that no route accepts.
pub(crate) const TYPES: &[&str] =
    &["", "text/plain", "application/x-www-form-urlencoded", "application/xml", "text/json", "application/jsonp"];

/// Values that a field refuses although its schema accepts them. The schema cannot express: the
/// decimal places of a currency, an exponent, the invisible characters of a name, the present time,
/// and the other end of a period. The first text is
/// the pointer, or the event and the pointer. A value of a body is JSON.
pub(crate) const FINER: &[(&str, &[&str])] = &[
    ("/body/name", LONE),
    ("/body/groups/items/0/name", LONE),
    ("/body/groups/type", LONE),
    ("/body/attributes/location", LONE),
    ("/body/filters/location/0", LONE),
    ("/body/rewards/0/name", LONE),
    ("/body/goal/type", LONE),
    ("/body/type", LONE),
    ("/body/category", LONE),
    ("/body/reason", LONE),
    ("/body/progressText", LONE),
    ("/body/metadata/due", LONE),
    ("/body/currency", NO_PLACES),
    ("/body/expectedCurrency", NO_PLACES),
    ("/body/price", &["1e3", "\"12.345\"", "\"0.001\""]),
    ("/body/expectedTotal", &["1e3"]),
    ("/body/value", &["1e3"]),
    (
        "/body/scheduledTime",
        &["\"2026-01-02T00:00:00Z\"", "\"2026-01-02T00:00:00+02:00\"", "\"2026-01-02T00:00:00.0000001Z\""],
    ),
    ("wellness /query/to", &["0000-01-01"]),
    ("list-account-payments /query/to", &["0000-01-01"]),
    ("get-totals /query/to", &["0000-01-01"]),
    ("list-transactions /query/until", &["0000-01-01"]),
    ("get-totals /query/from", &["0000-01-01"]),
    ("start-reconciliation /body/to", &["\"0000-01-01\""]),
    ("/body/endDate", &["\"0000-01-01\""]),
    ("replace-reference /query/to", PAST),
    ("update-reference /query/to", PAST),
    ("put-plan /path/planId", &["1000", "1001", "9998", "9999"]),
    ("bank /body/amount", NO_AMOUNTS),
    ("ledger /body/amount", NO_AMOUNTS),
    ("/body/transactions/0/amount", NO_AMOUNTS),
    ("/body/legs/0/amount", NO_AMOUNTS),
    ("/body/legs/0/currency", NO_PLACES),
    ("/body/transactions/0/currency", NO_PLACES),
    (
        "/body/expiresAt",
        &["\"2026-01-02T00:00:00Z\"", "\"2026-01-02T00:00:00+02:00\"", "\"2026-01-02T00:00:00.0000001Z\""],
    ),
    (
        "/body/name",
        &[
            "\" \"",
            "\"a\\u0000b\"",
            "\"a\\nb\"",
            "\"a\\tb\"",
            "\"a\u{7f}b\"",
            "\"a\u{85}b\"",
            "\"a\u{a0}b\"",
            "\"a\u{200b}b\"",
            "\"a\u{2028}b\"",
            "\"a\u{2029}b\"",
            "\"a\u{202e}b\"",
            "\"a\u{2066}b\"",
            "\"a\u{3000}b\"",
            "\"a\u{ad}b\"",
            "\"a\u{feff}b\"",
            "\"\u{e000}\"",
        ],
    ),
];

/// Texts with a joiner that is not between visible characters.
const LONE: &[&str] = &["\"\u{200d}a\"", "\"a\u{200d} b\""];

/// Codes of currencies that have no defined number of decimal places.
const NO_PLACES: &[&str] = &["\"XXX\"", "\"XAU\"", "\"ZZZ\""];

/// Times before the present of the tests, 2026-12-01.
const PAST: &[&str] = &[
    "0000-01-01",
    "2026-02-28",
    "2026-01-02T00:00:00",
    "2026-01-02T00:00:00Z",
    "2026-01-02T00:00:00+02:00",
    "2026-01-02T00:00:00.0000001Z",
];

/// Amounts that are not positive, that have more decimal places than USD, or an exponent.
const NO_AMOUNTS: &[&str] = &["0", "1e3", "\"0\"", "\"12.345\"", "\"0.001\""];

/// Events with another maximum length of the body than 64 KB.
pub(crate) const LARGE: &[(&str, usize)] = &[("process-batch", 256)];

/// Members whose valid values the world has no object for. The tests of the service send them: an
/// account that is closed for a transfer cannot be used by another event, only an activity with
/// optional enrolment has a capacity, only one with groups can be joined with a group, and the plan
/// of a year must lie within it.
pub(crate) const UNPLAYED: &[(&str, &str)] = &[
    ("update-account", "transferTo"),
    ("create-activity", "capacity"),
    ("update-activity", "capacity"),
    ("join-activity", "groupId"),
    ("put-plan", "endDate"),
];

/// Fields that cannot be combined with others. The parameters of a period exclude each other only
/// in lists that also take a plan.
pub(crate) const INSTEAD: &[(&str, &[&str])] = &[
    ("value", &["progress"]),
    ("year", &["planId"]),
    ("planId", &["year"]),
    ("from", &["year", "planId"]),
    ("to", &["year", "planId"]),
];

/// The parameters that a parameter of a period needs.
pub(crate) const PARTNERS: &[(&str, &str)] = &[("from", "to=2026-06-01"), ("to", "from=2025-01-01")];
