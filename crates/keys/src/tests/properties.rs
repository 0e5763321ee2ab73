//! Property tests: keys round-trip, sort like their values, and have exactly one accepted form.

use super::golden::{is_key, parsed};
use crate::{
    AccountId, Bound, Bounds, Day, IdempotencyKey, KeyRange, OrderId, Random, RequestId, Shard, Shards,
    TimestampMillis, TimestampSeconds, TransactionId,
    alphabet::is_visible,
    bank::{self, DueSort, ImportStartSort, PaymentId, PaymentSort, StandingDueSort, Status},
    cart::{self, CartItemSort, ItemId, OrderSort},
    is_identifier, is_plain_text,
    ledger::{
        AccountPartition, CreatedPlace, CreatedSort, HoldExpirySort, InboxPartition, LegTimeSort, StartedSort,
        UserPartition,
    },
    totals::{TotalPartition, TotalScope, TotalSort},
    wellness::{
        self, ActivityEndDateSort, AttributeName, CompanyId, CompanyPartition, CorrectionSort, Department,
        EmployeesPartition, EndDateSort, GroupsSort, Period, PlanTime, ProgramSort, ReferencePartition,
        RegistrationsPartition, ReportRowSort, RowOf, TicketSort, UseSort,
    },
};
use proptest::prelude::*;
use std::{
    collections::BTreeSet,
    fmt::{Debug, Display},
    str::FromStr,
};

fn random(seed: i64) -> Random {
    Random::seeded(seed.unsigned_abs())
}

fn second() -> impl Strategy<Value = TimestampSeconds> {
    // From 0000-01-01 to 9999-12-30, in seconds.
    (-62_167_219_200_i64..=253_402_207_200).prop_map(|seconds| {
        TimestampSeconds::containing(jiff::Timestamp::from_second(seconds).expect("in range")).expect("in range")
    })
}

fn milli() -> impl Strategy<Value = TimestampMillis> {
    (second(), 0_i64..1_000).prop_map(|(second, milli)| {
        let instant = second.instant() + jiff::SignedDuration::from_millis(milli);
        TimestampMillis::containing(instant).expect("in range")
    })
}

/// A character of each identifier. Other identifiers than idempotency keys may have commas, and
/// dots if they are not alone.
pub(super) fn allowed_character() -> impl Strategy<Value = char> {
    any::<char>().prop_filter("allowed", |c| !"#[],.\u{fffd}".contains(*c) && is_visible(*c))
}

/// Checks that the texts of two keys sort like their values, and that each is a key again.
fn law<T: Display + FromStr + Ord + Debug>([one, other]: [T; 2]) -> Result<(), TestCaseError> {
    prop_assert_eq!(one.to_string().cmp(&other.to_string()), one.cmp(&other), "{:?} {:?}", one, other);
    prop_assert_eq!(one.to_string().parse::<T>().ok(), Some(one));
    Ok(())
}

fn identifier() -> impl Strategy<Value = String> {
    prop::collection::vec(allowed_character(), 1..=128).prop_map(|characters| characters.into_iter().collect())
}

/// A text of characters that keys contain. Few different characters make equal and adjacent texts
/// likely.
fn sort_text() -> impl Strategy<Value = String> {
    "[#-%0-2T-Uz\u{e000}\u{d7ff}\u{10fffe}]{1,4}"
}

/// A character that no identifier or label may contain. Texts may contain emoji selectors and
/// joiners.
fn odd_character() -> impl Strategy<Value = char> {
    let chosen = "\u{0}\n\t\r\u{1b}\u{7f}\u{85}\u{a0}\u{ad}\u{34f}\u{61c}\u{1680}\u{180e}\u{2000}\u{2003}\u{200b}\u{200c}\u{200d}\
                  \u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{202f}\u{205f}\u{2060}\u{2066}\u{2067}\
                  \u{2068}\u{2069}\u{206f}\u{3000}\u{3164}\u{e000}\u{fe0f}\u{feff}\u{fff9}\u{fffe}\u{ffff}\u{e0001}\u{e0041}\u{10ffff}";
    let odd = any::<char>().prop_filter("odd", |c| c.is_control() || (c.is_whitespace() && *c != ' '));
    prop_oneof![prop::sample::select(chosen.chars().collect::<Vec<_>>()), odd]
}

