//! The text of each key and of each range. Stored items have these keys, so no text changes without
//! a migration.

use crate::{
    AccountId, Day, IdempotencySort, KeyRange, Random, TimestampMillis, TimestampSeconds, TransactionId, bank, cart,
    ledger, totals,
    wellness::{self, Period},
};
use std::{
    collections::BTreeSet,
    fmt::{Debug, Display},
    str::FromStr,
};

/// A key type with texts of keys.
struct Kind {
    name: &'static str,
    texts: &'static [&'static str],
    accepts: fn(&str) -> bool,
    is_exact: fn(&str) -> bool,
}

macro_rules! kinds {
    ($($module:ident::{$($type:ident: $($text:literal),+;)+})+) => {
        &[$($(Kind {
            name: concat!(stringify!($module), "::", stringify!($type)),
            texts: &[$($text),+],
            accepts: |text| text.parse::<$module::$type>().is_ok(),
            is_exact: is_key::<$module::$type>,
        },)+)+]
    };
}

/// Whether the text is the text of a key.
pub(super) fn is_key<T: FromStr + Display>(text: &str) -> bool {
    text.parse::<T>().is_ok_and(|key| key.to_string() == text)
}

pub(super) fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

const KINDS: &[Kind] = kinds! {
    bank::{
        PaymentId: "20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        PaymentSort: "2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        DueSort: "PENDING#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        GuardPartition: "TRANSACTION#T-1";
        GuardSort: "TRANSACTION";
        SwitchPartition: "SETTING#DISPATCHING";
        SwitchSort: "DISPATCHING";
        JobId: "dispatch-D-1", "close-2026-12-01-0002", "standing-order-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5",
            "standing-orders-2026-12-01";
        JobPartition: "JOB#dispatch-D-1", "JOB#close-2026-12-01-0002";
        JobSort: "JOB";
        ImportSort: "RUN#0055AED6DCD90281E5";
        ImportsPartition: "IMPORTS";
        ImportStartSort: "2026-12-01T09:30:00Z#5f";
        StandingOrderSort: "STANDING-ORDER#rent";
        StandingDueSort: "STANDING#2026-12-31#5f";
        RetrySort: "RETRY#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        MovedSort: "MOVED#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        DayPartition: "DAY#2026-12-01";
        CertificateSort: "CERTIFICATE#0001";
        OpenSort: "OPEN#0001#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        DiscrepancySort: "DISCREPANCY#0001#5f";
    }
    cart::{
        ItemId: "0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        CartItemSort: "ACTIVE#2026-12-01T09:30:00.000Z#0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        ItemSort: "ITEM#0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
        CartSort: "CART";
        OrderSort: "ORDER#O-1";
        OrdersPartition: "PLACED#0", "CANCELLED#12";
        LinesSort: "LINES#O-1";
        JobPartition: "JOB#O-1-SHIPPED";
        JobSort: "JOB";
        ProductSort: "PRODUCT";
        ProductsPartition: "PRODUCTS";
        SkuSort: "SKU#S-1";
    }
    ledger::{
        MerchantPartition: "MERCHANT#M";
        MerchantsPartition: "MERCHANTS";
        AccountPartition: "ACCOUNT#A";
        AccountsPartition: "ACCOUNTS";
        AccountCountSort: "ACCOUNT-COUNT";
        UserPartition: "USER#U";
        TransactionPartition: "TXN#T";
        Metadata: "METADATA";
        ByKeyPartition: "IDEMPOTENCY#K 1";
        ByKeySort: "TXN";
        ReferencePartition: "REFERENCE#R 1";
        ReferenceSort: "TYPE#payment#USER#U";
        StatusPartition: "STATUS#completed", "STATUS#completed#1", "STATUS#completed#99";
        CreatedSort: "CREATED#2026-12-01T09:30:00.000Z";
        CreatedPlace: "CREATED#2026-12-01T09:30:00.000Z#0#T";
        LegSort: "LEG#T-01";
        LegTimeSort: "LEG#2026-12-01T09:30:00.000Z#T-01";
        PostingSort: "POSTING#T-01";
        EntrySort: "LEG#T-01", "POSTING#T-01";
        ReversalSort: "REVERSAL#01", "REVERSAL#99";
        InboxPartition: "ACCOUNT#A#INBOX#7";
        InboxSort: "CREATED#2026-12-01T09:30:00.000Z#T-01";
        SettlementPartition: "SETTLEMENT#A";
        HoldPartition: "HOLD#H";
        ExpiryPartition: "HOLD-EXPIRY#3";
        HoldExpirySort: "EXPIRES#2026-12-01T09:30:00.000Z#H";
        ReconciliationPartition: "RECONCILIATION#R";
        ReconciliationsPartition: "RECONCILIATIONS";
        StartedSort: "STARTED#2026-12-01T09:30:00.000Z#R";
        FindingSort: "FINDING#TXN#T", "FINDING#LEG#T-01", "FINDING#ACCOUNT#A", "FINDING#HOLDS#A", "FINDING#TOTAL#5f", "FINDING#ITEM#5f";
    }
    totals::{
        TotalScope: "ALL", "MERCHANT#M";
        TotalPartition: "ALL#0", "MERCHANT#M#99";
        TotalSort: "DAY#2026-12-01#38fb5465";
        CountedPartition: "COUNTED#T";
    }
    wellness::{
        ActivityPartition: "ActivityId-A";
        ProgramSort: "Program", "Program#Detail", "Program#GoalPrimary", "Program#Reward#Attendance", "Program#Groups",
            "Program#Groups#GroupId-G", "Program#Venue#VenueId-V", "Program#File#FileId-F", "Program#Course#CourseId-C",
            "Program#Tracker#TrackerId-T", "Program#Notification#NotificationId-N";
        CompanyPartition: "CompanyId-C";
        ProgramPartition: "CompanyId-C#Program";
        ListPartition: "CompanyId-C#Program#List";
        EndDateSort: "EndDate#2026-12-01T09:30:00";
        GroupsPartition: "Groups#0", "Groups#9";
        GroupsSort: "CompanyId-C#ActivityId-A";
        FacetRef: "VenueId-V", "FileId-F", "CourseId-C", "TrackerId-T", "NotificationId-N";
        ReferencePartition: "CompanyId-C#VenueId-V";
        UseSort: "active#2026-12-01T09:30:00#ActivityId-A";
        RegistrationSort: "Registration#UserId-U";
        RegistrationsPartition: "CompanyId-C#UserId-U#Registrations";
        ActivityEndDateSort: "ActivityEndDate#2026-12-01T09:30:00";
        RegistrationPlace: "ActivityEndDate#2026-12-01T09:30:00#ActivityId-A";
        TicketsSort: "Tickets";
        TicketSort: "Ticket#0000000001", "Ticket#9999999999";
        SectionSort: "Section#SectionId-S";
        PlansSort: "Plans";
        RecordSort: "Venue#VenueId-V", "Notification#NotificationId-N";
        UploadSort: "Upload#FileId-F";
        Owner: "CompanyId-C", "Global";
        TemplateSort: "Template#TemplateId-T";
        TemplateSetSort: "TemplateSet";
        EmployeesPartition: "CompanyId-C#Employees#0", "CompanyId-C#Employees#9";
        EmployeeSort: "UserId-U";
        PointsPartition: "CompanyId-C#Points";
        CorrectionSort: "Correction#UserId-U#2026-12-01T09:30:00#CorrectionId-X";
        ReportsPartition: "CompanyId-C#Reports";
        ReportSort: "PlanId-2026";
        ReportRowSort: "PlanId-2026#ReportId-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5#ActivityId-A",
            "PlanId-2026#ReportId-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5#Total";
        JobId: "VenueId-V", "ActivityId-A", "EnrolmentId-A", "SeatsId-A", "DepartureId-U", "RewardsId-A", "UploadId-F",
            "ReportId-2026", "GroupsId-A", "ExportId-C", "ErasureId-C", "EmployeeErasureId-U";
        JobSort: "Job#VenueId-V", "Job#SeatsId-A";
        HoldSort: "Hold#VenueId-V";
        StartsSort: "Starts";
    }
};

