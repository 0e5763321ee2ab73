use bank::{
    Case,
    patterns::{
        archive_settled_payments, dispatch_due_payments, execute_payment, list_transactions_by_date, schedule_payment,
    },
};
use table::{Projection, Units, cost::Cost};

use super::{
    day::{Day, Kind, compared, transferred},
    price::Dollars,
    rates::{Load, peak, shards, warm},
    *,
};

fn options(line: &str) -> PlanOptions {
    PlanOptions::try_parse_from(std::iter::once("plan").chain(line.split_whitespace())).expect("options")
}

/// Settings that a deployment needs at 70 % utilisation: shards, warm reads and warm writes.
fn settings(line: &str, projection: Projection) -> (u64, u64, u64) {
    let options = options(line);
    let day = Day::new(&options, projection);
    let (read, write) = day.parameters(70);
    (day.shards(70), read, write)
}

#[test]
fn one_option_of_a_single_rate_selects_its_table() {
    for line in ["--moves 1", "--payments 1000000", "--minutes 30"] {
        let text = text(&options(line));
        assert!(text.starts_with("1000000 payments of 8 KB in 30 minutes\n\nindex "), "{line}: {text}");
    }
    let moved = text(&options("--moves 1 --utilisation 70"));
    assert!(moved.contains("KEYS_ONLY      1          70 %         555           1667       3\n"), "{moved}");
    assert!(moved.contains("ALL            1          70 %         555          13334      20\n"), "{moved}");
    let largest = format!("--payments {0} --minutes {0} --moves {0} --kilobytes 400", u64::MAX);
    assert!(text(&options(&largest)).contains("ALL"));
    let largest = format!("--intake {MAX_PAYMENTS} --intake-minutes 1 --daytime {MAX_PAYMENTS} --archive-minutes 1");
    let largest = text(&options(&format!("{largest} --kilobytes 400 --utilisation 1")));
    assert!(largest.contains("dollars a month"), "no sum overflows");
    let none = "--intake 0 --daytime 0";
    assert_eq!(settings(none, Projection::KeysOnly), (1, 0, 0));
}

#[test]
fn the_day_of_the_requirement_needs_the_documented_capacity() {
    let text = text(&options(""));
    let rows = [
        "archive    00:15-01:00  TransactionHistory         741      11852       741        149             1             2",
        "intake     01:00-01:30  PaymentScheduler           556       5000       556        112             1             1",
        "dispatch   01:02-01:32  PaymentScheduler           556       4445      1112        223             2             2",
        "peak                    PaymentScheduler                    14445      2780        556             3             4",
        "peak                    PaymentScheduler                    14445     22223       4445            23            32",
    ];
    for row in rows {
        assert!(text.contains(row), "{row}\n{text}");
    }
    assert_eq!(settings("", Projection::KeysOnly), (4, 0, 21_000));
    assert_eq!(settings("", Projection::All), (32, 0, 32_000));
}

/// A payment each second of 20 minutes.
const FEW: &str = "--intake 1200 --intake-minutes 20 --daytime 0";

fn units(cost: &Cost, kind: Kind, is_place: impl Fn(&str) -> bool) -> Units {
    let units = cost.places().filter(|(place, ..)| is_place(place)).map(|(_, read, write)| match kind {
        Kind::Read => read,
        Kind::Write => write,
    });
    units.fold(Units::ZERO, |sum, units| sum + units)
}

/// Units of 1,200 payments, over all tables and indexes.
fn of_few(cost: &Cost, kind: Kind) -> u64 {
    units(cost, kind, |_| true).times(1_200).rounded_up()
}

fn written(cost: &Cost, place: &str) -> u64 {
    units(cost, Kind::Write, |name| name == place).rounded_up()
}

#[test]
fn execution_has_the_declared_cost_of_its_access_pattern() {
    for projection in [Projection::KeysOnly, Projection::All] {
        let case = Case { item: 8 * 1_024, entry: 300, projection, shards: 1, items: 1, keyed: true, run: 0 };
        let (execution, options) = (execute_payment::PATTERN.calls[0].cost_of(&case), options(FEW));
        let others = [
            &schedule_payment::PATTERN,
            &dispatch_due_payments::PATTERN,
            &archive_settled_payments::PATTERN,
            &list_transactions_by_date::PATTERN,
        ];
        for kind in [Kind::Read, Kind::Write] {
            let others: u64 = others.iter().map(|pattern| of_few(&pattern.calls[0].cost_of(&case), kind)).sum();
            assert_eq!(Day::new(&options, projection).units(kind), others + of_few(&execution, kind));
        }
        let [table, index] = ["PaymentScheduler", "PaymentScheduler/GSI1"].map(|place| written(&execution, place));
        let row = format!("execution  01:02-01:22  PaymentScheduler             1  {table:9}  {index:8}");
        assert!(text(&options).contains(&row), "{row}\n{}", text(&options));
    }
}