proptest! {
    #[test]
    fn keys_round_trip_and_sort_like_their_values(
        times in [milli(), milli()], ids in [identifier(), identifier()], same in any::<[bool; 2]>(), numbers in [1..=9_999_999_999_u64, 1..=9_999_999_999]
    ) {
        let ([one, mut other], [id, mut other_id]) = (times, ids);
        other = if same[0] { one } else { other };
        other_id = if same[1] { id.clone() } else { other_id };
        let ids = [&id, &other_id];
        let end = |time: TimestampMillis| PlanTime::from(time.second());
        law([one, other].map(TimestampMillis::second))?;
        law([one, other].map(|time| time.second().day()))?;
        law([one, other].map(end))?;
        law([one, other])?;
        law(ids.map(|id| parsed::<AccountId>(id)))?;
        law(numbers.map(|number| TicketSort::new(number).expect("a number")))?;
        let uuid = |time: TimestampMillis| ItemId::new(time.instant().max(jiff::Timestamp::UNIX_EPOCH), &random(1));
        law([one, other].map(|since| CartItemSort { status: cart::Status::Saved, since, item: uuid(other) }))?;
        law([one, other].map(uuid))?;
        let payment = |time: TimestampMillis| PaymentId::new(time.second(), one.instant().max(jiff::Timestamp::UNIX_EPOCH), &random(1));
        law([one, other].map(payment))?;
        law([one, other].map(|time| PaymentSort(payment(time))))?;
        law([(one, 0), (other, 1)].map(|(time, at)| DueSort { status: [Status::Failed, Status::Pending][at], payment: payment(time) }))?;
        law([(one, &id), (other, &other_id)].map(|(time, id)| ImportStartSort { started_at: time.second(), run: parsed(id) }))?;
        law([(one, &id), (other, &other_id)].map(|(created, leg)| LegTimeSort { created, leg: parsed(leg) }))?;
        law([(one, &id), (other, &other_id)].map(|(expires, hold)| HoldExpirySort { expires, hold: parsed(hold) }))?;
        law([(one, &id), (other, &other_id)].map(|(started, id)| StartedSort { started, reconciliation: parsed(id) }))?;
        law([(one, &id), (other, &other_id)].map(|(time, id)| TotalSort { day: time.second().day(), series: parsed(id) }))?;
        law([(one, &id), (other, &other_id)]
            .map(|(time, id)| UseSort { status: wellness::Status::Draft, end: end(time), activity: parsed(id) }))?;
        law([(one, &id), (other, &other_id)].map(|(time, id)| StandingDueSort { day: time.second().day(), order: parsed(id) }))?;
        law(ids.map(|id| CorrectionSort { user: parsed("u"), at: end(one), id: parsed(id) }))?;
    }

    /// Many identifiers consist of parts of keys. No identifier is part of another key.
    #[test]
    fn no_two_keys_have_the_same_text(id in prop_oneof![identifier(), "(TXN|LEG|ACCOUNT|ALL|ActivityId-|VenueId-|Id-|Global|Total|close-|-|_|0|1){1,4}"]) {
        let company: CompanyId = parsed(&id);
        let keys = [
            AccountPartition(parsed(&id)).to_string(),
            UserPartition(parsed(&id)).to_string(),
            InboxPartition { account: parsed(&id), shard: parsed("7") }.to_string(),
            TotalPartition { scope: TotalScope::Merchant(parsed(&id)), shard: parsed("0") }.to_string(),
            CompanyPartition(company.clone()).to_string(),
            RegistrationsPartition { company: company.clone(), user: parsed(&id) }.to_string(),
            ReferencePartition { company: company.clone(), of: parsed(&format!("FileId-{id}")) }.to_string(),
            EmployeesPartition::of(company.clone(), &parsed(&id)).to_string(),
            GroupsSort { company, activity: parsed(&id) }.to_string(),
            ReportRowSort { plan: parsed(&id), report: RequestId::new(jiff::Timestamp::UNIX_EPOCH, &random(1)), of: RowOf::Activity(parsed(&id)) }.to_string(),
            ProgramSort::Reference(parsed(&format!("VenueId-{id}"))).to_string(),
            id.clone(),
        ];
        prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
        let own: [fn(&str) -> bool; 11] = [
            is_key::<AccountPartition>, is_key::<UserPartition>, is_key::<InboxPartition>, is_key::<TotalPartition>,
            is_key::<CompanyPartition>, is_key::<RegistrationsPartition>, is_key::<ReferencePartition>,
            is_key::<EmployeesPartition>, is_key::<GroupsSort>, is_key::<ReportRowSort>, is_key::<ProgramSort>,
        ];
        prop_assert!(keys.iter().zip(own).all(|(key, is_own)| is_own(key)), "{:?}", keys);
        for job in ["VenueId", "ActivityId", "SeatsId", "EmployeeErasureId"].map(|kind| format!("{kind}-{id}")) {
            prop_assert_eq!(parsed::<wellness::JobId>(&job).to_string(), job);
        }
        let job = format!("dispatch-{id}");
        prop_assert_eq!(parsed::<bank::JobId>(&job).to_string(), job);
        prop_assert!(keys.iter().all(|key| !key.contains('#') || key.parse::<AccountId>().is_err()), "a key with several parts is no identifier");
    }

    #[test]
    fn ranges_of_times_include_both_ends(
        from in milli(), to in milli(), at in milli(), beside in -1_000_i64..=1_000, near in 0_u8..3, open in any::<[bool; 2]>()
    ) {
        let moved = |end: TimestampMillis| end.instant() + jiff::SignedDuration::from_millis(beside);
        let at = [Ok(at), TimestampMillis::containing(moved(from)), TimestampMillis::containing(moved(to))][usize::from(near)].clone();
        let at = at.unwrap_or(from);
        let (second, inside) = (at.second(), from <= at && at <= to);
        let whole = from.second() <= second && second <= to.second();
        let payment = PaymentSort(PaymentId::new(second, jiff::Timestamp::UNIX_EPOCH, &random(1)));
        let (leg, end) = (LegTimeSort { created: at, leg: parsed("L") }, PlanTime::from(second));
        let place = CreatedPlace { created: at, shard: parsed("9"), transaction: parsed("T") };
        let item = CartItemSort { status: cart::Status::Saved, since: at, item: ItemId::new(jiff::Timestamp::UNIX_EPOCH, &random(1)) };
        let epoch = TimestampMillis::containing(jiff::Timestamp::UNIX_EPOCH).expect("a time");
        let order = OrderSort(OrderId::new(at.instant(), &random(1)));
        let placed = order.0.time().expect("a time");
        let (first, last) = (Some(from).filter(|_| !open[0]), Some(to).filter(|_| !open[1]));
        let half = first.is_none_or(|first| first <= at) && last.is_none_or(|last| at <= last);
        for (range, key, wanted) in [
            (PaymentSort::between(from.second(), to.second()), payment.to_string(), whole),
            (CartItemSort::between(item.status, first, last), item.to_string(), half),
            (OrderSort::placed(first, last.map(|last| last.max(epoch))), order.to_string(), first.is_none_or(|first| first <= placed) && last.is_none_or(|last| placed <= last.max(epoch))),
            (CreatedSort::between(from, last), CreatedSort(at).to_string(), from <= at && last.is_none_or(|last| at <= last)),
            (CreatedSort::between(from, last), place.to_string(), from <= at && last.is_none_or(|last| at <= last)),
            (LegTimeSort::period(first, last), leg.to_string(), half),
            (LegTimeSort::between(from, to), leg.to_string(), inside),
            (LegTimeSort::before(to), leg.to_string(), at < to),
            (HoldExpirySort::expired(to), HoldExpirySort { expires: at, hold: parsed("H") }.to_string(), at <= to),
            (HoldExpirySort::open(to), HoldExpirySort { expires: at, hold: parsed("H") }.to_string(), at > to),
            (TotalSort::between(from.second().day(), to.second().day()), TotalSort { day: second.day(), series: parsed("S") }.to_string(), from.second().day() <= second.day() && second.day() <= to.second().day()),
            (DueSort::due_on(to.second().day(), Status::Pending), DueSort { status: Status::Pending, payment: payment.0 }.to_string(), second.day() == to.second().day()),
            (StandingDueSort::until(to.second().day()), StandingDueSort { day: second.day(), order: parsed("O") }.to_string(), second.day() <= to.second().day()),
            (DueSort::due_by(to.second(), Status::Pending), DueSort { status: Status::Pending, payment: payment.0 }.to_string(), second <= to.second()),
        ] {
            prop_assert_eq!(range.contains(&key), wanted, "{:?} {}", range, key);
            prop_assert!(range.from() <= range.to(), "DynamoDB rejects a range that ends before it starts");
        }
        if let Some(period) = Period::new(from.second().into(), to.second().into()) {
            let of = UseSort { status: wellness::Status::Draft, end, activity: parsed("A") };
            let correction = CorrectionSort { user: parsed("u"), at: end, id: parsed("C") };
            prop_assert_eq!(UseSort::within(of.status, period).contains(&of.to_string()), whole);
            prop_assert_eq!(EndDateSort::within(period).contains(&EndDateSort(end).to_string()), whole);
            prop_assert_eq!(ActivityEndDateSort::within(period).contains(&ActivityEndDateSort(end).to_string()), whole);
            prop_assert_eq!(CorrectionSort::within(&correction.user, period).contains(&correction.to_string()), whole);
            prop_assert!(!CorrectionSort::within(&parsed("u1"), period).contains(&correction.to_string()));
        }
    }

    #[test]
    fn a_range_after_any_position_contains_exactly_the_keys_after_it(
        ends in [sort_text(), sort_text()],
        position in sort_text(),
        at_end in 0_u8..4,
        backward in any::<bool>(),
        keys in prop::collection::vec(sort_text(), 0..20),
    ) {
        let [mut from, mut to] = ends;
        if to < from {
            std::mem::swap(&mut from, &mut to);
        }
        let range = KeyRange::between(from.clone(), to.clone());
        let range = if backward { range.newest_first() } else { range };
        let position = match at_end { 0 => from, 1 => to, _ => position };
        prop_assume!(range.contains(&position));
        let rest = range.after(&position);
        prop_assert!(rest.from() <= rest.to(), "DynamoDB rejects a range that ends before it starts");
        for key in keys.iter().chain([&position, &range.from().to_owned(), &range.to().to_owned()]) {
            let is_after = if backward { *key < position } else { *key > position };
            prop_assert_eq!(rest.contains(key), range.contains(key) && is_after, "{:?}", key);
        }
    }

    #[test]
    fn a_url_parser_keeps_every_identifier_of_a_path(dots in "(\\.|%2e|%2E){0,4}", rest in "[a./%2eE]{0,3}", text in any::<String>()) {
        // The dot segments of https://url.spec.whatwg.org, which clients remove from a path.
        const REMOVED: [&str; 6] = [".", "%2e", "..", ".%2e", "%2e.", "%2e%2e"];
        for text in [dots.clone(), format!("{dots}{rest}"), text] {
            let is_removed = text.is_empty() || REMOVED.contains(&text.to_ascii_lowercase().as_str());
            let is_refused = [text.parse::<AccountId>().is_err(), text.parse::<Department>().is_err()];
            prop_assert!(!is_removed || is_refused == [true; 2], "{:?}", text);
            let is_plain = !text.is_empty() && text.bytes().all(|byte| b"a./%2eE".contains(&byte));
            prop_assert!(is_removed || !is_plain || is_refused == [false; 2], "{:?}", text);
        }
    }

    #[test]
    fn identifiers_and_labels_contain_only_visible_characters(text in any::<String>(), odd in odd_character(), at in 0_usize..4) {
        let put = |odd: &str| { let mut text: Vec<char> = "a-1b".chars().collect(); text.splice(at..at, odd.chars()); text.into_iter().collect::<String>() };
        prop_assert!(!is_identifier(&put(&odd.to_string())), "{:?}", odd);
        prop_assert!(put(&odd.to_string()).parse::<Department>().is_err(), "{:?}", odd);
        let is_joiner = matches!(odd, '\u{200c}' | '\u{200d}');
        let is_allowed = odd == '\u{fe0f}' || (is_joiner && (1..4).contains(&at));
        prop_assert_eq!(is_plain_text(&put(&odd.to_string())), is_allowed, "{:?} at {}", odd, at);
        prop_assert!(!is_joiner || !is_plain_text(&put(&format!("{odd} "))), "{:?}", odd);
        prop_assert!(!is_joiner || !is_plain_text(&put(&format!("{odd}{odd}"))), "{:?}", odd);
        if is_identifier(&text) {
            prop_assert!(!text.contains(|c: char| c.is_whitespace() || c.is_control() || "#[]".contains(c)));
            prop_assert!(is_plain_text(&text));
            prop_assert!(text.parse::<Department>().is_ok());
        }
    }

}

