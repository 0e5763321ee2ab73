//! A list of transactions whose page ends at an item with an invalid sort key.

use aws_sdk_dynamodb::types::AttributeValue;
use system_tests::ledger::{Books, Item, TRANSACTIONS, status_shards};

fn text(item: &Item, name: &str) -> String {
    item[name].as_s().expect("a text").clone()
}

/// Sort keys between the valid ones, which no type can parse. DynamoDB allows 1,024 bytes.
fn invalid_sorts(prefix: &str) -> Vec<String> {
    let longest = |rest: &str| format!("{prefix}{}", rest.repeat((1024 - prefix.len()) / rest.len()));
    let texts = ["", "#", "\u{7f}\u{10ffff}"];
    texts.iter().map(|text| format!("{prefix}{text}")).chain([longest("x"), longest("\u{1f4b6}")]).collect()
}

/// Items with invalid sort keys, or with the primary key of another type, before, between and after
/// the valid items of each list. At every page size, each valid item is listed once, and the list
/// ends.
#[tokio::test]
async fn an_invalid_sort_key_at_the_end_of_a_page_does_not_stop_the_list() {
    for shards in [1, 3] {
        let books = Books::of(status_shards(shards, shards).start().await.expect("a stack")).await;
        let account = books.funded("ann", "9.00").await;
        let other = books.account("ann").await;
        for number in 0..4 {
            assert_eq!(books.pay(&format!("P-{number}"), &account, &other, "1.00").await.status, 201);
        }
        let client = books.stack.client().expect("a client");
        let stored = books.stored().await;
        let of = |kind: &str, name: &str| {
            let is_meant =
                |item: &&Item| text(item, "Type") == kind && (name.is_empty() || text(item, name) == account);
            stored.iter().find(is_meant).expect(kind)
        };
        let (header, leg, owned) = (of("Transaction", ""), of("TransactionLeg", "AccountID"), of("Account", "ID"));
        let lists = [
            format!("{TRANSACTIONS}?since=2020-01-01T00:00:00Z"),
            format!("{TRANSACTIONS}?idempotencyKey=P-1"),
            format!("/ledger/accounts/{account}/statement?"),
            "/ledger/users/ann/accounts?".to_owned(),
        ];
        let mut healthy = Vec::new();
        for list in &lists {
            healthy.push(books.operator.all(list.trim_end_matches('?')).await.0);
        }
        let counts: Vec<usize> = healthy.iter().map(Vec::len).collect();
        assert_eq!(counts, [5, 1, 5, 2]);
        // An item of another type, and an item whose own keys are invalid.
        let owns = |number: usize| {
            let keys = [("TXN#880h", "METADATA"), ("TXN#880h", "LEG#"), ("nonsense", "#"), ("TXN#\u{1}", "REVERSAL")];
            let (partition, sort) = keys[number % keys.len()];
            [("PK", format!("{partition}{number}")), ("SK", sort.to_owned())]
        };
        let mut broken = Vec::new();
        for (item, partition, key, prefixes) in [
            (header, "GSI1PK", "GSI1SK", vec!["CREATED#2020-01-01T00:00:00.000Z", "CREATED#2026", "CREATED#9"]),
            (leg, "GSI1PK", "GSI1SK", vec!["LEG#1", "LEG#2026", "LEG#9"]),
            (owned, "GSI1PK", "GSI1SK", vec!["ACCOUNT#", "ACCOUNT#8", "ACCOUNT#z"]),
            (header, "GSI2PK", "GSI2SK", vec!["TXN"]),
        ] {
            let sorts = prefixes
                .into_iter()
                .flat_map(|prefix| if key == "GSI2SK" { vec!["TXN".to_owned(); 5] } else { invalid_sorts(prefix) });
            for sort in sorts {
                let mut item = item.clone();
                item.retain(|name, _| !name.starts_with("GSI") || name == partition);
                let index = match text(&item, "Type").as_str() {
                    "Transaction" if key == "GSI2SK" => "IDEMPOTENCY#P-1".to_owned(),
                    "Transaction" if shards == 3 => format!("STATUS#completed#{}", 1 + broken.len() % 2),
                    "Transaction" => "STATUS#completed".to_owned(),
                    _ => text(&item, partition),
                };
                let invalid = ("CreatedAt", "nonsense".to_owned());
                let keys = [(partition, index), (key, sort), invalid].into_iter().chain(owns(broken.len()));
                item.extend(keys.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))));
                broken.push(item);
            }
        }
        for item in &broken {
            client.put_item().table_name(books.table()).set_item(Some(item.clone())).send().await.expect("put");
        }
        for limit in [1, 2, 7] {
            for (list, healthy) in lists.iter().zip(&healthy) {
                let path = format!("{list}&limit={limit}").replace("?&", "?");
                let (items, pages) = books.operator.all(&path).await;
                assert_eq!(&items, healthy, "{path}, {pages} pages, {shards} shards");
            }
        }
        books.stack.stop().await;
    }
}
