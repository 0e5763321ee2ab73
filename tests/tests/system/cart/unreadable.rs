//! Items that cannot be read do not stop a checkout or the exporter
//! (docs/decisions/cart-unreadable-items.md).

use aws_sdk_dynamodb::types::AttributeValue;
use local::Stack;
use serde_json::{Value, json};
use std::fs;
use system_tests::{
    Answer, Asks, Client,
    cart::{stock, stocked},
    drained, stack, text,
    unreadable::{self, DAMAGES, Item, ItemType, Reading},
};

/// The account, cart items and order of the damaged items.
struct Names {
    owner: String,
    tea: String,
    saved: String,
    order: String,
}

impl Names {
    /// Whether the item belongs to the account and has a sort key with this start and end.
    fn has(&self, item: &Item, start: &str, end: &str) -> bool {
        let sort = unreadable::text(item, "SK");
        unreadable::text(item, "PK") == self.owner && sort.starts_with(start) && sort.ends_with(end)
    }
}

type Type = ItemType<Names>;

const CART_ITEM: Type = Type {
    name: "CartItem",
    table: "Cart",
    attribute: "AddedAt",
    is: |item, names| names.has(item, "ACTIVE#", &names.tea),
};
const POINTER: Type = Type {
    name: "Pointer",
    table: "Cart",
    attribute: "CartItem",
    is: |item, names| names.has(item, "ITEM#", &names.saved),
};
const CART: Type =
    Type { name: "Cart", table: "Cart", attribute: "Version", is: |item, names| names.has(item, "CART", "CART") };
const IDEMPOTENCY_RECORD: Type = Type {
    name: "IdempotencyRecord",
    table: "Cart",
    attribute: "ExpiresAt",
    is: |item, names| names.has(item, "IDEMPOTENCY#K-1", "K-1"),
};
const PRODUCT: Type = Type {
    name: "Product",
    table: "Products",
    attribute: "Active",
    is: |item, names| unreadable::text(item, "PK") == names.owner.replace("A-1", "tea"),
};
const ORDER: Type = Type {
    name: "Order",
    table: "Cart",
    attribute: "Total",
    is: |item, names| names.has(item, "ORDER#", &names.order),
};
const LINES: Type = Type {
    name: "OrderLines",
    table: "Cart",
    attribute: "Lines",
    is: |item, names| names.has(item, "LINES#", &names.order),
};
const TYPES: [Type; 7] = [CART_ITEM, POINTER, CART, IDEMPOTENCY_RECORD, PRODUCT, ORDER, LINES];

/// Two carts. A-1 has an order, tea and a cup in the cart, and a SAVED pot. A-2 has tea. The names
/// of accounts and products end with the number of the scene, so that many scenes can share a
/// stack.
struct Scene<'a> {
    stack: &'a Stack,
    number: usize,
    tea: String,
    cup: String,
    saved: String,
    others: String,
    order: String,
}

async fn shop() -> Stack {
    stocked(stack().parameter("ExportWindowSeconds", "0")).await
}

impl<'a> Scene<'a> {
    async fn start(stack: &'a Stack, number: usize) -> Self {
        let none = String::new();
        let mut scene = Self {
            stack,
            number,
            tea: none.clone(),
            cup: none.clone(),
            saved: none.clone(),
            others: none.clone(),
            order: none,
        };
        let operator = Client::operator(stack);
        stock(stack, ["tea", "cup", "pot", "jug"].map(|sku| scene.named(sku))).await;
        let path = |account: &str| format!("/cart/accounts/{}/items", scene.named(account));
        let (own, other) = (path("A-1"), path("A-2"));
        let id = |answer: &Answer| text(&answer.body, "itemId").to_owned();
        operator.post(&own, &scene.addition("jug")).await;
        let checkout = format!("/cart/accounts/{}/checkout", scene.named("A-1"));
        let order = text(&operator.post(&checkout, &json!({})).await.body, "orderId").to_owned();
        let tea = id(&operator.post_once(&own, "K-1", &scene.addition("tea")).await);
        let cup = id(&operator.post(&own, &scene.addition("cup")).await);
        let saved = id(&operator.post(&own, &scene.addition("pot")).await);
        let others = id(&operator.post(&other, &scene.addition("tea")).await);
        let kept = operator.patch(&format!("{own}/{saved}"), &json!({"status": "SAVED"})).await;
        assert_eq!(kept.status, 200);
        (scene.tea, scene.cup, scene.saved, scene.others, scene.order) = (tea, cup, saved, others, order);
        scene
    }

