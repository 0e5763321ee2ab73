"""The reasons why calls cost more than the minimum.

Each call has its additional units, with a reason for each unit type. The units are R (read from
tables and indexes), W (written to tables) and I (written to indexes)."""

ONCE = "a transaction: a late attempt of the SDK has no effect"
BALANCE = "strongly consistent: a payer sees the balance after the payment"
CONTENTS = "the contents of the cart: all items of an order are shown as bought, or none"
# Reads before a write, and what their rules ensure.
CART = "the item and the contents of the cart are read: an item that an order has bought does not change"
CERTIFICATE = "the last certificate is read: a day that is closed again gets a supplement with the next number"
SWITCH = "the switch is read: dispatching that is stopped is refused"
AGAIN = "the item is read: a late attempt of the SDK does not delete an item that was created again"
ITEM_AND_CART = "the item and the contents of the cart change together, so the cart never has more than 200 items"
LEVEL = "the activity and the parts of the level are read: two administrators do not overwrite each other"
REWARDS = "the rewards that the registration may earn are read: points are awarded once and at once"
STARTED = "the list of started jobs is read: a company starts a limited number"

REASONS = {
    "schedule-payment, with an Idempotency-Key": {"1 W": "the idempotency record: a repeated request schedules one payment"},
    "update-payment-status, its data": {"2 R": "the payment is read: only a scheduled one gets new data"},
    "update-payment-status": {"2 R": "the payment is read: an unreadable one remains unchanged"},
    "update-payment-status to PROCESSED": {
        "2 R": "the payment is read: an unreadable one remains unchanged",
        "10 W": "a guard item (1) in the same transaction (9): no two payments have one transaction id",
    },
    "dispatch-due-payments": {"0.5 R": "the switch is read with strong consistency: a stop takes effect at once"},
    "put-standing-order": {"1 R": "the order is read: the same order changes nothing, and a change cancels its payments"},
    "remove-standing-order": {"1 R": "the order is read: the job cancels the payments of its revision"},
    "start-dispatch": {"1 R": SWITCH},
    "set-dispatching": {"1 R": "the switch is read: a repeated request changes nothing, also not the time of the switch"},
    "retry-payment": {
        "1 R": "strongly consistent: a payment that has just failed can be retried",
        "1 W": "the record that allows a single retry",
    },
    "get-day, not closed": {"1 R": "the missing certificate is read again: a day just closed is not shown as open"},
    "start-close": {"1 R": CERTIFICATE},
    "close-day": {"1 R": CERTIFICATE},
    "add-cart-item": {
        "2.5 R": "the product (½), the contents of the cart, and the items of a cart without contents are read: the "
                 "item has the present price, and a product is in the cart once",
        "3 W": ITEM_AND_CART,
    },
    "add-cart-item, product in the cart": {
        "2.5 R": "the product (½), the contents of the cart and the item are read: the quantities are added up",
        "3 W": ITEM_AND_CART,
    },
    "update-cart-item, its quantity": {"2 R": CART, "3 W": ITEM_AND_CART},
    "update-cart-item, its status": {
        "2 R": CART,
        "4 W": "the item's pointer, so that its id stays valid, and the contents of the cart",
    },
    "put-product": {"1 R": "the product is read: it keeps its version if nothing changes"},
    "list-cart-items": {"1 R": CONTENTS},
    "list-cart-items, ten items": {"1 R": CONTENTS},
    "get-cart-item": {
        "2.5 R": "the item has moved: its first key (½), its pointer (1), and the contents of the cart (1), so that the "
                 "item is not shown in the cart while an order buys it",
    },
    "remove-cart-item": {
        "2 R": CART,
        "5 W": "the item is kept for a week as REMOVED, so that the export has the removal; the contents of the cart",
    },
    "checkout-cart, one item": {
        "4 R": "the idempotency record, the contents of the cart, its items and their products are read: the order "
               "has present prices",
        "6 W": "the item's pointer, the contents of the cart, and the idempotency record: the cart is bought once",
    },
    "update-order, to SHIPPED": {
        "2 R": "the order and its lines are read: the items move with the order",
        "2 W": "the item's pointer, so that its id stays valid",
    },
    "update-order, to DELIVERED": {"1 R": "the order is read: its status follows from the one before"},
    "checkout-cart, 33 items": {
        "37 R": "the contents of the cart, its items (3) and their products (33) are read: the order has present prices",
        "4 W": "the contents of the cart, and a job that moves the items",
    },
    "merge-carts, one item": {
        "3 R": "the contents of both carts and their items are read: equal products become one item",
        "6 W": "the guest's item is kept for a week as JOINED, with its pointer; the contents of both carts",
    },
    "create-template": {"1 W": ONCE},
    "update-template": {"1 R": "the template is read: omitted fields keep their values"},
    "remove-template": {"1 R": AGAIN, "1 W": ONCE},
    "start-report": {
        "2.5 R": "the plans and an activity of the plan (½) are read: an unknown plan is 404; " + STARTED,
        "3 W": "the list of started jobs is put in a transaction with the job",
    },
    "get-report": {"1 R": "the last complete report is read with strong consistency: the rows of an earlier one are deleted"},
    "update-part": {"2 R": LEVEL},
    "remove-part": {"2 R": LEVEL},
    "add-reference": {"3 R": "the activity, the record and all parts are read: the reference copies the record, within the limit"},
    "remove-reference": {"1 R": "the activity is read: the company must own it"},
    "remove-reference-record": {
        "2.5 R": "the record, the reference that was added last, and the index are read: a record in use is not removed",
        "5 W": "the conditions that no job runs on the record and none holds it, all in a transaction",
    },
    "create-activity, six items": {
        "1 R": "the section is read: the company must own it",
        "2 W": "the job that enrols the employees",
    },
    "join-activity": {
        "5 R": "the activity, the employee and the registration are read, and the first two again after the write: "
               "nobody takes part whom a change in between excludes",
        "2 W": "the ticket is taken before the registration is put under it: seats are given in the order of the sign-ups",
    },
    "leave-activity": {
        "1 R": "the registration is read: an activity that has ended cannot be left",
        "2 W": "the job that gives the seat away",
    },
    "put-plan": {"1 R": "the plans are read: they do not overlap"},
    "put-employee": {"1 R": "the employee is read: nothing is written without a change", "1 W": ONCE},
    "create-employee-import": {"1 R": STARTED},
    "remove-employee": {"1 R": AGAIN, "1 W": "the employee is deleted in a transaction with the job", "2 W": "the job that ends the registrations"},
    "record-progress": {"2 R": "the registration is read, and " + REWARDS},
    "record-attendance": {"3 R": "the activity and the registration are read, and " + REWARDS},
    "correct-points": {"2 R": "the plan and the employee are read: both must exist"},
    "move-activity": {"2 R": "the section and the activity are read: the company must own both"},
    "put-section": {"1 R": "the section is read: a new one gets 201"},
    "put-reference": {"1 R": "the record is read: the put keeps its last use", "1 W": ONCE},
    "update-reference, the request": {
        "2 R": "the references are counted with two queries per status: the response says how many change",
        "5 W": "the job, and the condition that no other job runs, in a transaction",
    },
    "replace-reference, the request": {
        "3 R": "the references are counted with two queries per status (2); " + STARTED,
        "9 W": "a hold on the replacement, the list of started jobs, and two conditions that no other job runs, in a transaction",
    },
    "update-activity, the request": {
        "3 R": "the activity, and its references twice, are read: no reference misses the change",
        "4 W": "the job that updates the registrations, and the job that enrols the employees",
    },
    "get-account": {"0.5 R": BALANCE},
    "list-user-accounts": {"0.5 R": BALANCE},
    "process-payment": {"2.5 R": "both accounts and the merchant are read: the legs have the balances after them"},
    "process-payment, reference": {"2.5 R": "both accounts and the merchant are read: the legs have the balances after them"},
    "process-batch, two": {"4.5 R": "all accounts, and the merchant once, are read: the legs have the balances after them"},
    "get-balance, at": {"0.5 R": "the account is read with strong consistency, because its balance may be the answer"},
    "create-hold": {"2 R": "both accounts are read: the available balance covers the hold"},
    "capture-hold": {"3 R": "the hold and both accounts are read: the legs have the balances after them"},
    "void-hold": {"2 R": "the hold and the payer's account are read: exactly the reserve is released"},
    "reverse-transaction": {
        "3.5 R": "the transaction, both accounts and the merchant are read: no more than the amount is reversed",
        "2 W": "the reversal marker: a list shows the reversal",
        "1 I": "the marker in the list of reversals",
    },
    "update-account": {"1 R": "the account is read: its state allows the change"},
    "get-reconciliation": {
        "0.5 R": "the findings are read with strong consistency: a completed job is shown with all of them",
    },
}

# The rows of the table in docs/requirements/ledger.md#performance-targets. Each row has the
# operation, the range of required units, our call, the types of units to add up, and the reason for
# a difference.
REQUIRED = [
    ("Get transaction by ID", (0.5, 1), "get-transaction", "R", ""),
    ("Get transaction + legs", (1, 3), "get-transaction", "R", ""),
    ("Query by status (100 items)", (5, 10), "list-transactions of a status, 100", "R",
     ""),
    ("Check idempotency", (0.5, 0.5), "list-transactions of a key", "R",
     "the header is also read by key, because the index projects only keys"),
    ("Atomic payment (3 items)", (6, 6), "process-payment", "WI",
     "the required workflow writes five items, doubled by the transaction, and four index entries"),
    ("Account history (100 items)", (5, 10), "get-statement, 100 legs", "R",
     ""),
]
