//! The text of each key and of each range. Stored items have these keys, so no text changes without
//! a migration.

use crate::{
    Day, IdempotencySort, KeyRange, TimestampMillis, TimestampSeconds, bank, cart, ledger, totals,
    wellness::{self, Period, PlanTime},
};
use std::{fmt::Debug, str::FromStr};

/// Checks that each text is a key of the type, and that the key has this text. No key has a further
/// separator at its start or end.
macro_rules! golden {
    ($($module:ident::{$($type:ident: $($text:literal),+;)+})+) => {$($($(
        assert_eq!(parsed::<$module::$type>($text).to_string(), $text);
        for other in [concat!("#", $text), concat!($text, "#"), &$text[1..], ""] {
            assert!(other.parse::<$module::$type>().is_err(), "{} {other}", stringify!($type));
        }
    )+)+)+};
}

fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

#[test]
fn texts_of_keys() {
    golden! {
        bank::{
            PaymentSort: "2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            DueSort: "PENDING#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            GuardPartition: "TRANSACTION#T-1";
            GuardSort: "TRANSACTION";
            SwitchPartition: "SETTING#DISPATCHING";
            SwitchSort: "DISPATCHING";
            JobId: "dispatch-D-1", "close-2026-12-01-0002";
            JobPartition: "JOB#dispatch-D-1", "JOB#close-2026-12-01-0002";
            JobSort: "JOB";
            ImportSort: "RUN#0055AED6DCD90281E5";
            RetrySort: "RETRY#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            DayPartition: "DAY#2026-12-01";
            CertificateSort: "CERTIFICATE#0001";
            OpenSort: "OPEN#0001#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            DiscrepancySort: "DISCREPANCY#0001#5f";
        }
        cart::{
            CartItemSort: "ACTIVE#2026-12-01T09:30:00.000Z#0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            ItemSort: "ITEM#0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
            CartSort: "CART";
            OrderSort: "ORDER#O-1";
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
    }
    assert_eq!(parsed::<IdempotencySort>("IDEMPOTENCY#K 1").to_string(), "IDEMPOTENCY#K 1");
    // The name of a file, and a position in a list, may be any text.
    assert_eq!(parsed::<bank::ImportPartition>("IMPORT#a#b").to_string(), "IMPORT#a#b");
    for text in ["3#UserId-", "3#UserId-U"] {
        assert_eq!(parsed::<wellness::EmployeesPosition>(text).to_string(), text);
    }
    for text in ["uploads/C%2D1/files/F", "uploads/C/files/%2E%2E%2E"] {
        assert_eq!(parsed::<wellness::UploadKey>(text).to_string(), text);
    }
}

#[test]
fn ends_of_ranges() {
    let (day, second, milli): (Day, TimestampSeconds, TimestampMillis) =
        (parsed("2026-12-01"), parsed("2026-12-01T09:30:00Z"), parsed("2026-12-01T09:30:00.000Z"));
    let later: TimestampMillis = parsed("2026-12-02T00:00:00.000Z");
    let number = bank::CloseNumber::FIRST;
    let (pending, active) = (bank::Status::Pending, wellness::Status::Active);
    let payments: [bank::PaymentId; 2] =
        ["20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5", "20261202T000000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5"]
            .map(parsed);
    let user = parsed("U");
    let (first, last): (PlanTime, PlanTime) = (parsed("2026-12-01"), parsed("2026-12-31"));
    let period = Period::new(first, last).expect("a period");
    let legs: [ledger::LegTimeSort; 2] =
        ["LEG#2026-12-01T09:30:00.000Z#T-01", "LEG#2026-12-01T09:30:00.000Z#T-02"].map(parsed);
    let saved = cart::Status::Saved;
    for (range, from, to) in [
        (bank::PaymentSort::between(second, second.plus_days(1)), "2026-12-01T09:30:00Z", "2026-12-02T09:30:00Z$"),
        (bank::PaymentSort::next_90_days(second), "2026-12-01T09:30:00Z", "2027-03-01T09:30:00Z$"),
        (bank::PaymentSort::history(), "0", ":"),
        (bank::DueSort::due_on(day, pending), "PENDING#2026-12-01T", "PENDING#2026-12-01U"),
        (bank::DueSort::due_until(day, pending), "PENDING#", "PENDING#2026-12-01U"),
        (bank::DueSort::due_by(second, pending), "PENDING#", "PENDING#2026-12-01T09:30:00Z$"),
        (bank::DueSort::nothing(), "#", "$"),
        (bank::DueSort::pending_to_scheduled(day), "PENDING#", "SCHEDULED#2026-12-01U"),
        (bank::DueSort::with_status(pending), "PENDING#", "PENDING$"),
        (bank::ImportSort::latest(), "RUN#", "RUN$"),
        (bank::ImportSort::until(&parsed("0055AE")), "RUN#", "RUN#0055AE"),
        (bank::CertificateSort::all(), "CERTIFICATE#", "CERTIFICATE$"),
        (bank::OpenSort::all(number), "OPEN#0001#", "OPEN#0001$"),
        (
            bank::OpenSort::between(number, payments[0], payments[1]),
            "OPEN#0001#2026-12-01T09:30:00Z#20261201T093000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5",
            "OPEN#0001#2026-12-02T00:00:00Z#20261202T000000Z-0193f5e0c8a07c3ab0e5d7a1b2c3d4e5",
        ),
        (bank::DiscrepancySort::all(number), "DISCREPANCY#0001#", "DISCREPANCY#0001$"),
        (cart::CartItemSort::with_status(saved), "SAVED#", "SAVED$"),
        (cart::CartItemSort::on(day, saved), "SAVED#2026-12-01T", "SAVED#2026-12-01U"),
        (cart::CartItemSort::between(saved, None, None), "SAVED#", "SAVED$"),
        (
            cart::CartItemSort::between(saved, Some(milli), Some(later)),
            "SAVED#2026-12-01T09:30:00.000Z",
            "SAVED#2026-12-02T00:00:00.000Z$",
        ),
        (cart::CartItemSort::nothing(), "#", "$"),
        (cart::OrderSort::all(), "ORDER#", "ORDER$"),
        (cart::SkuSort::all(), "SKU#", "SKU$"),
        (ledger::AccountPartition::all(), "ACCOUNT#", "ACCOUNT$"),
        (ledger::MerchantPartition::all(), "MERCHANT#", "MERCHANT$"),
        (ledger::TransactionPartition::collection(), "LEG#", "REVERSAL$"),
        (ledger::ReversalSort::all(), "REVERSAL#", "REVERSAL$"),
        (ledger::ByKeySort::all(), "TXN", "TXN$"),
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
        (ledger::LegTimeSort::period(Some(milli), None), "LEG#2026-12-01T09:30:00.000Z", "LEG$"),
        (ledger::LegTimeSort::between(milli, later), "LEG#2026-12-01T09:30:00.000Z", "LEG#2026-12-02T00:00:00.000Z$"),
        (ledger::LegTimeSort::before(later), "LEG#", "LEG#2026-12-02T00:00:00.000Z"),
        (ledger::LegTimeSort::stretch(None, &legs[0]), "LEG#", "LEG#2026-12-01T09:30:00.000Z#T-01"),
        (
            ledger::LegTimeSort::stretch(Some(&legs[0]), &legs[1]),
            "LEG#2026-12-01T09:30:00.000Z#T-01",
            "LEG#2026-12-01T09:30:00.000Z#T-02",
        ),
        (ledger::InboxSort::all(), "CREATED#", "CREATED$"),
        (ledger::HoldExpirySort::all(), "EXPIRES#", "EXPIRES$"),
        (ledger::HoldExpirySort::expired(milli), "EXPIRES#", "EXPIRES#2026-12-01T09:30:00.000Z$"),
        (totals::TotalSort::between(day, day), "DAY#2026-12-01#", "DAY#2026-12-01$"),
        (totals::TotalSort::through(day), "DAY#", "DAY#2026-12-01$"),
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
        (wellness::UseSort::within(active, period), "active#2026-12-01T00:00:00", "active#2026-12-31T00:00:00$"),
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
    ] as [(KeyRange, &str, &str); _]
    {
        assert_eq!((range.from(), range.to()), (from, to));
    }
}
