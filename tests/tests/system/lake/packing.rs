use lake::pack::{
    BILLED_STEP, MAX_CALL_BYTES, MAX_CALL_RECORDS, MAX_RECORD_BYTES, RECORD_BYTES, Record, Row, calls, halves, records,
};
use proptest::prelude::*;

fn row(place: usize, bytes: usize) -> Row {
    Row { place, json: "x".repeat(bytes.saturating_sub(1)) + "\n" }
}

fn rows(sizes: impl IntoIterator<Item = usize>) -> Vec<Row> {
    sizes.into_iter().enumerate().map(|(place, bytes)| row(place, bytes)).collect()
}

fn billed(records: &[Record]) -> usize {
    records.iter().map(Record::billed).sum()
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

    #[test]
    fn repeated_halving_returns_every_row_once(sizes in prop::collection::vec(1_usize..30_000, 1..200)) {
        let rows = rows(sizes);
        let (mut left, mut single, mut steps) = (vec![records(rows.clone()).0], Vec::new(), 0);
        while let Some(call) = left.pop() {
            steps += 1;
            match halves(call) {
                Ok([first, second]) => left.extend([second, first]),
                Err(row) => single.extend(row),
            }
        }
        prop_assert_eq!(steps, 2 * rows.len() - 1);
        prop_assert_eq!(single, rows);
    }
}

#[test]
fn packs_a_thousand_small_rows_into_at_most_two_calls() {
    let (packed, _) = records(rows(std::iter::repeat_n(300, 1_000)));
    let (billed, records) = (billed(&packed), packed.len());
    println!("{records} records, {billed} bytes billed, {} unpacked", 1_000 * BILLED_STEP);
    assert!(calls(packed).len() <= 2);
    assert!(billed * 10 <= 300 * 1_000 * 11, "{billed}");
}

/// Compares the billed bytes for several sizes of records (docs/decisions/export-delivery.md).
#[test]
fn billed_bytes_exceed_data_by_at_most_2_5_percent() {
    let fill = |size: usize, row: usize| {
        let (full, count) = ((size / row).max(1), 20_000);
        let (records, rest) = (count / full, count % full);
        let billed = records * (full * row).next_multiple_of(BILLED_STEP) + (rest * row).next_multiple_of(BILLED_STEP);
        1_000 * billed / (count * row)
    };
    for row in [300, 450, 700, 1_100] {
        let sizes = [1, 2, 5, 10, 20, 200].map(|steps| fill(steps * BILLED_STEP, row));
        println!("rows of {row}: {sizes:?} thousandths");
        assert!(fill(RECORD_BYTES, row) <= 1_025, "{row}");
    }
}
