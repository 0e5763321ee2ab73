"""Smoke test of the cart."""

from contract import body_of

# 204 if the clean-up removed the item, 404 if it was removed before.
GONE = (204, 404)


def walk(stack):
    account, sku = f"{stack.run}-account", f"{stack.run}-sku"
    items = f"/cart/accounts/{account}/items"
    product = body_of("put-product")
    for name in (sku, f"{sku}-2"):
        path = f"/cart/products/{name}"
        stack.expect(201, "cart: put a product", "PUT", path, body=product)
        stack.undo("cart: deactivate the product", "PUT", path, body={**product, "active": False})
    stack.expect(200, "cart: get a product", "GET", f"/cart/products/{sku}")
    stack.expect(200, "cart: list the products", "GET", "/cart/products")
    new = {**body_of("add-cart-item"), "sku": sku}
    line = stack.created("cart: add an item", items, new, "line", {**new, "quantity": 2})
    one = f"{items}/{line['itemId']}"
    stack.undo("cart: remove the first item", "DELETE", one, statuses=GONE)
    more = stack.expect(200, "cart: add more of the product", "POST", items, body={"sku": sku, "quantity": 2})
    stack.check("cart: one item has the sum", (more["itemId"], more["quantity"]) == (line["itemId"], 3), more.body)
    other = stack.expect(201, "cart: add another product", "POST", items, body={"sku": f"{sku}-2", "quantity": 1})
    stack.undo("cart: remove the other item", "DELETE", f"{items}/{other['itemId']}", statuses=GONE)
    stack.paged("cart: list the items", items, "itemId", [line["itemId"], other["itemId"]])
    stack.expect(200, "cart: get an item", "GET", one)
    stack.until("cart: list the items of a product", f"/cart/skus/{sku}/items", lambda found: len(found["items"]) == 1)
    changed = stack.expect(200, "cart: change the quantity", "PATCH", one, body={"quantity": 5})
    stack.check("cart: the quantity has changed", changed["quantity"] == 5, changed.body)
    stack.expect(200, "cart: save for later", "PATCH", one, body={"status": "SAVED"})
    stack.refused(400, "invalid-request", "cart: reject a price", "POST", items, body={**new, "price": "12.49"}, faults=["/body/price"])
    stack.refused(409, "product-unavailable", "cart: reject an unknown product", "POST", items, body={"sku": f"{sku}-3"})
    stack.expect(204, "cart: remove an item", "DELETE", one)
    stack.refused(404, "not-found", "cart: get a removed item", "GET", one)
    stack.expect(204, "cart: remove the other item", "DELETE", f"{items}/{other['itemId']}")
    stack.expect(200, "cart: list the orders", "GET", f"/cart/accounts/{account}/orders")
    stack.expect(200, "cart: list the orders to ship", "GET", "/cart/orders?limit=1")
    stack.refused(404, "not-found", "cart: get an unknown order", "GET", f"/cart/accounts/{account}/orders/unknown")
    stack.refused(404, "not-found", "cart: ship an unknown order", "PATCH", f"/cart/accounts/{account}/orders/unknown",
                  body=body_of("update-order"))
    stack.refused(404, "not-found", "cart: get an unknown job", "GET", "/cart/jobs/unknown")
    stack.refused(404, "not-found", "cart: retry an unknown job", "POST", "/cart/jobs/unknown/retry")
    stack.refused(409, "cart-empty", "cart: reject a checkout of an empty cart", "POST", f"/cart/accounts/{account}/checkout")