    fn named(&self, name: &str) -> String {
        format!("{name}-{}", self.number)
    }

    fn addition(&self, sku: &str) -> Value {
        json!({"sku": self.named(sku), "quantity": 1})
    }

    async fn read(&self, reader: Reader) -> Reading {
        match reader {
            Reader::List(account) => {
                let account = self.named(account);
                let path = format!("/cart/accounts/{account}/items");
                self.ask("GET /cart/accounts/{accountId}/items", path, json!({"accountId": account}), None, None).await
            }
            Reader::GetSaved => self.item("GET", "A-1", &self.saved, None).await,
            Reader::Change => self.item("PATCH", "A-1", &self.tea, Some(&json!({"quantity": 2}))).await,
            Reader::Activate => self.item("PATCH", "A-1", &self.saved, Some(&json!({"status": "ACTIVE"}))).await,
            Reader::Remove => self.item("DELETE", "A-1", &self.tea, None).await,
            Reader::Add(account, sku, key) => {
                let (account, body) = (self.named(account), self.addition(sku));
                let path = format!("/cart/accounts/{account}/items");
                let parameters = json!({"accountId": account});
                self.ask("POST /cart/accounts/{accountId}/items", path, parameters, key, Some(&body)).await
            }
            Reader::Buy(account) => {
                let account = self.named(account);
                let path = format!("/cart/accounts/{account}/checkout");
                let route = "POST /cart/accounts/{accountId}/checkout";
                self.ask(route, path, json!({"accountId": account}), None, None).await
            }
            Reader::ChangeOthers => self.item("PATCH", "A-2", &self.others, Some(&json!({"quantity": 2}))).await,
        }
    }

    async fn item(&self, method: &str, account: &str, id: &str, body: Option<&Value>) -> Reading {
        let account = self.named(account);
        let route = format!("{method} /cart/accounts/{{accountId}}/items/{{itemId}}");
        let path = format!("/cart/accounts/{account}/items/{id}");
        self.ask(&route, path, json!({"accountId": account, "itemId": id}), None, body).await
    }

    async fn ask(
        &self,
        route: &str,
        path: String,
        parameters: Value,
        key: Option<&str>,
        body: Option<&Value>,
    ) -> Reading {
        unreadable::request(self.stack, &Asks { route, path: &path, parameters, key, body }).await
    }

    async fn damage(&self, kind: &Type, how: unreadable::Damage) -> (String, String) {
        let (tea, saved, order) = (self.tea.clone(), self.saved.clone(), self.order.clone());
        let names = Names { owner: self.named("A-1"), tea, saved, order };
        kind.damage(self.stack, &names, how).await
    }
}

