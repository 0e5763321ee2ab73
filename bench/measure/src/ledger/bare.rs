//! Makes the DynamoDB calls of a transfer with the SDK alone. The items are copies of a real
//! transfer.

use aws_sdk_dynamodb::{
    Client,
    types::{
        AttributeValue, KeysAndAttributes, Put, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure,
        TransactWriteItem, Update,
    },
};
use std::collections::HashMap;
use system_tests::ledger::{Books, Item};
use uuid::Uuid;

/// Two accounts, and the items of their last transaction.
pub(crate) struct Bare {
    client: Client,
    table: String,
    /// The header and the legs.
    parts: Vec<Item>,
    accounts: Vec<Item>,
    version: i64,
}

impl Bare {
    /// Reads the last transaction between two accounts.
    pub(crate) async fn of(books: &Books, dynamo: &str, accounts: &[String; 2]) -> Self {
        let client = books.stack.client().expect("a client");
        let client = Client::from_conf(client.config().to_builder().endpoint_url(dynamo).build());
        let mut own = Vec::new();
        for account in accounts {
            own.extend(books.partition(None, &format!("ACCOUNT#{account}")).await);
        }
        let transaction = own[0]["LastTransactionID"].as_s().expect("a transaction");
        let parts = books.partition(None, &format!("TXN#{transaction}")).await;
        assert_eq!((own.len(), parts.len()), (2, 3));
        Self { client, table: books.table().to_owned(), parts, accounts: own, version: 1_000 }
    }

    /// Runs a number of transactions in sequence. Reads the balances before each transaction.
    pub(crate) async fn read_and_transact(&mut self, count: usize) {
        for _ in 0..count {
            self.read().await;
            self.write().await;
        }
    }

    async fn read(&self) {
        let keys = self.accounts.iter().map(key).collect();
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build().expect("keys");
        let accounts = self.client.batch_get_item().request_items(&self.table, keys);
        let accounts = accounts.return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let accounts = accounts.send().await;
        assert_eq!(accounts.expect("accounts").responses.expect("accounts")[&self.table].len(), 2);
    }

    async fn write(&mut self) {
        let partition = AttributeValue::S(format!("TXN#{}", Uuid::now_v7()));
        let puts = self.parts.iter().map(|part| {
            let mut part = part.clone();
            part.insert("PK".to_owned(), partition.clone());
            let put = Put::builder().table_name(&self.table).set_item(Some(part));
            let put = put
                .condition_expression("attribute_not_exists(PK)")
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            TransactWriteItem::builder().put(put.build().expect("a put")).build()
        });
        let updates = self.accounts.iter().map(|account| {
            let update = Update::builder().table_name(&self.table).set_key(Some(key(account)));
            let update = update.update_expression(
                "SET Version = :n, Balance = :b, LastTransactionID = :t, LastLegID = :l, LastLegAt = :a, LastLegHash = :h",
            );
            let update = update
                .condition_expression("attribute_exists(PK)")
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
            let version = AttributeValue::N(self.version.to_string());
            let names = ["Balance", "LastTransactionID", "LastLegID", "LastLegAt", "LastLegHash"];
            let values = [":b", ":t", ":l", ":a", ":h"].into_iter().zip(names);
            let values = values.map(|(place, name)| (place.to_owned(), account[name].clone()));
            let update =
                update.set_expression_attribute_values(Some(values.chain([(":n".to_owned(), version)]).collect()));
            TransactWriteItem::builder().update(update.build().expect("an update")).build()
        });
        let items = puts.chain(updates).collect();
        let request = self.client.transact_write_items().set_transact_items(Some(items));
        let request =
            request.client_request_token(Uuid::now_v7()).return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        request.send().await.expect("a transaction");
        self.version += 1;
    }
}

fn key(item: &Item) -> HashMap<String, AttributeValue> {
    ["PK", "SK"].map(|name| (name.to_owned(), item[name].clone())).into()
}
