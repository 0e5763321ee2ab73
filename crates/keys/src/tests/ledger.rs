//! Properties of the ledger's keys: they round-trip, sort like their values, and are in the right
//! ranges. No text is a key of two types. Derived ids never change.

use super::laws::{allowed_character, kinds, must_be_canonical, orders, round_trips};
use crate::{
    AccountId, Day, IdempotencyKey, KeyRange, Random, Shard, TimestampMillis, TransactionId,
    ledger::{
        AccountPartition, AccountStatus, AccountsPartition, ByKeyPartition, ByKeySort, CreatedPlace, CreatedSort,
        EntrySort, FindingSort, InboxPartition, InboxSort, LegId, LegSort, LegTimeSort, LegType, MerchantId,
        MerchantPartition, MerchantsPartition, Metadata, PostingSort, ReconciliationId, ReconciliationPartition,
        ReversalSort, SettlementPartition, StatusPartition, Subject, TransactionPartition, TransactionStatus, UserId,
        UserPartition,
    },
};
use jiff::Timestamp;
use proptest::prelude::*;
use std::{collections::BTreeSet, fmt::Debug, str::FromStr};

fn milli() -> impl Strategy<Value = TimestampMillis> {
    // 0000-01-01 to 9999-12-30, in milliseconds.
    (-62_167_219_200_000_i64..=253_402_207_200_000).prop_map(milli_of)
}

fn milli_of(milliseconds: i64) -> TimestampMillis {
    TimestampMillis::containing(Timestamp::from_millisecond(milliseconds).expect("in range")).expect("in range")
}

/// Generates an arbitrary identifier. Many identifiers contain parts of keys.
fn id<T: FromStr<Err: Debug> + Debug>() -> impl Strategy<Value = T> {
    let any = prop::collection::vec(allowed_character(), 1..=128)
        .prop_map(|characters| characters.into_iter().collect::<String>());
    let sly = "(TXN|LEG|ACCOUNT|ACCOUNTS|METADATA|STATUS|completed|CREATED|FINDING|IDEMPOTENCY|USER|-|01|_|0){1,4}";
    prop_oneof![any, sly].prop_map(|text| text.parse().expect("an identifier"))
}

fn shard() -> impl Strategy<Value = Shard> {
    (0_u8..100).prop_map(|number| number.to_string().parse().expect("a shard"))
}

fn place() -> impl Strategy<Value = CreatedPlace> {
    (milli(), shard(), id()).prop_map(|(created, shard, transaction)| CreatedPlace { created, shard, transaction })
}

fn leg_time() -> impl Strategy<Value = LegTimeSort> {
    (milli(), id()).prop_map(|(created, leg)| LegTimeSort { created, leg })
}

fn subject() -> impl Strategy<Value = Subject> {
    prop_oneof![id().prop_map(Subject::Account), id().prop_map(Subject::Leg), id().prop_map(Subject::Transaction),]
}

fn status(shard: Shard) -> StatusPartition {
    StatusPartition { status: TransactionStatus::Completed, shard }
}