#[test]
fn texts_of_keys() {
    for Kind { name, texts, accepts, is_exact } in KINDS {
        for text in *texts {
            assert!(is_exact(text), "{name} {text}");
            for other in [&format!("#{text}"), &format!("{text}#"), &text[1..], ""] {
                assert!(!accepts(other), "{name} {other}");
            }
            // A text with another character is no key, or the text of another one.
            for (at, with) in
                (0..text.len()).flat_map(|at| ["#", "-", "0", "9", "A", "z", "", "00"].map(|with| (at, with)))
            {
                let changed = format!("{}{with}{}", &text[..at], &text[at + 1..]);
                assert!(!accepts(&changed) || is_exact(&changed), "{name} {changed}");
            }
        }
    }
    assert_eq!(parsed::<IdempotencySort>("IDEMPOTENCY#K 1").to_string(), "IDEMPOTENCY#K 1");
    for text in [
        "REVERSAL#00",
        "REVERSAL#100",
        "Ticket#0000000000",
        "Ticket#10000000000",
        "CERTIFICATE#0000",
        "CERTIFICATE#10000",
        "STATUS#completed#0",
        "STATUS#completed#100",
        "STATUS#pending",
        "ALL#100",
        "Groups#10",
        "CompanyId-C#Employees#10",
        "FINDING#USER#A",
        "DAY#2026-02-29",
        "Program#Venue#FileId-F",
        "close-2026-12-01-0000",
    ] {
        let accepting = KINDS.iter().filter(|kind| (kind.accepts)(text)).map(|kind| kind.name);
        assert_eq!(accepting.collect::<Vec<_>>(), [""; 0], "{text}");
    }
    // The name of a file, and a position in a list, may be any text.
    assert_eq!(parsed::<bank::ImportPartition>("IMPORT#a#b").to_string(), "IMPORT#a#b");
    for text in ["3#UserId-", "3#UserId-U"] {
        assert_eq!(parsed::<wellness::EmployeesPosition>(text).to_string(), text);
    }
    for text in ["uploads/C%2D1/files/F", "uploads/C/files/%2E%2E%2E"] {
        assert_eq!(parsed::<wellness::UploadKey>(text).to_string(), text);
    }
}

