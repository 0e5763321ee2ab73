use crate::model::{
    change::Exported,
    schema::{Read, TableOf, always, state, version},
};
use keys::ledger::EntrySort;
use ledger::{Leg, SettledLeg};
use table::Item;

/// A leg never changes, so its version is always 1. The posting of a grouped credit is a separate
/// item (docs/decisions/ledger-throughput.md), and therefore a separate row.
impl Exported for Leg {
    const TABLE: TableOf<Self> = TableOf {
        changes: "leg_changes",
        items: "ledger_legs",
        source: "FinancialTransactions",
        about: "legs of ledger transactions",
        key: &["leg_id", "entry"],
        ended: None,
        columns: &[
            always(
                "leg_id",
                Read::Text(|leg| Some(leg.id.to_string())),
                "the transaction id and the number of the leg",
            ),
            always(
                "entry",
                Read::Text(|leg| Some(if leg.is_settled() { "posting" } else { "leg" }.to_owned())),
                "`leg`; `posting` for the later posting of a grouped credit",
            ),
            version(),
            always("transaction_id", Read::Text(|leg| Some(leg.transaction().to_string())), "the transaction"),
            always("account_id", Read::Account(|leg| Some(leg.account.clone())), "account of the leg"),
            always("user_id", Read::Person(|leg| Some(leg.user.to_string())), "owner of the account"),
            state("leg_type", Read::Text(|leg| Some(leg.leg_type.to_string())), "`debit` or `credit`"),
            state("amount", Read::Amount(|leg| Some(leg.amount)), "positive amount"),
            state("currency", Read::Text(|leg| Some(leg.currency.code().to_owned())), "ISO 4217"),
            state("created_at", Read::Time(|leg| Some(leg.created_at.into())), "time of the transaction"),
            state(
                "balance_after",
                Read::Amount(|leg| leg.entry().map(|entry| entry.balance_after)),
                "balance of the account after the leg; omitted for a grouped credit, whose posting has it",
            ),
            state(
                "posted_at",
                Read::Time(|leg| leg.entry()?.posted_at.map(Into::into)),
                "time at which a grouped credit was posted",
            ),
        ],
    };

    const TYPES: &'static [&'static str] = &[Self::TYPE, SettledLeg::TYPE];

    fn is_key(sort: &str) -> bool {
        sort.parse::<EntrySort>().is_ok()
    }
}
