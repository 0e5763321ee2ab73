//! C13: merges the cart of a guest into the cart of an account
//! (docs/requirements/cart.md#merge-carts, docs/decisions/cart-orders.md).

use crate::{
    Cart, CartItem, DOMAIN, MAX_ITEMS,
    cost::{self, Calls, Pattern},
    model::{
        cart_item::Move,
        contents::{Contents, InCart},
    },
};
use function::{
    Error, Fields, Fingerprint, IdempotentRequest, Input, Json, Problem, Request, Route, Trigger, optimistically,
};
use futures::future::try_join;
use keys::{AccountId, TimestampMillis, cart::ItemId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Change, MAX_CHANGES, cost::Cost};

/// Maximum number of items that move in one transaction. It has up to five changes for each item,
/// and three others: the contents of both carts, and the idempotency record.
const MAX_AT_ONCE: usize = (MAX_CHANGES - 3) / 5;

pub const PATTERN: Pattern = Pattern {
    id: "C13",
    name: "merge-carts",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/accounts/{accountId}/merge",
        scopes: &["cart:write", "cart:operate"],
        summary: "Merge the cart of a guest into the cart of an account",
        problems: &[
            Problem::ProductUnavailable,
            Problem::CartCurrency,
            Problem::CartFull,
            Problem::QuantityLimit,
            Problem::IdempotencyKeyReused,
        ],
    }]),
    calls: &[Calls::new("", |case| {
        let moved = case.moved() + case.cart_item_write();
        Cost::default()
            .read(cost::CART, case.contents_read() + case.read_all() + 2 + case.record_read())
            .write(cost::CART, moved.times(2 * case.cart_items))
            .write(cost::CART, (case.contents_write() + 1 + case.record_write()).times(2))
            .write(cost::BY_SKU, case.cart_item_write().times(2 * case.cart_items))
    })],
    contract: function::contract(&merge_carts),
    function: || function::http(merge_carts, Cart::warm_by_get),
};

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
#[input(check = must_differ(account, from))]
pub struct MergeCartsInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(body = "fromAccountId")]
    from: AccountId,
}

fn must_differ(fields: &mut Fields, account: Option<&AccountId>, from: Option<&AccountId>) {
    if from.is_some() && from == account {
        fields.fault::<()>("/body/fromAccountId", "must be another account");
    }
}

/// The outcome of a merge.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeResult {
    /// Number of items that this request took out of the cart of the guest.
    merged: usize,
    /// Number of items that stay with the guest, because they, or the same product in the cart of
    /// the account, cannot be read.
    skipped: usize,
}

/// Moves the items of a guest's cart into the cart of an account. Adds the quantity of a product
/// that is in both carts. A repeated request moves what is left, so each item is moved once.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own. 409 if the merged cart
/// would have too many items, too many pieces of a product or two currencies. 413 for an item whose
/// ids are too long. 422 for an
/// idempotency key that was used for a different request.
pub async fn merge_carts(cart: Cart, request: Request<MergeCartsInput>) -> Result<Json<MergeResult>, Error> {
    let MergeCartsInput { account, from } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    request.caller.must_own(from, DOMAIN)?;
    let fingerprint = Fingerprint::of(&["merge-carts", from.as_str()]);
    let key = request.idempotency_key.as_ref();
    let once = IdempotentRequest::new(&cart.table, account, key, fingerprint, request.milli);
    let mut merged = 0;
    for _ in 0..=MAX_ITEMS.div_ceil(MAX_AT_ONCE) {
        match optimistically(|| cart.merge_some(&request, &once, merged)).await? {
            Progress::Done(done) => return Ok(Json(done)),
            Progress::Moved(count) => merged += count,
        }
    }
    // The guest keeps adding items.
    Err(Error::stale())
}

enum Progress {
    /// Nothing is left in the cart of the guest, or an earlier request was the same.
    Done(MergeResult),
    /// This number of items was moved, and others are left.
    Moved(usize),
}

impl Cart {
    /// Moves as many items as one transaction can. `before` items were moved earlier.
    async fn merge_some(
        &self,
        request: &Request<MergeCartsInput>,
        once: &IdempotentRequest<'_>,
        before: usize,
    ) -> Result<Progress, Error> {
        let MergeCartsInput { account, from } = &request.input;
        if let Some(done) = once.before().await? {
            return Ok(Progress::Done(done));
        }
        let carts = Box::pin(try_join(self.opened(from, once.now), self.opened(account, once.now))).await?;
        let ((source, guest), (target, own)) = carts;
        let movable = movable(&guest, &own);
        let skipped = guest.unreadable.len() + guest.cart_items.len() - movable.len();
        let some = &movable[..movable.len().min(MAX_AT_ONCE)];
        let Some(source) = source.filter(|_| !some.is_empty()) else {
            return self.nothing_left(once, MergeResult { merged: before, skipped }).await;
        };
        if let Err(refusal) = self.must_fit(account, &movable, &own, once.now) {
            return self.refused(request, once, refusal, (&source, target.as_ref())).await;
        }
        let (mut changes, mut arrived) = (Vec::new(), Vec::new());
        for cart_item in some {
            let there = own.cart_items.iter().find(|own| own.sku == cart_item.sku);
            let new = if let Some(there) = there {
                let sum = there.grown(cart_item.quantity, once.now, self.days)?;
                changes.extend(self.transition(there, &sum)?);
                sum
            } else {
                let id = ItemId::new(once.now.instant(), &request.random);
                let new = cart_item.of_account(id, account.clone(), once.now, self.days);
                changes.push(self.table.put_new(&new)?);
                new
            };
            let joined = cart_item.moved(&Move::Joined(new.id()), once.now, self.days);
            changes.extend(self.transition(cart_item, &joined)?);
            arrived.push(new);
        }
        changes.extend(self.contents_after(
            request,
            (&source, guest.clone().without(some)),
            (target.as_ref(), own.with(arrived)),
            once.now,
        )?);
        let (count, is_last) = (some.len(), some.len() == movable.len());
        let done = MergeResult { merged: before + count, skipped };
        if is_last {
            changes.extend(once.remember(&done)?);
        }
        self.dynamo.transact(changes).await?;
        Ok(if is_last { Progress::Done(done) } else { Progress::Moved(count) })
    }

