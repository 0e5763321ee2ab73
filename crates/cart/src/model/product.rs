use crate::{Cart, CartItem, CartItemBody, DOMAIN, Prices};
use function::{BoundedText, Caller, ChangedBy, Contract, Error, Fields, Input, Problem};
use keys::{
    Sku,
    cart::{ProductSort, ProductsPartition, SkuSort},
};
use money::{Currency, Decimal, JsonDecimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use table::{Attributes, Found, Item, Key, Page};

/// Name of a product: 1 to 100 characters.
pub type ProductName = BoundedText<100>;

/// Product of the shop: an item of the table `Products` (docs/decisions/cart-products.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Product {
    /// Product id.
    #[serde(rename = "PK")]
    pub sku: Sku,
    /// Constant sort key.
    #[serde(rename = "SK")]
    pub sort: ProductSort,
    /// Constant partition key of GSI1, which lists all products.
    #[serde(rename = "GSI1PK")]
    pub index_partition: ProductsPartition,
    /// Sort key of GSI1.
    #[serde(rename = "GSI1SK")]
    pub index_sort: SkuSort,
    /// Name.
    pub name: ProductName,
    /// Price of one unit.
    pub price: Money,
    /// Whether customers can see and buy the product.
    pub active: bool,
    /// Version number. It starts at 1 and increases by 1 with each change.
    pub version: i64,
    /// The operator who last changed the product.
    pub changed_by: ChangedBy,
}

impl Item for Product {
    const TYPE: &'static str = "Product";
}

impl Product {
    /// Creates the first version of a product, without an author.
    pub fn new(sku: Sku, name: ProductName, price: Money, active: bool) -> Self {
        let (sort, index_partition, index_sort) = (ProductSort, ProductsPartition, SkuSort(sku.clone()));
        Self {
            sku,
            sort,
            index_partition,
            index_sort,
            name,
            price,
            active,
            version: 1,
            changed_by: ChangedBy::default(),
        }
    }

    /// Primary key of the product.
    pub fn key(sku: &Sku) -> Key {
        Key::new(sku, &ProductSort)
    }

    /// Returns the product if customers can buy it.
    ///
    /// # Errors
    /// 409 if the product does not exist or is not active.
    pub(crate) fn must_be_on_sale(product: Option<Self>, sku: &Sku) -> Result<Self, Error> {
        product.filter(|product| product.active).ok_or_else(|| unavailable([sku]))
    }
}

/// Returns the error 409 for products that cannot be bought.
pub(crate) fn unavailable<'a>(skus: impl IntoIterator<Item = &'a Sku>) -> Error {
    let skus: Vec<&str> = skus.into_iter().map(Sku::as_str).collect();
    let detail = format!("These products do not exist or are not active: {}.", skus.join(", "));
    Error::Conflict(Problem::ProductUnavailable, detail)
}

/// Prices must be below this limit. The limit leaves enough digits for the sums in reports.
const LARGEST_PRICE: i128 = 1_000_000_000_000;

/// The members `price` and `currency` of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Price(pub(crate) Money);

impl Input for Price {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (amount, currency) = (fields.body::<JsonDecimal>("price"), fields.body::<Currency>("currency"));
        let (JsonDecimal(amount), currency) = (amount?, currency?);
        let below = LARGEST_PRICE * 10_i128.pow(currency.places().into());
        match Money::new(amount, currency) {
            Ok(price) if (0..below).contains(&price.minor()) => Some(Self(price)),
            Ok(_) => fields.fault("/body/price", "must be at least 0 and less than 1000000000000"),
            Err(error) => fields.fault("/body/price", error),
        }
    }

    fn describe(contract: &mut Contract) {
        contract.body::<NewPrice>("price", "", true);
        contract.body::<Currency>("currency", "", true);
    }
}