#[test]
fn the_ledger_has_the_declared_cost_of_a_transfer() {
    let few = options(FEW);
    for kind in [Kind::Read, Kind::Write] {
        let expected = of_few(&transferred(), kind) + of_few(&compared(), kind);
        assert_eq!(Day::new(&few, Projection::KeysOnly).ledger_units(kind), expected);
    }
    let [table, by_time, by_key] =
        ["", "/GSI1", "/GSI2"].map(|index| written(&transferred(), &format!("FinancialTransactions{index}")));
    let rates = format!("needs in addition {table} W/s, GSI1 {by_time} W/s and GSI2 {by_key} W/s");
    assert!(text(&few).contains(&rates), "{rates}\n{}", text(&few));
    let rate = (table * 1_000_000).div_ceil(1_800);
    let warm = Day::new(&options(""), Projection::KeysOnly).ledger_warm(70);
    assert!(warm * 70 >= rate * 100 && warm < rate * 100 / 70 + 1_001, "{warm} for {rate} W/s");
}

/// The price of units, rounded up to cents. A million units cost `cents`.
fn price_of(units: u64, cents: u64) -> String {
    let cents = (units * cents).div_ceil(1_000_000);
    format!("{}.{:02}", cents / 100, cents % 100)
}

#[test]
fn prices_are_exact_and_amounts_round_up_to_cents() {
    let amount = |text: &str| text.parse::<Dollars>();
    for (text, shown, cents) in
        [("0.625", "0.625", "0.63"), ("2", "2", "2.00"), ("0.000001", "0.000001", "0.01"), ("0.12", "0.12", "0.12")]
    {
        let dollars = amount(text).expect("an amount");
        assert_eq!((dollars.to_string().as_str(), dollars.cents().as_str()), (shown, cents));
    }
    for wrong in ["", ".5", "1.", "-1", "1e3", "0.0000001", "1.2.3", "NaN", "9999999999"] {
        assert!(amount(wrong).is_err(), "{wrong}");
    }
    let price = amount("0.625").expect("an amount");
    assert_eq!([1, 16_000, 16_001].map(|units| price.per_million(units).cents()), ["0.01", "0.01", "0.02"]);
    let dearer = options("--write-price 1.25 --read-price 0");
    let written = Day::new(&dearer, Projection::KeysOnly).units(Kind::Write);
    let costs = |days| price_of(written * days, 125);
    let line = format!("{written} W and");
    let line = text(&dearer).lines().find(|found| found.contains(&line)).map(str::to_owned).expect("the cost");
    let expected = format!("{} dollars a day, {} dollars a month", costs(1), costs(30));
    assert!(line.contains(&expected), "{expected}: {line}");
}

/// `make deploy` warns if the settings of the bank or the ledger are below these values.
#[test]
fn the_deployment_warns_below_the_planned_settings() {
    let script = include_str!("../../../stacks/deploy.py");
    for (name, projection) in [("KEYS_ONLY", Projection::KeysOnly), ("ALL", Projection::All)] {
        let (shards, _, write) = settings("", projection);
        let wanted = format!("\"{name}\": {{\"WriteShards\": {shards}, \"WarmWriteUnits\": {write}}},");
        assert!(script.contains(&wanted), "stacks/deploy.py lacks {wanted}");
    }
    let ledger = Day::new(&options(""), Projection::KeysOnly).ledger_warm(70);
    let wanted = format!("NEEDED_TO_PAY = {{\"WarmWriteUnits\": {ledger}}}");
    assert!(script.contains(&wanted), "stacks/deploy.py lacks {wanted}");
}

/// The table of docs/operations.md#monthly-cost has these units and prices, in whole dollars.
#[test]
fn the_operations_page_has_the_planned_months() {
    let page = include_str!("../../../docs/operations.md");
    let options = options("");
    let (plan, mut months) = (text(&options), 0);
    for line in plan.lines() {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (["cart:" | "wellness:" | "ledger:", ..], [written, read, cost]) =
            (columns.get(3..).unwrap_or_default(), columns.get(..3).unwrap_or_default())
        else {
            continue;
        };
        let (dollars, cents) = cost.split_once('.').expect("cents");
        let dollars = dollars.parse::<u64>().expect("dollars") + u64::from(cents != "00");
        let row = format!("| {written} M W and {read} M R: {dollars} |");
        assert!(page.contains(&row), "docs/operations.md lacks {row}");
        months += 1;
    }
    assert_eq!(months, 3, "{plan}");
    let day = Day::new(&options, Projection::KeysOnly);
    let [written, read] = [Kind::Write, Kind::Read].map(|kind| day.units(kind) * 30 / 1_000_000);
    let row = format!("| {},{:03} M W and {read} M R: ", written / 1_000, written % 1_000);
    assert!(page.contains(&row), "docs/operations.md lacks {row}");
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

#[test]
fn plans_of_any_size_do_not_overflow() {
    let loads = [Load { from: 0, until: u64::MAX, units: u64::MAX }; 2];
    let planned = plan(&[Writes { count: u64::MAX, units_each: u64::MAX }; 2], 0, 1);
    assert!(planned.shards > 0 && shards(u64::MAX, 1) > 0 && peak(&loads) > 0);
    assert!(warm(u64::MAX, 1, 4_000).is_some());
}
