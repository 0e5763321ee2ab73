"""The reasons why calls cost more than the minimum.

Each call has its additional units, with a reason for each unit type. The units are R (read from
tables and indexes), W (written to tables) and I (written to indexes)."""

STRONG = "a strongly consistent read costs twice as much"
ONCE = "the write is a transaction, so that a retry after a lost response has no effect"
CONTENTS = "the contents of the cart, so that the list shows all items of an order as bought, or none"

REASONS = {
    "schedule-payment, with an Idempotency-Key": {"1 W": "the idempotency record"},
    "update-payment-status": {"2 R": "the payment is read first, so that an unreadable one remains unchanged"},
    "update-payment-status to PROCESSED": {
        "2 R": "the payment is read first",
        "10 W": "a guard item for the transaction id (1), and the transaction doubles both writes (9)",
    },
    "dispatch-due-payments": {"0.5 R": "the switch is read with strong consistency, so that a stop takes effect at once"},
    "start-dispatch": {"1 R": "the switch is read first"},
    "retry-payment": {"1 R": STRONG, "1 W": "the record that allows a single retry"},
    "get-day, not closed": {"1 R": "the missing certificate is read again, so that a day just closed is not shown as open"},
    "start-close": {"1 R": "the last certificate is read first"},
    "close-day": {"1 R": "the last certificate is read first"},
    "add-cart-item": {
        "2.5 R": "the product (½), the contents of the cart, and, if they do not exist, all of its items",
        "3 W": "the contents of the cart, and the transaction doubles both writes",
    },
    "add-cart-item, product in the cart": {
        "2.5 R": "the product (½), the contents of the cart and the item are read first",
        "3 W": "the contents of the cart, and the transaction doubles both writes",
    },
    "update-cart-item, its quantity": {
        "2 R": "the item and the contents of the cart are read first",
        "3 W": "the contents of the cart, and the transaction doubles both writes",
    },
    "update-cart-item, its status": {
        "2 R": "the item and the contents of the cart are read first",
        "4 W": "the item's pointer, and the contents of the cart",
    },
    "put-product": {"1 R": "the version is read first"},
    "list-cart-items": {"1 R": CONTENTS},
    "list-cart-items, ten items": {"1 R": CONTENTS},
    "get-cart-item": {
        "2.5 R": "the item has moved: its first key (½), its pointer (1), and the contents of the cart (1), so that the "
                 "item is not shown in the cart while an order buys it",
    },
    "remove-cart-item": {
        "2 R": "the item and the contents of the cart are read first",
        "5 W": "the item is kept for a week as REMOVED, for the export; the contents of the cart; all in a transaction",
    },
    "checkout-cart, one item": {
        "4 R": "the idempotency record, the contents of the cart, its items and their products are read first",
        "6 W": "the item's pointer, the contents of the cart, and the idempotency record",
    },
    "update-order, to SHIPPED": {"2 R": "the order and its lines are read first", "2 W": "the item's pointer"},
    "update-order, to DELIVERED": {"1 R": "the order is read first"},
    "checkout-cart, 33 items": {
        "37 R": "the contents of the cart, its items (3) and their products (33) are read first",
        "4 W": "the contents of the cart",
    },
    "merge-carts, one item": {
        "3 R": "the contents of both carts and their items are read first",
        "6 W": "the guest's item is kept for a week as JOINED, with its pointer; the contents of both carts",
    },
    "create-template": {"1 W": ONCE},
    "update-template": {"1 R": "the template is read first, so that omitted fields keep their values"},
    "remove-template": {"1 W": ONCE},
    "start-report": {
        "2.5 R": "the plans, an activity of the plan (½), and the list of the jobs that callers have started are read first",
        "3 W": "the list of these jobs is put in a transaction with the job",
    },
    "get-report": {"1 R": "the last complete report is read first, strongly consistent"},
    "update-part": {"2 R": "the activity and the parts of the level are read first"},
    "remove-part": {"2 R": "the activity and the parts of the level are read first"},
    "add-reference": {"3 R": "the activity, the record and all parts are read first"},
    "remove-reference": {"1 R": "the activity is read first"},
    "remove-reference-record": {
        "2.5 R": "the record, the reference that was added last, and the index of references are read first",
        "5 W": "the conditions that no job runs on the record and none holds it, all in a transaction",
    },
    "create-activity, six items": {
        "1 R": "the section is read, to check its company",
        "2 W": "the job that enrols the employees",
    },
    "join-activity": {
        "5 R": "the activity, the employee and the registration are read first; the activity and the employee are read again after the write",
        "2 W": "the ticket is taken before the registration is put under it, and the sign-up is ended after it",
    },
    "leave-activity": {
        "1 R": "the registration is read first",
        "2 W": "the job that gives the seat away",
    },
    "put-plan": {"1 R": "the plans are read first, because they must not overlap"},
    "put-employee": {"1 R": "the employee is read first, so that nothing is written without a change", "1 W": ONCE},
    "create-employee-import": {"1 R": "the list of the jobs that callers have started is read first"},
    "remove-employee": {
        "1 W": "the employee is deleted in a transaction",
        "2 W": "the job that ends the registrations",
    },
    "record-progress": {"2 R": "the registration is read first, and the rewards that it may earn"},
    "record-attendance": {"3 R": "the activity, the registration and the rewards that it may earn are read first"},
    "correct-points": {"2 R": "the plan and the employee must exist"},
    "move-activity": {"2 R": "the section is read, to check its company, and the activity"},
    "put-section": {"1 R": "the section is read first, because a new one gets 201"},
    "put-reference": {"1 R": "the last use of the record is read first, because the put keeps it", "1 W": ONCE},
    "update-reference, the request": {
        "2 R": "the references are counted with two queries per status: those that ended earlier today, and later ones",
        "5 W": "the job, and the condition that no other job runs, in a transaction",
    },
    "replace-reference, the request": {
        "3 R": "the references are counted with two queries per status (2), and the list of started jobs is read",
        "9 W": "a hold on the replacement, the list of started jobs, and two conditions that no other job runs, in a transaction",
    },
    "update-activity, the request": {
        "3 R": "the activity, and its references twice, are read first",
        "4 W": "the job that updates the registrations, and the job that enrols the employees",
    },
    "get-account": {"0.5 R": STRONG},
    "list-user-accounts": {"0.5 R": STRONG},
    "process-payment": {"2.5 R": "both accounts and the merchant are read first"},
    "process-batch, two": {"4.5 R": "all accounts, and the merchant once, are read first"},
    "create-hold": {"2 R": "both accounts are read first"},
    "capture-hold": {"3 R": "the hold and both accounts are read first"},
    "void-hold": {"2 R": "the hold and the payer's account are read first"},
    "get-balance, at": {"0.5 R": "the account is read with strong consistency, because its balance may be the answer"},
    "reverse-transaction": {
        "3.5 R": "the transaction, both accounts and the merchant are read first",
        "2 W": "the reversal marker",
        "1 I": "the marker in the list of reversals",
    },
    "update-account": {"1 R": "the account is read first"},
    "get-reconciliation": {"0.5 R": "the findings are read with strong consistency, so that none of a completed job is missing"},
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