#[test]
fn a_position_has_the_characters_of_keys() {
    let range = KeyRange::whole_partition();
    assert_eq!(["a#b", "a\u{1}b", "a\u{10ffff}"].map(|position| range.has_position(position)), [true, false, false]);
    assert!(!KeyRange::beginning_with("a#").has_position("b#"));
}

#[test]
fn rejects_invalid_identifiers() {
    assert!("a".repeat(128).parse::<AccountId>().is_ok());
    assert!("é".repeat(128).parse::<TransactionId>().is_ok());
    for bad in [
        "",
        " ",
        "a b",
        "a#b",
        " a",
        "[a",
        "a]",
        ".",
        "..",
        "%2e",
        ".%2E",
        "\u{fffd}",
        "a\u{fffd}",
        "a\nb",
        "a\u{7f}",
        "a\u{85}b",
        &"a".repeat(129),
        &"a".repeat(10_000),
    ] {
        assert!(bad.parse::<AccountId>().is_err(), "{bad:?}");
    }
    for label in ["Sales", "Human Resources", "Vertrieb & Ärzte", "人事 部"] {
        assert!(label.parse::<Department>().is_ok(), "{label:?}");
    }
    for bad in ["", " ", " Sales", "Sales ", "Human  Resources", "Human\u{a0}Resources", "a #", "..", "a \u{fffd}"] {
        assert!(bad.parse::<Department>().is_err(), "{bad:?}");
        assert!(bad.parse::<IdempotencyKey>().is_err(), "{bad:?}");
    }
    for good in ["...", ".a", "a..", "Dept . 5", "a%2e"] {
        assert!(good.parse::<Department>().is_ok(), "{good:?}");
    }
    for good in ["a", "0", "-", "_", "location", "cost-centre_2", "types", &"a".repeat(40)] {
        assert!(good.parse::<AttributeName>().is_ok(), "{good:?}");
    }
    let reserved = ["type", "subType", "roles", "departments", "userId", "role", "department", "name", "ROLES", "Name"];
    for bad in ["", "a b", "a.b", "a#", "é", "a\n", &"a".repeat(41)].into_iter().chain(reserved) {
        assert!(bad.parse::<AttributeName>().is_err(), "{bad:?}");
    }
    for bad in ["k,k", "k, k", ",", "k,"] {
        let error = bad.parse::<IdempotencyKey>().expect_err(bad).to_string();
        assert!(error.starts_with("must be sent once, without commas"), "{error}");
        assert!(!bad.contains(' ') || bad.parse::<Department>().is_ok(), "{bad:?}");
    }
}