    /// Records the outcome, unless an equal request has emptied the cart after the record was read.
    async fn nothing_left(&self, once: &IdempotentRequest<'_>, done: MergeResult) -> Result<Progress, Error> {
        if let Some(earlier) = once.before().await? {
            return Ok(Progress::Done(earlier));
        }
        if let Some(record) = once.remember(&done)? {
            self.dynamo.transact(vec![record]).await?;
        }
        Ok(Progress::Done(done))
    }

    /// Returns the refusal if it is final. An equal request may have moved the items between the
    /// reads of the two carts.
    async fn refused(
        &self,
        request: &Request<MergeCartsInput>,
        once: &IdempotentRequest<'_>,
        refusal: Error,
        (source, target): (&Contents, Option<&Contents>),
    ) -> Result<Progress, Error> {
        if let Some(earlier) = once.before().await? {
            return Ok(Progress::Done(earlier));
        }
        let MergeCartsInput { account, from } = &request.input;
        let (guest, own) = Box::pin(try_join(self.contents(from), self.contents(account))).await?;
        let is_final = guest.as_ref() == Some(source) && own.as_ref() == target;
        Err(if is_final { refusal } else { Error::stale() })
    }

    /// Returns an error if the items do not fit into the cart: 409, or 413 for an item whose ids
    /// are too long for the other account.
    fn must_fit(
        &self,
        account: &AccountId,
        movable: &[CartItem],
        own: &InCart,
        now: TimestampMillis,
    ) -> Result<(), Error> {
        let is_new = |cart_item: &&CartItem| own.cart_items.iter().all(|own| own.sku != cart_item.sku);
        let count = movable.iter().filter(is_new).count() + own.cart_items.len() + own.unreadable.len();
        if count > MAX_ITEMS {
            let detail =
                format!("The carts have {count} products together. A cart has at most {MAX_ITEMS} active items.");
            return Err(Error::Conflict(Problem::CartFull, detail));
        }
        for cart_item in movable {
            cart_item.of_account(cart_item.id(), account.clone(), now, self.days).must_fit()?;
            for own in &own.cart_items {
                must_match(cart_item, own)?;
            }
        }
        Ok(())
    }

    /// Reads the contents and the items of a cart.
    async fn opened(&self, account: &AccountId, now: TimestampMillis) -> Result<(Option<Contents>, InCart), Error> {
        match self.contents(account).await? {
            Some(contents) => {
                let in_cart = self.in_cart(account, &contents, now).await?;
                Ok((Some(contents), in_cart))
            }
            None if self.restore(account, now).await? => Err(Error::stale()),
            None => Ok((None, InCart::default())),
        }
    }

    fn contents_after(
        &self,
        request: &Request<MergeCartsInput>,
        (source, guest): (&Contents, InCart),
        (target, own): (Option<&Contents>, InCart),
        now: TimestampMillis,
    ) -> Result<[Change; 2], Error> {
        let MergeCartsInput { account, from } = &request.input;
        Ok([self.rewritten(Some(source), from, guest, None, now)?, self.rewritten(target, account, own, None, now)?])
    }
}

/// Returns the items of the guest that can move. An item stays if the cart of the account has an
/// unreadable item of the same product.
fn movable(guest: &InCart, own: &InCart) -> Vec<CartItem> {
    guest.cart_items.iter().filter(|cart_item| !own.unreadable.contains_key(&cart_item.sku)).cloned().collect()
}

fn must_match(cart_item: &CartItem, own: &CartItem) -> Result<(), Error> {
    if own.price.currency() != cart_item.price.currency() {
        let detail = "The carts have different currencies.".to_owned();
        return Err(Error::Conflict(Problem::CartCurrency, detail));
    }
    if own.sku == cart_item.sku && own.quantity.plus(cart_item.quantity).is_none() {
        let detail = format!("The carts have too many pieces of {} together.", own.sku);
        return Err(Error::Conflict(Problem::QuantityLimit, detail));
    }
    Ok(())
}