/// The types of keys that are in one place: partition keys of a table or index, or sort keys of
/// a partition. A text is a key of one of them only.
const PLACES: &[&[&str]] = &[
    &["bank::GuardPartition", "bank::SwitchPartition", "bank::JobPartition", "bank::DayPartition"],
    &[
        "bank::CertificateSort",
        "bank::OpenSort",
        "bank::DiscrepancySort",
        "bank::PaymentSort",
        "bank::RetrySort",
        "bank::MovedSort",
        "bank::StandingOrderSort",
    ],
    &["bank::DueSort", "bank::StandingDueSort"],
    &["cart::CartItemSort", "cart::ItemSort", "cart::CartSort", "cart::OrderSort", "cart::LinesSort"],
    &[
        "ledger::MerchantPartition",
        "ledger::AccountPartition",
        "ledger::UserPartition",
        "ledger::TransactionPartition",
        "ledger::InboxPartition",
        "ledger::HoldPartition",
        "ledger::SettlementPartition",
        "ledger::ReconciliationPartition",
        "ledger::StatusPartition",
        "ledger::ByKeyPartition",
        "ledger::ReferencePartition",
        "ledger::ExpiryPartition",
        "ledger::AccountsPartition",
        "ledger::MerchantsPartition",
        "ledger::ReconciliationsPartition",
    ],
    &["ledger::Metadata", "ledger::LegSort", "ledger::PostingSort", "ledger::ReversalSort", "ledger::FindingSort"],
    &["ledger::CreatedSort", "ledger::InboxSort", "ledger::LegTimeSort", "ledger::ByKeySort", "ledger::HoldExpirySort"],
    &["totals::TotalPartition", "totals::CountedPartition"],
    &[
        "wellness::ActivityPartition",
        "wellness::Owner",
        "wellness::EmployeesPartition",
        "wellness::PointsPartition",
        "wellness::ReportsPartition",
    ],
    &["wellness::ListPartition", "wellness::ReferencePartition", "wellness::GroupsPartition"],
    &[
        "wellness::ProgramSort",
        "wellness::RegistrationSort",
        "wellness::EmployeeSort",
        "wellness::TicketsSort",
        "wellness::TicketSort",
        "wellness::SectionSort",
        "wellness::TemplateSort",
        "wellness::RecordSort",
        "wellness::HoldSort",
        "wellness::JobSort",
        "wellness::TemplateSetSort",
        "wellness::PlansSort",
        "wellness::StartsSort",
        "wellness::UploadSort",
        "wellness::CorrectionSort",
    ],
    &["wellness::ReportSort", "wellness::ReportRowSort"],
];

#[test]
fn a_text_is_a_key_of_one_type_of_its_place() {
    for place in PLACES {
        let kinds: Vec<&Kind> = KINDS.iter().filter(|kind| place.contains(&kind.name)).collect();
        assert_eq!(kinds.len(), place.len(), "{place:?}");
        for text in kinds.iter().flat_map(|kind| kind.texts) {
            let accepting = kinds.iter().filter(|kind| (kind.accepts)(text)).map(|kind| kind.name);
            assert_eq!(accepting.clone().count(), 1, "{text}: {:?}", accepting.collect::<Vec<_>>());
        }
    }
}