/// A request. `tea` is the damaged cart item, and `pot` has the damaged pointer.
#[derive(Debug, Clone, Copy)]
enum Reader {
    List(&'static str),
    GetSaved,
    Change,
    Activate,
    Remove,
    Add(&'static str, &'static str, Option<&'static str>),
    Buy(&'static str),
    ChangeOthers,
}

#[tokio::test]
async fn checkout_leaves_an_unreadable_item_in_the_cart_and_repeats_its_response() {
    let stack = shop().await;
    let scene = Scene::start(&stack, 1).await;
    scene.damage(&CART_ITEM, DAMAGES[0]).await;
    let operator = Client::operator(&stack);
    let checkout = "/cart/accounts/A-1-1/checkout";
    let first = operator.post_once(checkout, "buy", &json!({})).await;
    assert_eq!(
        (first.status, &first.body["skipped"], &first.body["items"][0]["sku"]),
        (200, &json!(1), &json!("cup-1"))
    );
    assert_eq!(operator.post_once(checkout, "buy", &json!({})).await.body, first.body);
    let list = operator.get("/cart/accounts/A-1-1/items").await;
    assert_eq!(list.body, json!({"items": [], "skipped": 1}), "the item stays in the cart");
    let again = operator.post(checkout, &json!({})).await;
    assert_eq!(again.status, 500, "the cart is not empty: {}", again.body);
    stack.stop().await;
}

#[tokio::test]
async fn an_unknown_order_is_not_an_unreadable_item() {
    let stack = shop().await;
    let asks = Asks {
        route: "GET /cart/accounts/{accountId}/orders/{orderId}",
        path: "/cart/accounts/A-1/orders/O-1",
        parameters: json!({"accountId": "A-1", "orderId": "O-1"}),
        key: None,
        body: None,
    };
    let reading = unreadable::request(&stack, &asks).await;
    assert_eq!((reading.status, reading.logged), (404, Vec::new()));
    stack.stop().await;
}

#[tokio::test]
async fn checkout_repairs_a_damaged_pointer() {
    let stack = shop().await;
    for (number, how) in DAMAGES.into_iter().enumerate() {
        let scene = Scene::start(&stack, number).await;
        assert_eq!(scene.read(Reader::Activate).await.status, 200);
        scene.damage(&POINTER, how).await;
        assert_eq!(scene.read(Reader::GetSaved).await.status, 500, "{how:?}");
        assert_eq!(scene.read(Reader::Buy("A-1")).await.count(), 3, "{how:?}");
        let bought = scene.read(Reader::GetSaved).await;
        assert_eq!((bought.status, &bought.body["status"]), (200, &json!("PURCHASED")), "{how:?}");
    }
    stack.stop().await;
}

#[tokio::test]
async fn a_cart_whose_contents_were_deleted_is_restored_by_the_next_change() {
    let stack = shop().await;
    for (number, reader) in [
        Reader::Change,
        Reader::Remove,
        Reader::Activate,
        Reader::Add("A-1", "jug", None),
        Reader::Add("A-1", "tea", Some("K-2")),
        Reader::Buy("A-1"),
    ]
    .into_iter()
    .enumerate()
    {
        let (scene, healthy) = (Scene::start(&stack, 2 * number).await, Scene::start(&stack, 2 * number + 1).await);
        let (client, table) = (stack.client().expect("a client"), stack.table("Cart").expect("a table"));
        let key = [("PK", scene.named("A-1")), ("SK", "CART".to_owned())];
        let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value)));
        client.delete_item().table_name(table).set_key(Some(key.into())).send().await.expect("deleted");
        assert_eq!(scene.read(Reader::List("A-1")).await.count(), 2, "{reader:?}: reads show the stored items");
        let (is, wanted) = (scene.read(reader).await, healthy.read(reader).await);
        assert_eq!((is.status, is.count()), (wanted.status, wanted.count()), "{reader:?}: {}", is.body);
        let (is, wanted) = (scene.read(Reader::List("A-1")).await, healthy.read(Reader::List("A-1")).await);
        assert_eq!(is.count(), wanted.count(), "{reader:?}");
    }
    stack.stop().await;
}

/// The files below a folder.
fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn exporter_delivers_everything_except_an_unreadable_change() {
    for kind in TYPES {
        let stack = shop().await;
        let scene = Scene::start(&stack, 1).await;
        let operator = Client::operator(&stack);
        for how in DAMAGES {
            scene.damage(&kind, how).await;
        }
        assert_eq!(scene.read(Reader::ChangeOthers).await.status, 200);
        drained(&operator, "export-changes").await;
        let files = files(stack.lake());
        let rows = files.iter().filter(|file| file.to_string_lossy().contains("/changes/cart-items/"));
        let rows: String = rows.map(|file| fs::read_to_string(file).expect("rows")).collect();
        let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
        let changed = rows.iter().any(|row| row["item_id"] == *scene.others && row["quantity"] == 2);
        assert!(changed, "{}: the change of {} is missing in {rows:?}", kind.name, scene.others);
        let kept = files.iter().filter(|file| file.to_string_lossy().contains("/unsendable/")).count();
        assert_eq!(kept > 0, [CART_ITEM.name, ORDER.name].contains(&kind.name), "{}: {files:?}", kind.name);
        stack.stop().await;
    }
}