proptest! {
    #[test]
    fn partition_keys_round_trip(
        account in id::<AccountId>(), user in id(), merchant in id(), transaction in id(), key in id(), run in id(), shard in shard()
    ) {
        round_trips(&MerchantPartition(merchant))?;
        round_trips(&InboxPartition { account: account.clone(), shard })?;
        round_trips(&SettlementPartition(account.clone()))?;
        round_trips(&AccountPartition(account))?;
        round_trips(&UserPartition(user))?;
        round_trips(&TransactionPartition(transaction))?;
        round_trips(&ByKeyPartition(key))?;
        round_trips(&ReconciliationPartition(run))?;
        round_trips(&status(shard))?;
        round_trips(&AccountsPartition)?;
    }

    #[test]
    fn sort_keys_round_trip(
        time in milli(), leg in id::<LegId>(), leg_time in leg_time(), place in place(), subject in subject()
    ) {
        round_trips(&CreatedSort(time))?;
        round_trips(&InboxSort { created: time, leg: leg.clone() })?;
        round_trips(&EntrySort::Posting(PostingSort(leg.clone())))?;
        round_trips(&EntrySort::Leg(LegSort(leg.clone())))?;
        round_trips(&LegSort(leg))?;
        round_trips(&leg_time)?;
        round_trips(&place)?;
        round_trips(&FindingSort(subject.clone()))?;
        round_trips(&subject)?;
        round_trips(&Metadata)?;
        round_trips(&ReversalSort::FIRST)?;
        round_trips(&ByKeySort)?;
    }

    #[test]
    fn partition_keys_parse_as_exactly_one_type(
        account in id::<AccountId>(), user in id(), merchant in id(), transaction in id(), key in id(), run in id(), shard in shard()
    ) {
        for text in [
            MerchantPartition(merchant).to_string(),
            InboxPartition { account: account.clone(), shard }.to_string(),
            SettlementPartition(account.clone()).to_string(),
            AccountPartition(account).to_string(),
            UserPartition(user).to_string(),
            TransactionPartition(transaction).to_string(),
            ByKeyPartition(key).to_string(),
            ReconciliationPartition(run).to_string(),
            status(shard).to_string(),
            AccountsPartition.to_string(),
        ] {
            let kinds = kinds!(
                text, MerchantPartition, AccountPartition, InboxPartition, SettlementPartition, UserPartition,
                TransactionPartition, ByKeyPartition, ReconciliationPartition, StatusPartition, AccountsPartition
            );
            prop_assert_eq!(kinds, 1, "{}", text);
        }
    }

    #[test]
    fn sort_keys_parse_as_exactly_one_type(time in milli(), leg in id::<LegId>(), leg_time in leg_time(), subject in subject()) {
        let (metadata, reversal) = (Metadata.to_string(), ReversalSort::FIRST.to_string());
        let posting = PostingSort(leg.clone()).to_string();
        for text in [metadata, reversal, posting, LegSort(leg).to_string(), FindingSort(subject).to_string()] {
            prop_assert_eq!(kinds!(text, Metadata, ReversalSort, LegSort, PostingSort, FindingSort), 1, "{}", text);
            let of_transaction = !text.starts_with("FINDING#");
            prop_assert_eq!(TransactionPartition::collection().contains(&text), of_transaction, "{}", text);
            prop_assert_eq!(FindingSort::all().contains(&text), !of_transaction, "{}", text);
        }
        let inbox = InboxSort { created: time, leg: leg_time.leg.clone() }.to_string();
        prop_assert!(InboxSort::all().contains(&inbox));
        for text in [CreatedSort(time).to_string(), inbox, leg_time.to_string(), ByKeySort.to_string()] {
            prop_assert_eq!(kinds!(text, CreatedSort, InboxSort, LegTimeSort, ByKeySort), 1, "{}", text);
        }
    }

    #[test]
    fn keys_sort_like_their_values(a in milli(), b in milli(), one in leg_time(), mut other in leg_time(), same: bool) {
        orders(&CreatedSort(a), &CreatedSort(b))?;
        if same {
            other.created = one.created;
        }
        orders(&one, &other)?;
        prop_assert_eq!(CreatedSort(a).to_string().len(), "CREATED#".len() + 24);
    }

    #[test]
    fn leg_ids_sort_by_number(transaction in id::<TransactionId>(), one in 1_usize..=99, other in 1_usize..=99) {
        let (a, b) = (LegId::new(&transaction, one), LegId::new(&transaction, other));
        prop_assert_eq!(a.cmp(&b), one.cmp(&other));
        orders(&LegSort(a.clone()), &LegSort(b))?;
        prop_assert_eq!(a.to_string(), format!("{transaction}-{one:02}"));
    }

    #[test]
    fn time_ranges_include_both_ends(
        since in milli(), until in milli(), mut place in place(), beside in -1_i64..=1, at: u8, open: bool
    ) {
        // Also test times within a millisecond of either end.
        let near = |time: TimestampMillis| time.instant().as_millisecond() + beside;
        let limits = -62_167_219_200_000_i64..=253_402_207_200_000;
        match at % 3 {
            0 if limits.contains(&near(since)) => place.created = milli_of(near(since)),
            1 if limits.contains(&near(until)) => place.created = milli_of(near(until)),
            _ => {}
        }
        let range = CreatedSort::between(since, Some(until).filter(|_| !open));
        let inside = since <= place.created && (open || place.created <= until);
        prop_assert_eq!(range.contains(&CreatedSort(place.created).to_string()), inside, "{:?}", range);
        prop_assert_eq!(range.contains(&place.to_string()), inside, "{:?}", range);
        prop_assert!(range.from() <= range.to(), "DynamoDB rejects a range that ends before it starts");
        prop_assert!(!CreatedSort::nothing().contains(&CreatedSort(place.created).to_string()));
    }

    #[test]
    fn positions_sort_between_their_time_and_the_next(place in place(), other in milli()) {
        let (text, own) = (place.to_string(), CreatedSort(place.created).to_string());
        prop_assert!(own < text);
        prop_assert_eq!(CreatedSort(other).to_string() > text, other > place.created);
        prop_assert!(text.parse::<CreatedSort>().is_err(), "a position must not be the key of an item");
    }

    #[test]
    fn leg_ranges_include_both_ends(mut leg in leg_time(), since in milli(), until in milli(), same: bool) {
        if same {
            leg.created = until;
        }
        let text = leg.to_string();
        prop_assert!(LegTimeSort::all().contains(&text));
        let is_between = since <= leg.created && leg.created <= until;
        prop_assert_eq!(LegTimeSort::between(since, until).contains(&text), is_between);
        prop_assert_eq!(LegTimeSort::before(until).contains(&text), leg.created < until);
        prop_assert!(!AccountPartition::all().contains(&text));
        let backward = LegTimeSort::all().newest_first();
        prop_assert!(!backward.after(&text).contains(&text));
    }

    #[test]
    fn list_ranges_exclude_keys_of_other_types(account in id(), transaction in id(), user in id()) {
        let account = AccountPartition(account).to_string();
        let transaction = TransactionPartition(transaction).to_string();
        let user = UserPartition(user).to_string();
        let holds = |range: KeyRange| [&account, &transaction, &user].map(|text| range.contains(text));
        prop_assert_eq!(holds(AccountPartition::all()), [true, false, false]);
        prop_assert_eq!(holds(ByKeySort::all()), [false, true, false], "the range must contain the positions of cursors");
        prop_assert!(ByKeySort::all().contains(&ByKeySort.to_string()));
    }

    #[test]
    fn changed_keys_are_rejected_or_round_trip(
        texts in (leg_time(), place(), subject(), shard(), milli(), id()), at in 0_usize..60, with in any::<char>()
    ) {
        let (leg, place, subject, shard, time, account): (_, _, _, _, _, AccountId) = texts;
        let changed = |text: String| {
            let mut characters: Vec<char> = text.chars().collect();
            let at = at % characters.len();
            characters[at] = with;
            characters.into_iter().collect::<String>()
        };
        must_be_canonical::<LegTimeSort>(&changed(leg.to_string()))?;
        must_be_canonical::<CreatedPlace>(&changed(place.to_string()))?;
        must_be_canonical::<FindingSort>(&changed(FindingSort(subject).to_string()))?;
        must_be_canonical::<StatusPartition>(&changed(status(shard).to_string()))?;
        must_be_canonical::<CreatedSort>(&changed(CreatedSort(time).to_string()))?;
        must_be_canonical::<AccountPartition>(&changed(AccountPartition(account).to_string()))?;
    }

    #[test]
    fn any_accepted_text_round_trips(text in any::<String>()) {
        must_be_canonical::<LegTimeSort>(&text)?;
        must_be_canonical::<CreatedPlace>(&text)?;
        must_be_canonical::<StatusPartition>(&text)?;
        must_be_canonical::<Subject>(&text)?;
    }

    #[test]
    fn derived_ids_depend_on_caller_key_and_type(
        one in (id::<UserId>(), id::<IdempotencyKey>()), other in (id::<UserId>(), id::<IdempotencyKey>())
    ) {
        let now = Timestamp::UNIX_EPOCH;
        let ids = |(caller, key): &(UserId, IdempotencyKey)| {
            [
                MerchantId::of_request(caller, Some(key), now, &Random::seeded(1)).to_string(),
                AccountId::of_request(caller, Some(key), now, &Random::seeded(1)).to_string(),
                ReconciliationId::of_request(caller, Some(key), now, &Random::seeded(1)).to_string(),
                TransactionId::of_request(caller, Some(key), now, &Random::seeded(1)).to_string(),
                TransactionId::of_service(caller, key).to_string(),
            ]
        };
        let (first, second) = (ids(&one), ids(&other));
        prop_assert_eq!(&ids(&one), &first, "the same request must get the same ids");
        let all: BTreeSet<_> = first.iter().chain(&second).collect();
        prop_assert_eq!(all.len(), if one == other { 5 } else { 10 });
        let swapped = (one.1.to_string(), one.0.to_string());
        if swapped.0 != swapped.1 {
            let swapped = (swapped.0.parse().expect("a caller"), swapped.1.parse().expect("a key"));
            prop_assert!(ids(&swapped).iter().all(|id| !first.contains(id)), "caller and key must not be interchangeable");
        }
    }
}