struct NewPrice;
keys::schema!(NewPrice as "NewPrice": {
    "description": "Unit price, less than 10^12, with at most as many decimal places as its currency.",
    "oneOf": [
        {"title": "PriceText", "type": "string", "pattern": r"^(0|[1-9][0-9]{0,11})(\.[0-9]+)?$"},
        {"title": "PriceNumber", "type": "number", "minimum": 0, "exclusiveMaximum": 1_000_000_000_000_i64}
    ]
});

/// Products that a request has read.
#[derive(Debug)]
pub(crate) struct Products(Found<Product>);

impl Products {
    /// Returns the product, even if it is inactive.
    pub(crate) fn get(&self, sku: &Sku) -> Option<&Product> {
        self.0.items.get(&Product::key(sku))
    }

    /// Returns an error if a product cannot be read.
    pub(crate) fn complete(self) -> Result<Self, Error> {
        match self.0.unreadable.len() {
            0 => Ok(self),
            count => Err(Error::Internal(format!("{count} products cannot be read"))),
        }
    }

    /// Creates the response body of a cart item. Marks an item in the cart or saved for later whose
    /// product has another price, or cannot be bought. An unreadable product marks nothing.
    pub(crate) fn body(&self, cart_item: CartItem) -> CartItemBody {
        if !cart_item.is_open() || self.0.unreadable.contains(&Product::key(&cart_item.sku)) {
            return cart_item.into();
        }
        let product = self.get(&cart_item.sku);
        CartItemBody::compared(cart_item, product)
    }
}

impl Cart {
    /// Reads the products of cart items.
    pub(crate) async fn products_of(&self, cart_items: &[CartItem], consistent: bool) -> Result<Products, Error> {
        let open = cart_items.iter().filter(|cart_item| cart_item.is_open());
        let keys: BTreeSet<&Sku> = open.map(|cart_item| &cart_item.sku).collect();
        let keys: Vec<Key> = keys.into_iter().map(Product::key).collect();
        Ok(Products(self.products.get_all(&keys, consistent).await?))
    }

    /// Returns the product if customers can buy it. `found` comes from an eventually consistent
    /// read, which may have missed a new product or a change. Before a refusal, the product is read
    /// again with strong consistency.
    pub(crate) async fn on_sale(&self, found: Option<Product>, sku: &Sku) -> Result<Product, Error> {
        match Product::must_be_on_sale(found, sku) {
            Err(_) => Product::must_be_on_sale(self.products.get(&Product::key(sku)).await?, sku),
            on_sale => on_sale,
        }
    }

    /// Creates the response bodies of a page of cart items. Reads the products only if the request
    /// asks for the marks of [`Products::body`].
    pub(crate) async fn bodies(
        &self,
        page: Page<CartItem>,
        prices: Option<Prices>,
    ) -> Result<Page<CartItemBody>, Error> {
        let Some(Prices::Current) = prices else { return Ok(page.map(CartItemBody::from)) };
        let products = self.products_of(&page.items, false).await?;
        Ok(page.map(|cart_item| products.body(cart_item)))
    }

    /// Creates the response body of a cart item, as [`Cart::bodies`] does.
    pub(crate) async fn body(&self, cart_item: CartItem, prices: Option<Prices>) -> Result<CartItemBody, Error> {
        let Some(Prices::Current) = prices else { return Ok(cart_item.into()) };
        let products = self.products_of(std::slice::from_ref(&cart_item), false).await?;
        Ok(products.body(cart_item))
    }
}

/// A product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProductBody {
    sku: Sku,
    name: ProductName,
    price: Decimal,
    currency: Currency,
    /// Whether customers can see and buy the product. Operators see all products.
    active: bool,
    #[schemars(range(min = 1))]
    version: i64,
    /// The operator who last changed the product. Only for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
}

impl ProductBody {
    /// Creates the product as the caller sees it.
    pub(crate) fn of(product: Product, caller: &Caller) -> Self {
        let Product { sku, name, price, active, version, changed_by, .. } = product;
        let changed_by = changed_by.seen_by(caller, DOMAIN);
        Self { sku, name, price: price.amount(), currency: price.currency(), active, version, changed_by }
    }
}
