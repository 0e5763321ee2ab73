//! Property tests: keys round-trip, sort like their values, and have exactly one accepted form.

use super::laws::{allowed_character, orders, round_trips};
use crate::{
    AccountId, Bound, Bounds, Day, IdempotencyKey, IdempotencySort, KeyRange, Random, Shard, Shards, TimestampMillis,
    TimestampSeconds, TransactionId,
    bank::{DueSort, GuardPartition, PaymentId, PaymentSort, Status},
    cart::{self, CartItemSort, ItemId, ItemSort, JobPartition, LinesSort, OrderSort, SkuSort},
    is_identifier, is_plain_text,
    plan::{Load, Plan, UNITS_A_SHARD, WARM_STEP, Writes, peak, plan, shards, warm},
    wellness::{Department, PlanTime},
};
use proptest::prelude::*;

fn random(seed: i64) -> Random {
    Random::seeded(seed.unsigned_abs())
}

fn second() -> impl Strategy<Value = TimestampSeconds> {
    // From 0000-01-01 to 9999-12-30, in seconds.
    (-62_167_219_200_i64..=253_402_207_200).prop_map(|seconds| {
        TimestampSeconds::containing(jiff::Timestamp::from_second(seconds).expect("in range")).expect("in range")
    })
}

fn payment() -> impl Strategy<Value = PaymentId> {
    (second(), 0_i64..4_000_000_000).prop_map(|(time, made)| {
        PaymentId::new(time, jiff::Timestamp::from_second(made).expect("in range"), &random(made))
    })
}

fn status() -> impl Strategy<Value = Status> {
    prop::sample::select(Status::ALL.to_vec())
}

fn due() -> impl Strategy<Value = DueSort> {
    (status(), payment()).prop_map(|(status, payment)| DueSort { status, payment })
}

fn milli() -> impl Strategy<Value = TimestampMillis> {
    (second(), 0_i64..1_000).prop_map(|(second, milli)| {
        let instant = second.instant() + jiff::SignedDuration::from_millis(milli);
        TimestampMillis::containing(instant).expect("in range")
    })
}

