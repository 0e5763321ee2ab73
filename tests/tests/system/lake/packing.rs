use lake::pack::{BILLED_STEP, MAX_CALL_BYTES, MAX_CALL_RECORDS, MAX_RECORD_BYTES, RECORD_BYTES, Row, calls, records};
use proptest::prelude::*;

fn rows(sizes: impl IntoIterator<Item = usize>) -> Vec<Row> {
    let row = |(place, bytes): (usize, usize)| Row { place, json: "x".repeat(bytes.saturating_sub(1)) + "\n" };
    sizes.into_iter().enumerate().map(row).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packs_every_row_once_within_the_limits(
        sizes in prop::collection::vec(prop_oneof![20 => 1_usize..3_000, 2 => 1_usize..60_000, 1 => 900_000_usize..1_100_000], 0..400),
    ) {
        let rows = rows(sizes);
        let (packed, too_large) = records(rows.clone());
        let (fit, misfit): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.json.len() <= MAX_RECORD_BYTES);
        prop_assert_eq!(too_large, misfit);
        for record in &packed {
            let data = record.data();
            prop_assert_eq!(record.bytes(), data.len());
            prop_assert!(data.len() <= RECORD_BYTES || record.rows().len() == 1);
            prop_assert!(record.billed() >= data.len() && record.billed() < data.len() + BILLED_STEP);
        }
        let calls = calls(packed);
        for call in &calls {
            let body: usize = call.iter().map(|record| record.bytes().div_ceil(3) * 4 + 12).sum();
            prop_assert!(!call.is_empty() && call.len() <= MAX_CALL_RECORDS && body + 100 <= MAX_CALL_BYTES);
        }
        let sent: Vec<Row> = calls.into_iter().flatten().flat_map(|record| record.rows().to_vec()).collect();
        prop_assert_eq!(sent, fit, "every row must be sent once, in order");
    }
}

/// Firehose bills at most a tenth more than the data (docs/decisions/export.md).
#[test]
fn packs_a_thousand_small_rows_into_at_most_two_calls() {
    let (packed, _) = records(rows(std::iter::repeat_n(300, 1_000)));
    let billed: usize = packed.iter().map(lake::pack::Record::billed).sum();
    assert!(calls(packed).len() <= 2 && billed * 10 <= 300 * 1_000 * 11, "{billed}");
}
