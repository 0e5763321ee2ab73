use crate::model::{
    change::Exported,
    schema::{Read, TableOf, always, state, version},
};
use ledger::Transaction;

/// The header of a transaction never changes, so its version is always 1. Other items of the table
/// also have the sort key `METADATA`, so only the attribute `Type` identifies a header.
impl Exported for Transaction {
    const TABLE: TableOf<Self> = TableOf {
        changes: "transaction_changes",
        items: "ledger_transactions",
        source: "FinancialTransactions",
        about: "ledger transactions",
        key: &["transaction_id"],
        ended: None,
        columns: &[
            always("transaction_id", Read::Text(|header| Some(header.id.to_string())), "the transaction"),
            version(),
            state(
                "transaction_type",
                Read::Text(|header| Some(header.transaction_type.to_string())),
                "type, such as `payment` or `reversal`",
            ),
            state("status", Read::Text(|header| Some(header.status.to_string())), "status"),
            state(
                "merchant_id",
                Read::Text(|header| header.merchant.as_ref().map(ToString::to_string)),
                "merchant that the transaction pays",
            ),
            state(
                "reference",
                Read::Text(|header| header.reference.as_ref().map(ToString::to_string)),
                "reference of the caller, which is unique for each caller and type",
            ),
            state(
                "metadata",
                Read::Text(|header| header.metadata.as_ref().map(ToString::to_string)),
                "texts of the caller by name, as a JSON object",
            ),
            state("amount", Read::Amount(|header| header.amount), "sum of the debits; omitted with several currencies"),
            state(
                "currency",
                Read::Text(|header| header.currency.map(|currency| currency.code().to_owned())),
                "ISO 4217",
            ),
            state("legs", Read::Int(|header| i32::try_from(header.postings.len()).ok()), "number of legs"),
            state(
                "reverses_id",
                Read::Text(|header| header.reverses.as_ref().map(ToString::to_string)),
                "original transaction of a reversal",
            ),
            state("created_at", Read::Time(|header| Some(header.created_at.into())), "time of the transaction"),
            state("created_by", Read::Person(|header| Some(header.created_by.to_string())), "caller that posted it"),
        ],
    };

    fn is_key(_: &str) -> bool {
        false
    }
}
