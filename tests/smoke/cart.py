"""A cart."""

# It is gone now, or was before.
GONE = (204, 404)


def walk(stack):
    account, sku = f"{stack.run}-account", f"{stack.run}-sku"
    items = f"/cart/accounts/{account}/items"
    new = {"sku": sku, "quantity": 1, "price": "12.49", "currency": "USD"}
    line = stack.created("cart: a line", items, new, "line", {**new, "quantity": 2})
    one = f"{items}/{line['itemId']}"
    stack.undo("cart: remove the first line", "DELETE", one, statuses=GONE)
    more = stack.expect(200, "cart: more of it", "POST", items, body={"sku": sku, "quantity": 2})
    stack.check("cart: they are one line", (more["itemId"], more["quantity"]) == (line["itemId"], 3), more.body)
    other = stack.expect(201, "cart: another product", "POST", items, body={"sku": f"{sku}-2", "quantity": 1})
    stack.undo("cart: remove the other line", "DELETE", f"{items}/{other['itemId']}", statuses=GONE)
    stack.paged("cart: its lines", items, "itemId", [line["itemId"], other["itemId"]])
    stack.expect(200, "cart: one line", "GET", one)
    stack.until("cart: the lines of a product", f"/cart/skus/{sku}/items", lambda found: len(found["items"]) == 1)
    changed = stack.expect(200, "cart: another quantity", "PATCH", one, body={"quantity": 5})
    stack.check("cart: the quantity", changed["quantity"] == 5, changed.body)
    stack.expect(200, "cart: save for later", "PATCH", one, body={"status": "SAVED"})
    stack.refused(400, "invalid-request", "cart: a price alone", "POST", items, body={**new, "currency": None},
                  faults=["/body/currency"])
    stack.expect(204, "cart: remove a line", "DELETE", one)
    stack.refused(404, "not-found", "cart: a removed line", "GET", one)
    stack.expect(204, "cart: remove the other", "DELETE", f"{items}/{other['itemId']}")
    stack.refused(409, "cart-empty", "cart: buy nothing", "POST", f"/cart/accounts/{account}/checkout")