#[test]
fn requests_without_a_key_get_distinct_ids() {
    let (caller, now) = ("user-1".parse().expect("a caller"), Timestamp::UNIX_EPOCH);
    let random = Random::seeded(1);
    let made = (0..100).map(|_| TransactionId::of_request(&caller, None, now, &random).to_string());
    let made: BTreeSet<_> = made.collect();
    assert_eq!(made.len(), 100);
}

/// These ids must never change: a retry after an upgrade must find the item that an earlier version
/// created.
#[test]
fn derived_ids_match_earlier_versions() {
    let (caller, known_key) = ("770g0622".parse().expect("a caller"), "abc123def456".parse().expect("a key"));
    let (key, now) = (Some(&known_key), Timestamp::UNIX_EPOCH);
    let transaction = TransactionId::of_request(&caller, key, now, &Random::seeded(1));
    for (made, known) in [
        (
            MerchantId::of_request(&caller, key, now, &Random::seeded(1)).to_string(),
            "fe9104c5-2c04-8902-b222-c24535953db0",
        ),
        (
            AccountId::of_request(&caller, key, now, &Random::seeded(1)).to_string(),
            "01f9259a-d562-8aab-9375-26a74e3e1f9c",
        ),
        (transaction.to_string(), "e0684ad2-9fe6-8257-bdf2-e25c715d0f3c"),
        (
            ReconciliationId::of_request(&caller, key, now, &Random::seeded(1)).to_string(),
            "6dd476f1-f011-8b9f-9a4c-e9624e2d2eb4",
        ),
        (TransactionId::of_service(&caller, &known_key).to_string(), "8c6c4301-2e00-897b-a237-4a8566484b35"),
        (LegId::new(&transaction, 7).to_string(), "e0684ad2-9fe6-8257-bdf2-e25c715d0f3c-07"),
        (ReconciliationId::of_day("2026-01-02".parse::<Day>().expect("a day")).to_string(), "daily-2026-01-02"),
    ] {
        assert_eq!(made, known);
    }
}

