//! Tests that cursors round-trip, and that a list rejects the cursors of other lists.

use super::{BadCursor, Binding, Cursor};
use keys::{
    Random, TimestampSeconds,
    bank::{DueSort, PaymentId, Status},
};
use proptest::prelude::*;

fn payment(seconds: i64) -> PaymentId {
    let time = jiff::Timestamp::from_second(seconds).expect("a time");
    PaymentId::new(TimestampSeconds::containing(time).expect("a second"), time, &Random::seeded(1))
}

proptest! {
    #[test]
    fn opening_a_cursor_returns_the_range_after_its_position(seconds in 1_700_000_000_i64..4_000_000_000, started in 0_i64..4_000_000_000) {
        let due = DueSort { status: Status::Pending, payment: payment(seconds) };
        let range = DueSort::due_on(due.payment.time().day(), due.status);
        let cursor = Cursor::new(Binding::new("a").with("b"), started, &range, &due.to_string());
        let parsed: Cursor = cursor.to_string().parse().expect("a cursor");
        prop_assert_eq!(parsed.started(), started);
        prop_assert_eq!(parsed.open(Binding::new("a").with("b"), &range), Ok(range.after(&due.to_string())));
        prop_assert!(cursor.to_string().len() <= 110);
        prop_assert!(cursor.to_string().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
    }

    #[test]
    fn rejects_a_cursor_of_another_list(seconds in 1_700_000_000_i64..4_000_000_000) {
        let day = payment(seconds).time().day();
        let range = DueSort::due_on(day, Status::Pending);
        let position = DueSort { status: Status::Pending, payment: payment(seconds) }.to_string();
        let cursor = Cursor::new(Binding::new("a").with("b"), 1, &range, &position);
        for (binding, range) in [
            (Binding::new("ab"), range.clone()),
            (Binding::new("a").with("c"), range.clone()),
            (Binding::new("").with("ab"), range.clone()),
            (Binding::new("a").with("b"), DueSort::due_on(day, Status::Failed)),
            (Binding::new("a").with("b"), DueSort::due_on(day.before(), Status::Pending)),
        ] {
            prop_assert_eq!(cursor.open(binding, &range), Err(BadCursor));
        }
    }

    #[test]
    fn rejects_an_edited_cursor(at in 0_usize..80, with in "[A-Za-z0-9_=+/ -]") {
        let range = DueSort::with_status(Status::Pending);
        let position = DueSort { status: Status::Pending, payment: payment(1_800_000_000) }.to_string();
        let text = Cursor::new(Binding::new("a"), 1, &range, &position).to_string();
        prop_assume!(text[at..=at] != with);
        let changed = format!("{}{with}{}", &text[..at], &text[at + 1..]);
        let opened = changed.parse().and_then(|cursor: Cursor| cursor.open(Binding::new("a"), &range));
        prop_assert_eq!(opened, Err(BadCursor));
    }
}
