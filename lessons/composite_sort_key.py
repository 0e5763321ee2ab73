"""The items of a customer: the status as an attribute with a filter, and as the first part of the sort key."""

from lab import Api, Table, during

ACTIVE = 5
# Both are multiples of ACTIVE, because a checkout buys all active items.
FEW, MANY = 15, 195


def naive(dynamo):
    """The status is an attribute, and a filter selects it. An index lists the items of a product."""
    table = Table(dynamo, "composite", Sku="ALL")

    def key(at):
        return f"2099-12-01T09:30:00.000Z#{at:032}"

    def put(at, status):
        table.put(PK="Ann", SK=key(at), Status=status, SkuPK=f"composite-{at % ACTIVE}", SkuSK=key(at), Data="x" * 139)

    for at in range(MANY):
        if at == FEW:
            for active in range(MANY, MANY + ACTIVE):
                _, added = during(table.units, lambda at=active: put(at, "ACTIVE"))
            _, short = during(table.units, lambda: table.query("Ann", keep=("Status", "ACTIVE")))
        put(at, "PURCHASED")
    _, long = during(table.units, lambda: table.query("Ann", keep=("Status", "ACTIVE")))
    _, saved = during(table.units, lambda: table.update("Ann", key(MANY), Status="SAVED"))
    return [added, short, long, saved]


def ours(url):
    """The cart: the status is the first part of the sort key."""
    api = Api(url)
    account = "/cart/accounts/composite-sort-key"
    for at in range(ACTIVE):
        api("PUT", f"/cart/products/composite-{at}", {"name": "Garden chair", "price": "12.49", "currency": "USD"})

    def fill():
        """Adds an item of each product, and returns the last item with its units."""
        items = [{"sku": f"composite-{at}", "quantity": 1} for at in range(ACTIVE)]
        return [during(api.units, lambda item=item: api("POST", f"{account}/items", item)) for item in items][-1]

    def listed():
        return during(api.units, lambda: api("GET", f"{account}/items?status=ACTIVE"))[1]

    fill()
    for bought in range(0, MANY, ACTIVE):
        if bought == FEW:
            short = listed()
        api("POST", f"{account}/checkout")
        item, added = fill()
    long = listed()
    _, saved = during(api.units, lambda: api("PATCH", f"{account}/items/{item['itemId']}", {"status": "SAVED"}))
    return [added, short, long, saved]


def play(url, dynamo):
    steps = [
        "add a product to the cart",
        f"list {ACTIVE} active items of {FEW + ACTIVE}",
        f"list {ACTIVE} active items of {MANY + ACTIVE}",
        "save an item for later",
    ]
    rows = [["", "status as an attribute", "status in the sort key"]]
    designs = zip(steps, naive(dynamo), ours(url), strict=True)
    return rows + [[step, one.text(), other.text()] for step, one, other in designs]