#[test]
fn times_are_converted_to_utc_and_truncated_to_the_second() {
    let second = |text: &str| text.parse::<TimestampSeconds>().map(|second| second.to_string());
    assert_eq!(second("2026-12-01T00:30:00+02:00").as_deref(), Ok("2026-11-30T22:30:00Z"));
    assert_eq!(second("2026-12-01T23:59:59.999Z").as_deref(), Ok("2026-12-01T23:59:59Z"));
    assert_eq!(second("1969-12-31T23:59:59.5Z").as_deref(), Ok("1969-12-31T23:59:59Z"));
    assert_eq!(second("2028-02-29T00:00:00-00:30").as_deref(), Ok("2028-02-29T00:30:00Z"));
    // RFC 3339 in full. A leap second stays on its day.
    for (text, expected) in [
        ("2027-06-30t10:00:00z", "2027-06-30T10:00:00Z"),
        ("2027-06-30T10:00:00.1234567891Z", "2027-06-30T10:00:00Z"),
        ("2027-06-30T10:00:00.00000000000000000000001+00:00", "2027-06-30T10:00:00Z"),
        ("2027-06-30t23:59:59-23:59", "2027-07-01T23:58:59Z"),
        ("2027-06-30T10:00:00-00:00", "2027-06-30T10:00:00Z"),
        ("1998-12-31T23:59:60Z", "1998-12-31T23:59:59Z"),
        ("1998-12-31T15:59:60.123-08:00", "1998-12-31T23:59:59Z"),
        ("0000-01-01T02:00:00+02:00", "0000-01-01T00:00:00Z"),
        ("9999-12-30T22:00:00.9999999999Z", "9999-12-30T22:00:00Z"),
        ("9999-12-31T10:00:00+12:00", "9999-12-30T22:00:00Z"),
    ] {
        assert_eq!(second(text).as_deref(), Ok(expected), "{text}");
    }
    let milli = |text: &str| text.parse::<TimestampMillis>().map(|milli| milli.to_string());
    assert_eq!(milli("2027-06-30t10:00:00.1239999999z").as_deref(), Ok("2027-06-30T10:00:00.123Z"));
    assert_eq!(milli("1998-12-31T23:59:60Z").as_deref(), Ok("1998-12-31T23:59:59.999Z"));
    for bad in [
        "",
        "now",
        "2026-12-01",
        "2026-12-01T09:30Z",
        "2026-12-01T09:30:00",
        "2026-12-01 09:30:00Z",
        "20261201T093000Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-12-01T24:00:00Z",
        "2026-12-01T09:30:00.Z",
        "2026-12-01T09:30:00,5Z",
        "2026-12-01T09:30:00+2:00",
        "2026-12-01T09:30:00+24:00",
        "2026-12-01T09:30:00-25:59",
        "2026-12-01T09:30:00+12:60",
        "2026-12-01T09:30:00Z[UTC]",
        "+12026-12-01T09:30:00Z",
        "0000-01-01T00:30:00+02:00",
        "9999-12-31T23:59:59Z",
        "2026-12-01T09:30:60Z",
        "2026-12-31T23:58:60Z",
        "2026-12-31T23:59:61Z",
        "2026-12-31T23:59:60+01:00",
        "2026-12-01T09:30:00ZZ",
        "2026-12-01T09:30:00.5",
        "２026-12-01T09:30:00Z",
    ] {
        assert!(second(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn rejects_payment_ids_in_other_forms() {
    const UNIQUE: &str = "019ae9d1fd007000a1b2c3d4e5f60718";
    for time in ["20261201T093000Z", "00000101T000000Z", "20280229T235959Z", "99991230T220000Z"] {
        assert!(format!("{time}-{UNIQUE}").parse::<PaymentId>().is_ok(), "{time}");
    }
    let capital = UNIQUE.to_uppercase();
    let hyphens = "019ae9d1-fd00-7000-a1b2-c3d4e5f60718";
    for (time, unique) in [
        ("20261201T093000Z", capital.as_str()),
        ("20261201T093000Z", hyphens),
        ("20261201T093000Z", "{019ae9d1-fd00-7000-a1b2-c3d4e5f60718}"),
        ("20261201T093000Z", &UNIQUE[1..]),
        ("20261201T093000Z", "019ae9d1fd007000a1b2c3d4e5f6071g"),
        ("20261231T235960Z", UNIQUE),
        ("20260229T093000Z", UNIQUE),
        ("20261201T240000Z", UNIQUE),
        ("20261201T0930Z", UNIQUE),
        ("20261201t093000z", UNIQUE),
        ("2026-12-01T09:30:00Z", UNIQUE),
        ("99991231T235959Z", UNIQUE),
    ] {
        assert!(format!("{time}-{unique}").parse::<PaymentId>().is_err(), "{time}-{unique}");
    }
}

#[test]
fn rejects_a_payment_key_whose_time_differs_from_its_id() {
    const ID: &str = "20261231T235959Z-019ae9d1fd007000a1b2c3d4e5f60718";
    let sort = |time: &str| format!("{time}#{ID}").parse::<PaymentSort>();
    assert!(sort("2026-12-31T23:59:59Z").is_ok());
    for other in ["2026-12-31T23:59:58Z", "2026-12-31T23:59:60Z", "2026-12-31T23:59:59.0Z", "20261231T235959Z", ""] {
        assert!(sort(other).is_err(), "{other}");
    }
}

#[test]
fn errors_name_the_short_month_and_the_encoded_plus() {
    let second = |text: &str| text.parse::<TimestampSeconds>().map_err(|error| error.to_string()).unwrap_err();
    let day = |text: &str| text.parse::<Day>().map_err(|error| error.to_string()).unwrap_err();
    let plan = |text: &str| text.parse::<PlanTime>().map_err(|error| error.to_string()).unwrap_err();
    assert_eq!(day("2026-06-31"), "must be an existing date: June 2026 has 30 days");
    assert_eq!(second("2026-02-29T00:00:00Z"), "must be an existing date: February 2026 has 28 days");
    assert_eq!(plan("2026-06-31"), "must be an existing date: June 2026 has 30 days");
    assert_eq!(plan("2026-06-31T10:00:00"), "must be an existing date: June 2026 has 30 days");
    assert!(second("2026-06-30T09:30:00 02:00").ends_with("send the + of the offset as %2B"));
    for out in ["9999-12-31T23:59:59Z", "0000-01-01T00:00:00+02:00"] {
        assert_eq!(second(out), "must be a time from 0000-01-01T00:00:00Z to 9999-12-30T22:00:00Z", "{out}");
    }
    assert!(plan("2026-06-30T09:30:00 02:00").ends_with("send the + of the offset as %2B"));
    assert_eq!(day("2026-13-01"), "must be an existing date such as 2026-12-01");
    assert_eq!(day("2026-12-00"), "must be an existing date such as 2026-12-01");
}

#[test]
fn rejects_nonexistent_days_and_other_date_formats() {
    assert!("2028-02-29".parse::<Day>().is_ok());
    for bad in ["2026-02-29", "2026-2-9", "20261201", "2026-12-01T00:00:00Z", "-000001-01-01", "", "x"] {
        assert!(bad.parse::<Day>().is_err(), "{bad:?}");
    }
}

#[test]
fn bounds_round_inwards_and_include_whole_days() {
    let bound = |text: &str| text.parse::<Bound>().expect(text);
    let range = |from: &str, to: &str| Bounds::new(Some(bound(from)), Some(bound(to)));
    for (text, seconds, millis) in [
        ("2026-12-01T09:30:00Z", ["2026-12-01T09:30:00Z"; 2], ["2026-12-01T09:30:00.000Z"; 2]),
        (
            "2026-11-26",
            ["2026-11-26T00:00:00Z", "2026-11-26T23:59:59Z"],
            ["2026-11-26T00:00:00.000Z", "2026-11-26T23:59:59.999Z"],
        ),
        // No time of a range without a whole second or millisecond.
        ("2026-12-01T09:30:00.001Z", ["2026-12-01T09:30:01Z", "2026-12-01T09:30:00Z"], ["2026-12-01T09:30:00.001Z"; 2]),
        (
            "2026-12-31T23:59:60Z",
            ["2027-01-01T00:00:00Z", "2026-12-31T23:59:59Z"],
            ["2027-01-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z"],
        ),
        (
            "1969-12-31T23:59:59.9999Z",
            ["1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z"],
            ["1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z"],
        ),
        // Bounds out of the range of stored times: before it, after it, and on the last day.
        (
            "0000-01-01T00:00:00+02:00",
            ["9999-12-30T22:00:00Z", "0000-01-01T00:00:00Z"],
            ["9999-12-30T22:00:00.999Z", "0000-01-01T00:00:00.000Z"],
        ),
        (
            "9999-12-31T23:59:59Z",
            ["9999-12-30T22:00:00Z", "0000-01-01T00:00:00Z"],
            ["9999-12-30T22:00:00.999Z", "0000-01-01T00:00:00.000Z"],
        ),
        (
            "9999-12-31",
            ["9999-12-30T22:00:00Z", "0000-01-01T00:00:00Z"],
            ["9999-12-30T22:00:00.999Z", "0000-01-01T00:00:00.000Z"],
        ),
        (
            "9999-12-30",
            ["9999-12-30T00:00:00Z", "9999-12-30T22:00:00Z"],
            ["9999-12-30T00:00:00.000Z", "9999-12-30T22:00:00.999Z"],
        ),
    ] {
        let bounds = range(text, text).expect(text);
        let (from, to) = bounds.seconds();
        assert_eq!([from, to].map(|time| time.expect("a bound").to_string()), seconds, "{text}");
        let (from, to) = bounds.millis();
        assert_eq!([from, to].map(|time| time.expect("a bound").to_string()), millis, "{text}");
    }
    let whole = range("0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59").expect("a range");
    assert_eq!(whole.seconds(), (Some(TimestampSeconds::MIN), Some(TimestampSeconds::MAX)));
    assert_eq!(whole.millis(), (Some(TimestampMillis::MIN), Some(TimestampMillis::MAX)));
    assert_eq!(Bounds::default().seconds(), (None, None));
    for (from, to) in [
        ("2026-12-02", "2026-12-01"),
        ("2026-12-02T00:00:00Z", "2026-12-01"),
        ("2026-12-02", "2026-12-01T23:59:59.999Z"),
        ("2026-12-01T09:30:00.9Z", "2026-12-01T09:30:00.1Z"),
        ("9999-12-31", "0000-01-01"),
    ] {
        assert_eq!(range(from, to), None, "{from} {to}");
    }
    let now: TimestampMillis = "2026-12-01T09:30:00.5Z".parse().expect("a time");
    let until = |text: &str| bound(text).until(now).map(|time| time.to_string());
    assert_eq!(until("2026-12-01").as_deref(), Some("2026-12-01T09:30:00.500Z"));
    assert_eq!(until("2026-11-30").as_deref(), Some("2026-11-30T23:59:59.999Z"));
    assert_eq!(until("2026-12-01T09:30:00.5009Z").as_deref(), Some("2026-12-01T09:30:00.500Z"));
    assert_eq!(["2026-12-01T09:30:00.501Z", "2026-12-02", "9999-12-31"].map(until), [None, None, None]);
}

#[test]
fn rejects_more_write_shards_than_read_shards() {
    let shards = Shards::new(5, 7).expect("5 of 7");
    let names: Vec<String> = shards.read().map(|shard| shard.to_string()).collect();
    assert_eq!(names, ["0", "1", "2", "3", "4", "5", "6"]);
    for (write, read) in [(0, 5), (6, 5), (1, 101), (0, 0)] {
        assert!(Shards::new(write, read).is_err(), "{write} of {read}");
    }
    assert!("05".parse::<Shard>().is_err() && "-1".parse::<Shard>().is_err());
}

#[test]
fn shards_are_picked_evenly() {
    let shards = Shards::new(5, 5).expect("5 of 5");
    let (mut counts, random) = (std::collections::BTreeMap::new(), Random::seeded(1));
    for _ in 0..100_000 {
        *counts.entry(shards.pick(&random)).or_insert(0_u32) += 1;
    }
    assert_eq!(counts.len(), 5);
    assert!(counts.values().all(|count| *count <= 20_600), "more than 3 % over the mean: {counts:?}");
}