fn cart_item() -> impl Strategy<Value = CartItemSort> {
    (prop::sample::select(cart::Status::ALL.to_vec()), milli(), 0_i64..4_000_000_000).prop_map(
        |(status, since, made)| CartItemSort {
            status,
            since,
            item: ItemId::new(jiff::Timestamp::from_second(made).expect("in range"), &random(made)),
        },
    )
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
    fn keys_round_trip(time in second(), payment in payment(), due in due(), id in identifier()) {
        round_trips(&time)?;
        round_trips(&time.day())?;
        round_trips(&payment)?;
        round_trips(&PaymentSort(payment))?;
        round_trips(&due)?;
        round_trips(&id.parse::<AccountId>().expect("an identifier"))?;
        round_trips(&IdempotencySort(id.parse().expect("an identifier")))?;
        round_trips(&OrderSort(id.parse().expect("an identifier")))?;
        round_trips(&LinesSort(id.parse().expect("an identifier")))?;
        round_trips(&SkuSort(id.parse().expect("an identifier")))?;
        round_trips(&JobPartition(id.parse().expect("an identifier")))?;
        round_trips(&GuardPartition(id.parse().expect("an identifier")))?;
    }

    #[test]
    fn cart_keys_round_trip_and_sort_like_their_values(a in cart_item(), b in cart_item()) {
        round_trips(&a)?;
        round_trips(&a.since)?;
        round_trips(&a.item)?;
        round_trips(&ItemSort(a.item))?;
        let made = a.item.time().expect("a time");
        let first = CartItemSort { status: cart::Status::Active, since: made, item: a.item };
        prop_assert_eq!(CartItemSort::first(a.item), Some(first), "the id has the first sort key");
        prop_assert_eq!(ItemId::new(made.instant(), &random(1)).time(), Some(made));
        orders(&a, &b)?;
        orders(&a.since, &b.since)?;
        orders(&ItemSort(a.item), &ItemSort(b.item))?;
        prop_assert_eq!(a.since.to_string().len(), 24);
    }

    #[test]
    fn cart_ranges_include_both_ends(from in milli(), after in -4_000_i64..4_000, b in cart_item(), open in any::<[bool; 2]>()) {
        let to = TimestampMillis::containing(from.instant() + jiff::SignedDuration::from_secs(after * 900)).unwrap_or(from);
        let (first, last) = ((!open[0]).then_some(from), (!open[1]).then_some(to));
        let range = CartItemSort::between(b.status, first, last);
        prop_assert!(range.from() <= range.to(), "DynamoDB rejects a range that ends before it starts");
        let inside = first.is_none_or(|first| first <= b.since) && last.is_none_or(|last| b.since <= last);
        prop_assert_eq!(range.contains(&b.to_string()), inside);
        let day = CartItemSort::on(from.second().day(), b.status);
        prop_assert_eq!(day.contains(&b.to_string()), b.since.second().day() == from.second().day());
        prop_assert!(CartItemSort::with_status(b.status).contains(&b.to_string()));
        prop_assert!(!CartItemSort::with_status(b.status).contains(&ItemSort(b.item).to_string()));
    }

    #[test]
    fn descending_ranges_continue_with_smaller_keys(a in cart_item(), b in cart_item()) {
        let a = CartItemSort { status: b.status, ..a };
        let rest = CartItemSort::with_status(b.status).newest_first().after(&a.to_string());
        prop_assert_eq!(rest.contains(&b.to_string()), b < a);
        prop_assert!(rest.is_backward());
    }

    #[test]
    fn keys_sort_like_their_values(a in due(), b in due(), s in second(), t in second()) {
        orders(&a, &b)?;
        orders(&a.payment, &b.payment)?;
        orders(&PaymentSort(a.payment), &PaymentSort(b.payment))?;
        orders(&a.status, &b.status)?;
        orders(&s, &t)?;
        orders(&s.day(), &t.day())?;
    }

    #[test]
    fn times_and_keys_have_a_fixed_width(s in second(), a in due(), b in due()) {
        prop_assert_eq!(s.to_string().len(), 20);
        prop_assert_eq!(PaymentSort(a.payment).to_string().len(), PaymentSort(b.payment).to_string().len());
    }

    #[test]
    fn identifiers_never_parse_as_composite_keys(text in any::<String>(), due in due()) {
        // Keys with several parts contain a separator, and identifiers do not.
        if let Ok(id) = text.parse::<AccountId>() {
            prop_assert!(!id.as_str().contains('#'));
            prop_assert!(text.parse::<PaymentSort>().is_err());
            prop_assert!(text.parse::<DueSort>().is_err());
            prop_assert!(text.parse::<GuardPartition>().is_err());
        }
        prop_assert!(due.to_string().parse::<AccountId>().is_err());
    }

    #[test]
    fn changed_payment_keys_are_rejected_or_round_trip(payment in payment(), at in 0_usize..70, with in any::<char>()) {
        let text = PaymentSort(payment).to_string();
        let mut changed: Vec<char> = text.chars().collect();
        prop_assume!(at < changed.len());
        changed[at] = with;
        let changed: String = changed.into_iter().collect();
        if let Ok(key) = changed.parse::<PaymentSort>() {
            prop_assert_eq!(key.to_string(), changed);
        }
    }

    #[test]
    fn payment_ranges_include_both_ends(from in second(), days in -4_i64..400, payment in payment()) {
        let to = from.plus_days(days);
        let inside = from <= payment.time() && payment.time() <= to;
        let range = PaymentSort::between(from, to);
        prop_assert!(range.from() <= range.to(), "DynamoDB rejects a range that ends before it starts");
        prop_assert_eq!(range.contains(&PaymentSort(payment).to_string()), inside);
        prop_assert!(PaymentSort::history().contains(&PaymentSort(payment).to_string()));
    }

    #[test]
    fn day_ranges_contain_exactly_the_times_of_the_day(day in second(), wanted in status(), due in due()) {
        let range = DueSort::due_on(day.day(), wanted);
        let inside = due.status == wanted && due.payment.time().day() == day.day();
        prop_assert_eq!(range.contains(&due.to_string()), inside);
        let until = due.status == wanted && due.payment.time().day() <= day.day();
        prop_assert_eq!(DueSort::due_until(day.day(), wanted).contains(&due.to_string()), until);
        prop_assert_eq!(DueSort::with_status(wanted).contains(&due.to_string()), due.status == wanted);
    }

    #[test]
    fn ascending_ranges_continue_with_greater_keys(a in due(), b in due()) {
        let rest = DueSort::with_status(b.status).after(&a.to_string());
        prop_assert_eq!(rest.contains(&b.to_string()), a < b && (a.status <= b.status));
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

    #[test]
    fn all_keys_of_a_range_start_with_its_shared_prefix(due in due()) {
        let range = DueSort::due_on(due.payment.time().day(), due.status);
        prop_assert!(due.to_string().starts_with(range.shared_prefix()));
        prop_assert!(range.shared_prefix().starts_with(due.status.as_str()));
    }
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
fn range_ends_match_the_requirement() {
    let range: KeyRange = DueSort::due_on("2026-12-01".parse().expect("a day"), Status::Scheduled);
    assert_eq!((range.from(), range.to()), ("SCHEDULED#2026-12-01T", "SCHEDULED#2026-12-01U"));
    let range = PaymentSort::next_90_days("2026-12-01T09:30:00Z".parse().expect("a time"));
    assert_eq!((range.from(), range.to()), ("2026-12-01T09:30:00Z", "2027-03-01T09:30:00Z$"));
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

#[test]
fn plans_the_documented_numbers_of_shards() {
    let payments = |units_each| Writes { count: 1_000_000, units_each };
    let shards = |writes: &[Writes], utilisation| plan(writes, 1_800, utilisation).shards;
    assert_eq!(plan(&[payments(8)], 1_800, 100), Plan { writes_per_second: 555, units_per_second: 4_445, shards: 5 });
    assert_eq!(shards(&[payments(8), payments(16)], 70), 20);
    assert_eq!(shards(&[payments(1), payments(2)], 70), 3);
    assert_eq!(shards(&[], 70), 1);
}

#[test]
fn plans_round_up_at_their_boundaries() {
    assert_eq!([0, 1, 1_000, 1_001, 5_000, 5_001].map(|units| shards(units, 100)), [1, 1, 1, 2, 5, 6]);
    assert_eq!([700, 701, 3_500, 3_501].map(|units| shards(units, 70)), [1, 2, 5, 6]);
    assert_eq!(
        [4_000, 4_001, 5_000, 5_001].map(|units| warm(units, 100, 4_000)),
        [None, Some(5_000), Some(5_000), Some(6_000)]
    );
    assert_eq!([2_800, 2_801].map(|units| warm(units, 70, 4_000)), [None, Some(5_000)]);
    let rate = |units, until| Load { from: 0, until, units }.per_second();
    assert_eq!([(0, 60), (60, 60), (61, 60), (7, 0)].map(|(units, until)| rate(units, until)), [0, 1, 2, 7]);
    // The end of a load is exclusive.
    let load = |from, until| Load { from, until, units: 60 };
    assert_eq!(peak(&[load(0, 60), load(60, 120)]), 1);
    assert_eq!(peak(&[load(0, 60), load(59, 119)]), 2);
    assert_eq!(peak(&[]), 0);
}

fn load() -> impl Strategy<Value = Load> {
    (0_u64..500, 1_u64..500, 0_u64..100_000).prop_map(|(from, long, units)| Load { from, until: from + long, units })
}

proptest! {
    #[test]
    fn the_peak_is_the_highest_sum_of_any_second(loads in prop::collection::vec(load(), 0..8)) {
        let of = |second| loads.iter().filter(|l| l.from <= second && second < l.until).map(Load::per_second).sum();
        let highest: u64 = (0..1_000).map(of).max().unwrap_or_default();
        prop_assert_eq!(peak(&loads), highest);
        for load in &loads {
            prop_assert!(load.per_second() * (load.until - load.from) >= load.units);
        }
    }

    #[test]
    fn shards_and_warm_throughput_hold_the_rate(units in 0_u64..10_000_000, percent in 1_u64..=100) {
        let (count, limit) = (shards(units, percent), UNITS_A_SHARD * percent);
        prop_assert!(count * limit >= units * 100);
        prop_assert!(count == 1 || (count - 1) * limit < units * 100);
        match warm(units, percent, 4_000) {
            None => prop_assert!(units * 100 <= 4_000 * percent),
            Some(asked) => {
                prop_assert!(asked * percent >= units * 100 && asked.is_multiple_of(WARM_STEP) && asked > 4_000);
                prop_assert!((asked - WARM_STEP) * percent < units * 100);
            }
        }
    }

    #[test]
    fn plans_of_any_size_do_not_overflow(count: u64, units_each: u64, percent: u64, from: u64, until: u64) {
        let loads = [Load { from, until, units: count }; 2];
        let planned = plan(&[Writes { count, units_each }; 2], until, percent);
        prop_assert!(planned.shards > 0 && shards(count, percent) > 0);
        prop_assert_eq!(peak(&loads) > 0, from < until && count > 0);
        prop_assert!(warm(count, percent, units_each).is_none_or(|asked| asked > 0));
    }
}
