"""Why a call costs more than the minimum: for each call, the units (R read, W written, I in indexes) and the reason."""

STRONG = "strongly consistent: twice the cost"
ONCE = "in a transaction, so that a retry after a lost response has no second effect"

REASONS = {
    "schedule-payment, with an Idempotency-Key": {"1 W": "the idempotency record"},
    "get-payment": {"1 R": STRONG},
    "update-payment-status to PROCESSED": {
        "2 R": "the payment is read first",
        "10 W": "a guard item for the transaction id (1), and the transaction doubles both writes (9)",
    },
    "add-cart-item": {
        "2 R": "the cart and its items are read first",
        "5 W": "the item's pointer and the CART item, all in a transaction",
    },
    "add-cart-item to a line": {"2 R": "the cart and its items are read first", "1 W": ONCE},
    "update-cart-item, its quantity": {"2 R": "pointer and item are read first", "1 W": ONCE},
    "update-cart-item, its status": {"2 R": "pointer and item are read first", "2 W": "the item's pointer"},
    "get-cart-item": {"1.5 R": "the item's pointer (½), and both reads are strongly consistent"},
    "remove-cart-item": {
        "2 R": "pointer and item are read first",
        "5 W": "the item is kept for a week as REMOVED, for the export; its pointer; all in a transaction",
    },
    "checkout-cart, one line": {
        "4 R": "the idempotency record, the cart, its items, and the pointer of the removed item are read first",
        "6 W": "the item's pointer, the condition check of the cart, and the idempotency record",
    },
    "create-template": {"1 W": ONCE},
    "create-activity, six items": {"1 R": "checks that the section belongs to the company"},
    "put-employee": {"1 R": "the employee is read first; an unchanged one is not written"},
    "get-activity": {"0.5 R": STRONG},
    "move-activity": {"1 R": "checks that the section belongs to the company"},
    "update-reference, the request": {
        "1 R": "counts its uses with one query per status",
        "5 W": "the job, and the condition that no other job runs, in a transaction",
    },
    "replace-reference, the request": {
        "1 R": "counts its uses with one query per status",
        "7 W": "a hold on the replacement, and two conditions that no other job runs, in a transaction",
    },
    "get-job": {"0.5 R": STRONG},
    "update-activity, the request": {
        "3 R": "the activity, and its references twice, are read first",
        "2 W": "the job that updates the registrations",
    },
    "get-merchant": {"0.5 R": STRONG},
    "get-account": {"0.5 R": STRONG},
    "list-user-accounts": {"0.5 R": STRONG},
    "process-payment": {"4 R": "the transaction, both accounts and the merchant are read first"},
    "get-transaction": {"0.5 R": STRONG},
    "get-statement, 100 legs": {"1 R": "checks the owner of the account"},
    "reverse-transaction": {
        "6 R": "both transactions, both accounts, the merchant and the reversal marker are read first",
        "2 W": "the reversal marker",
    },
    "update-account": {"1 R": "the account is read first"},
    "get-reconciliation": {"1 R": STRONG},
}

# The table in docs/requirements/ledger.md: operation, required units, our call, the units that
# count (R, W, I), reason.
REQUIRED = [
    ("Get transaction by ID", (0.5, 1), "get-transaction", "R", ""),
    ("Get transaction + legs", (1, 3), "get-transaction", "R", ""),
    ("Query by status (100 items)", (5, 10), "list-transactions of a status, 100", "R", ""),
    ("Check idempotency", (0.5, 0.5), "list-transactions of a key", "R",
     "the header is read as well; the index has only its key"),
    ("Atomic payment (3 items)", (6, 6), "process-payment", "WI",
     "the required workflow writes five items, doubled by the transaction, and four index entries"),
    ("Account history (100 items)", (5, 10), "get-statement, 100 legs", "R", ""),
]