#[test]
fn keys_match_the_requirement() {
    let time: TimestampMillis = "2026-01-02T10:30:00.123Z".parse().expect("a time");
    let (account, transaction): (AccountId, TransactionId) =
        ("660f9511".parse().expect("an id"), "880h1733".parse().expect("an id"));
    let leg: LegId = "990i2844".parse().expect("an id");
    let shard = |number: &str| status(number.parse().expect("a shard")).to_string();
    let range = |range: &KeyRange| format!("{} {}", range.from(), range.to());
    let day = CreatedSort::between("2026-01-01T10:30:00.000Z".parse().expect("a time"), Some(time));
    for (written, required) in [
        (MerchantPartition("550e8400".parse().expect("an id")).to_string(), "MERCHANT#550e8400"),
        (Metadata.to_string(), "METADATA"),
        (AccountPartition(account).to_string(), "ACCOUNT#660f9511"),
        (UserPartition("770g0622".parse().expect("an id")).to_string(), "USER#770g0622"),
        (TransactionPartition(transaction).to_string(), "TXN#880h1733"),
        (ByKeyPartition("abc123def456".parse().expect("a key")).to_string(), "IDEMPOTENCY#abc123def456"),
        (ByKeySort.to_string(), "TXN"),
        (CreatedSort(time).to_string(), "CREATED#2026-01-02T10:30:00.123Z"),
        (LegSort(leg.clone()).to_string(), "LEG#990i2844"),
        (LegTimeSort { created: time, leg }.to_string(), "LEG#2026-01-02T10:30:00.123Z#990i2844"),
        (shard("0"), "STATUS#completed"),
        (shard("3"), "STATUS#completed#3"),
        (range(&day), "CREATED#2026-01-01T10:30:00.000Z CREATED#2026-01-02T10:30:00.123Z$"),
        (range(&LegTimeSort::all()), "LEG# LEG$"),
        (AccountsPartition.to_string(), "ACCOUNTS"),
        (MerchantsPartition.to_string(), "MERCHANTS"),
    ] {
        assert_eq!(written, required);
    }
    for bad in ["STATUS#completed#0", "STATUS#completed#03", "STATUS#completed#100", "STATUS#pending", "STATUS#", ""] {
        assert!(bad.parse::<StatusPartition>().is_err(), "{bad:?}");
    }
}

#[test]
fn leg_types_have_opposites_and_account_statuses_have_names() {
    assert_eq!(LegType::ALL.map(LegType::reversed), [LegType::Debit, LegType::Credit]);
    assert_eq!(AccountStatus::ALL.map(AccountStatus::as_str), ["active", "closed", "closing", "frozen"]);
}

#[test]
fn reversals_are_numbered_from_1_to_99() {
    let all: Vec<String> =
        std::iter::successors(Some(ReversalSort::FIRST), |sort| sort.next()).map(|sort| sort.to_string()).collect();
    assert_eq!((all.len(), all[0].as_str(), all[98].as_str()), (99, "REVERSAL#01", "REVERSAL#99"));
    assert!(
        all.is_sorted()
            && all.iter().all(|sort| sort.parse::<ReversalSort>().is_ok_and(|key| key.to_string() == *sort))
    );
    let within = |range: KeyRange| all.iter().all(|sort| range.contains(sort));
    assert!(within(ReversalSort::all()) && within(TransactionPartition::collection()));
    for bad in ["REVERSAL", "REVERSAL#", "REVERSAL#0", "REVERSAL#00", "REVERSAL#1", "REVERSAL#100", "REVERSAL#+1"] {
        assert!(bad.parse::<ReversalSort>().is_err(), "{bad}");
    }
}
