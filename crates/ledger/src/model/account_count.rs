use keys::ledger::{AccountCountSort, UserId, UserPartition};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Change, Condition, Item, Key, Table};

/// The number of accounts that a user has opened, including closed accounts
/// ([decision](../../../../docs/decisions/ledger-accounts.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AccountCount {
    #[serde(rename = "PK")]
    partition: UserPartition,
    #[serde(rename = "SK")]
    sort: AccountCountSort,
    opened: i64,
}

impl Item for AccountCount {
    const TYPE: &'static str = "AccountCount";
}

impl AccountCount {
    /// Counts another account of the user. DynamoDB refuses the change if the user has already
    /// opened `limit` accounts.
    pub(crate) fn another(table: &Table, user: &UserId, limit: i64) -> Change {
        let count = table.upsert(Key::new(&UserPartition(user.clone()), &AccountCountSort));
        let count = count.set(Attribute::TYPE, &Self::TYPE).add(Self::OPENED, 1);
        count.only_if(Condition::missing_or_under(Self::OPENED, limit))
    }
}