/// A repeated request after an upgrade must find the item that an earlier version created.
#[test]
fn derived_ids_never_change() {
    let (caller, key) = (parsed("770g0622"), parsed("abc123def456"));
    let (now, random) = (jiff::Timestamp::UNIX_EPOCH, Random::seeded(1));
    let transaction = TransactionId::of_request(&caller, Some(&key), now, &random);
    let part = |user: &str| wellness::EmployeesPartition::of(parsed("C"), &parsed(user)).to_string();
    for (made, known) in [
        (
            ledger::MerchantId::of_request(&caller, Some(&key), now, &random).to_string(),
            "fe9104c5-2c04-8902-b222-c24535953db0",
        ),
        (AccountId::of_request(&caller, Some(&key), now, &random).to_string(), "01f9259a-d562-8aab-9375-26a74e3e1f9c"),
        (transaction.to_string(), "e0684ad2-9fe6-8257-bdf2-e25c715d0f3c"),
        (
            ledger::ReconciliationId::of_request(&caller, Some(&key), now, &random).to_string(),
            "6dd476f1-f011-8b9f-9a4c-e9624e2d2eb4",
        ),
        (TransactionId::of_service(&caller, &key).to_string(), "8c6c4301-2e00-897b-a237-4a8566484b35"),
        (ledger::LegId::new(&transaction, 7).to_string(), "e0684ad2-9fe6-8257-bdf2-e25c715d0f3c-07"),
        (ledger::ReconciliationId::of_day(parsed("2026-01-02")).to_string(), "daily-2026-01-02"),
        (
            totals::Series::of(&parsed("payment"), &parsed("checking"), "USD").to_string(),
            "38fb5465-f7ab-8d9b-90d0-7a3f0d80e34e",
        ),
        (
            totals::Series::of(&parsed("paymentc"), &parsed("hecking"), "USD").to_string(),
            "8ddb2f9b-092d-8704-b657-22dda1fc0f40",
        ),
        (
            parsed::<bank::PaymentId>("20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5")
                .rescheduled(parsed("2026-12-02T00:00:00Z"))
                .to_string(),
            "20261202T000000Z-2b905fe9b63181ebb469feb31a1e1d66",
        ),
        (wellness::DrawnEntry::of(&parsed("U")).to_string(), "a25513c7"),
        (part("123"), "CompanyId-C#Employees#9"),
        (part("456"), "CompanyId-C#Employees#8"),
        (part("bob@example.com"), "CompanyId-C#Employees#4"),
        (part("Büro"), "CompanyId-C#Employees#3"),
    ] {
        assert_eq!(made, known);
    }
    let made = (0..100).map(|_| TransactionId::of_request(&caller, None, now, &random).to_string());
    assert_eq!(made.collect::<BTreeSet<_>>().len(), 100, "a request without a key");
}

fn must_have_ends<const COUNT: usize>(ranges: [(KeyRange, &str, &str); COUNT]) {
    for (range, from, to) in ranges {
        assert_eq!((range.from(), range.to()), (from, to));
    }
}

#[test]
fn ends_of_ranges_of_the_bank_and_the_cart() {
    let (day, second): (Day, TimestampSeconds) = (parsed("2026-12-01"), parsed("2026-12-01T09:30:00Z"));
    let [milli, later]: [TimestampMillis; 2] = ["2026-12-01T09:30:00.000Z", "2026-12-02T00:00:00.000Z"].map(parsed);
    let (number, pending, saved) = (bank::CloseNumber::FIRST, bank::Status::Pending, cart::Status::Saved);
    let payments: [bank::PaymentId; 2] =
        ["20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5", "20261202T000000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5"]
            .map(parsed);
    must_have_ends([
        (bank::PaymentSort::between(second, second.plus_days(1)), "2026-12-01T09:30:00Z", "2026-12-02T09:30:00Z$"),
        (bank::PaymentSort::next_90_days(second), "2026-12-01T09:30:00Z", "2027-03-01T09:30:00Z$"),
        (bank::PaymentSort::history(), "0", ":"),
        (bank::DueSort::due_on(day, pending), "PENDING#2026-12-01T", "PENDING#2026-12-01U"),
        (bank::DueSort::due_until(day, pending), "PENDING#", "PENDING#2026-12-01U"),
        (bank::DueSort::due_by(second, pending), "PENDING#", "PENDING#2026-12-01T09:30:00Z$"),
        (bank::DueSort::nothing(), "#", "$"),
        (bank::DueSort::pending_to_scheduled(day), "PENDING#", "SCHEDULED#2026-12-01U"),
        (bank::DueSort::with_status(&pending), "PENDING#", "PENDING$"),
        (bank::StandingOrderSort::all(), "STANDING-ORDER#", "STANDING-ORDER$"),
        (bank::StandingDueSort::all(), "STANDING#", "STANDING$"),
        (bank::StandingDueSort::until(day), "STANDING#", "STANDING#2026-12-01$"),
        (bank::ImportSort::latest(), "RUN#", "RUN$"),
        (bank::ImportSort::until(&parsed("0055AE")), "RUN#", "RUN#0055AE"),
        (bank::ImportStartSort::all(), "0", ":"),
        (bank::ImportStartSort::on(day), "2026-12-01T", "2026-12-01U"),
        (bank::CertificateSort::all(), "CERTIFICATE#", "CERTIFICATE$"),
        (bank::OpenSort::all(&number), "OPEN#0001#", "OPEN#0001$"),
        (
            bank::OpenSort::between(number, payments[0], payments[1]),
            "OPEN#0001#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5",
            "OPEN#0001#2026-12-02T00:00:00Z#20261202T000000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5",
        ),
        (bank::DiscrepancySort::all(&number), "DISCREPANCY#0001#", "DISCREPANCY#0001$"),
        (cart::CartItemSort::with_status(&saved), "SAVED#", "SAVED$"),
        (cart::CartItemSort::on(day, saved), "SAVED#2026-12-01T", "SAVED#2026-12-01U"),
        (cart::CartItemSort::between(saved, None, None), "SAVED#", "SAVED$"),
        (
            cart::CartItemSort::between(saved, Some(milli), Some(later)),
            "SAVED#2026-12-01T09:30:00.000Z",
            "SAVED#2026-12-02T00:00:00.000Z$",
        ),
        (cart::CartItemSort::nothing(), "#", "$"),
        (cart::OrderSort::all(), "ORDER#", "ORDER$"),
        (cart::OrderSort::placed(None, None), "ORDER#", "ORDER$"),
        (cart::OrderSort::placed(Some(milli), Some(later)), "ORDER#01a230f089c0", "ORDER#01a2340d0c01"),
        (cart::OrderSort::placed(Some(later), Some(milli)), "ORDER#01a2340d0c00\u{1}", "ORDER#01a2340d0c00\u{1}"),
        (cart::OrderSort::nothing(), "ORDER#\u{1}", "ORDER#\u{1}"),
        (cart::SkuSort::all(), "SKU#", "SKU$"),
    ]);
}

#[test]
fn ends_of_ranges_of_the_ledger() {
    let day: Day = parsed("2026-12-01");
    let [milli, later]: [TimestampMillis; 2] = ["2026-12-01T09:30:00.000Z", "2026-12-02T00:00:00.000Z"].map(parsed);
    let legs: [ledger::LegTimeSort; 2] =
        ["LEG#2026-12-01T09:30:00.000Z#T-01", "LEG#2026-12-01T09:30:00.000Z#T-02"].map(parsed);
    must_have_ends([
        (ledger::AccountPartition::all(), "ACCOUNT#", "ACCOUNT$"),
        (ledger::MerchantPartition::all(), "MERCHANT#", "MERCHANT$"),
        (ledger::TransactionPartition::collection(), "LEG#", "REVERSAL$"),
        (ledger::ReversalSort::all(), "REVERSAL#", "REVERSAL$"),
        (ledger::ByKeySort::all(), "TXN", "TXN$"),
        (ledger::ReferenceSort::all(), "TYPE#", "TYPE$"),
        (ledger::FindingSort::all(), "FINDING#", "FINDING$"),
        (ledger::FindingSort::of_legs(), "FINDING#LEG#", "FINDING#LEG$"),
        (ledger::CreatedSort::between(milli, None), "CREATED#2026-12-01T09:30:00.000Z", "CREATED$"),
        (
            ledger::CreatedSort::between(milli, Some(later)),
            "CREATED#2026-12-01T09:30:00.000Z",
            "CREATED#2026-12-02T00:00:00.000Z$",
        ),
        (ledger::CreatedSort::nothing(), "CREATED#\u{1}", "CREATED#\u{1}"),
        (ledger::LegTimeSort::all(), "LEG#", "LEG$"),
        (ledger::LegTimeSort::period(None, Some(later)), "LEG#", "LEG#2026-12-02T00:00:00.000Z$"),
        (ledger::LegTimeSort::period(Some(milli), None), "LEG#2026-12-01T09:30:00.000Z#", "LEG$"),
        (ledger::LegTimeSort::between(milli, later), "LEG#2026-12-01T09:30:00.000Z#", "LEG#2026-12-02T00:00:00.000Z$"),
        (ledger::LegTimeSort::before(later), "LEG#", "LEG#2026-12-02T00:00:00.000Z#"),
        (ledger::LegTimeSort::stretch(None, &legs[0]), "LEG#", "LEG#2026-12-01T09:30:00.000Z#T-01"),
        (
            ledger::LegTimeSort::stretch(Some(&legs[0]), &legs[1]),
            "LEG#2026-12-01T09:30:00.000Z#T-01",
            "LEG#2026-12-01T09:30:00.000Z#T-02",
        ),
        (ledger::InboxSort::all(), "CREATED#", "CREATED$"),
        (ledger::HoldExpirySort::all(), "EXPIRES#", "EXPIRES$"),
        (ledger::HoldExpirySort::expired(milli), "EXPIRES#", "EXPIRES#2026-12-01T09:30:00.000Z$"),
        (ledger::HoldExpirySort::open(milli), "EXPIRES#2026-12-01T09:30:00.001Z#", "EXPIRES$"),
        (ledger::StartedSort::all(), "STARTED#", "STARTED$"),
        (totals::TotalSort::between(day, day), "DAY#2026-12-01#", "DAY#2026-12-01$"),
        (totals::TotalSort::through(day), "DAY#", "DAY#2026-12-01$"),
    ]);
}

#[test]
fn ends_of_ranges_of_wellness() {
    let (user, active) = (parsed("U"), wellness::Status::Active);
    let period = Period::new(parsed("2026-12-01"), parsed("2026-12-31")).expect("a period");
    must_have_ends([
        (wellness::GroupsSort::all(), "CompanyId-", "CompanyId."),
        (wellness::EmployeesPosition::all(), "0#UserId-", "9#UserId."),
        (wellness::CorrectionSort::of(&user), "Correction#UserId-U#", "Correction#UserId-U$"),
        (
            wellness::CorrectionSort::within(&user, period),
            "Correction#UserId-U#2026-12-01T00:00:00#",
            "Correction#UserId-U#2026-12-31T00:00:00$",
        ),
        (wellness::Level::Groups.range(), "Program#Groups", "Program#Groupt"),
        (wellness::EndDateSort::within(period), "EndDate#2026-12-01T00:00:00", "EndDate#2026-12-31T00:00:00"),
        (wellness::EndDateSort::all(), "EndDate#", "EndDate$"),
        (wellness::EndDateSort::nothing(), "#", "$"),
        (wellness::ActivityEndDateSort::all(), "ActivityEndDate#", "ActivityEndDate$"),
        (
            wellness::ActivityEndDateSort::within(period),
            "ActivityEndDate#2026-12-01T00:00:00",
            "ActivityEndDate#2026-12-31T00:00:00$",
        ),
        (wellness::UseSort::within(active, period), "active#2026-12-01T00:00:00#", "active#2026-12-31T00:00:00$"),
        (wellness::UseSort::all(), "active#", "draft$"),
        (wellness::RegistrationSort::all(), "Registration#", "Registration$"),
        (wellness::TicketSort::all(), "Ticket#", "Ticket$"),
        (wellness::TicketSort::after(3, 5), "Ticket#0000000004", "Ticket#0000000005"),
        (wellness::SectionSort::all(), "Section#", "Section$"),
        (wellness::TemplateSort::all(), "Template#", "Template$"),
        (wellness::EmployeeSort::all(), "UserId-", "UserId."),
        (wellness::RecordSort::of_facet(wellness::Facet::Files), "File#", "File$"),
        (wellness::ReportRowSort::of_plan(&parsed("2026")), "PlanId-2026#", "PlanId-2026$"),
        (
            wellness::ReportRowSort::of_report(&parsed("2026"), &parsed("0193f5e0c8a07c3ab0e5d7a1b2c3d4e5")),
            "PlanId-2026#ReportId-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5#",
            "PlanId-2026#ReportId-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5$",
        ),
    ]);
}
