"""Why a pattern costs more than the least: by its name, the units (R read, W written, I in indexes) and the reason."""

STRONG = "read as it is now: twice an eventual read"
ONCE = "in a transaction, so that a retry after a lost answer changes nothing twice"

REASONS = {
    "schedule-payment, with an Idempotency-Key": {"1 W": "the key's record"},
    "get-payment": {"1 R": STRONG},
    "update-payment-status to PROCESSED": {
        "2 R": "the payment is read first",
        "10 W": "a guard for the transaction id (1), and both in a transaction (9)",
    },
    "add-cart-item": {
        "2 R": "the cart and its lines are read first",
        "5 W": "the line's pointer and the cart's own item, all in a transaction",
    },
    "add-cart-item to a line": {"2 R": "the cart and its lines are read first", "1 W": ONCE},
    "update-cart-item, its quantity": {"2 R": "pointer and line are read first", "1 W": ONCE},
    "update-cart-item, its status": {"2 R": "pointer and line are read first", "2 W": "the line's pointer"},
    "get-cart-item": {"1.5 R": "the id's pointer (½), and both read as they are now"},
    "remove-cart-item": {
        "2 R": "pointer and line are read first",
        "5 W": "the line stays a week as REMOVED, for the export, and its pointer, all in a transaction",
    },
    "checkout-cart, one line": {
        "4 R": "the key's record, the cart, its lines, and the pointer of the one just removed are read first",
        "6 W": "the line's pointer, the check of the cart, and the key's record",
    },
    "create-template": {"1 W": ONCE},
    "create-activity, six items": {"1 R": "is the section the company's?"},
    "put-employee": {"1 R": "is read first: what is the same is not written"},
    "get-activity": {"0.5 R": STRONG},
    "move-activity": {"1 R": "is the section the company's?"},
    "update-reference, the request": {
        "1 R": "counts what uses it, a query a status",
        "5 W": "the job that goes through them, and a check that none is under way, in a transaction",
    },
    "replace-reference, the request": {
        "1 R": "counts what uses it, a query a status",
        "7 W": "a hold of the replacement, and two checks that none is under way, in a transaction",
    },
    "get-job": {"0.5 R": STRONG},
    "update-activity, the request": {
        "3 R": "the activity, and its references twice, are read first",
        "2 W": "the job that lets the registrations follow",
    },
    "get-merchant": {"0.5 R": STRONG},
    "get-account": {"0.5 R": STRONG},
    "list-user-accounts": {"0.5 R": STRONG},
    "process-payment": {"4 R": "the transaction, both accounts and the merchant are read first"},
    "get-transaction": {"0.5 R": STRONG},
    "get-statement, 100 legs": {"1 R": "whose account is it?"},
    "reverse-transaction": {
        "6 R": "both transactions, both accounts, the merchant and whether it is reversed are read first",
        "2 W": "what says that it is reversed",
    },
    "update-account": {"1 R": "the account is read first"},
    "get-reconciliation": {"1 R": STRONG},
}

# Seed 004's table: the operation, its units, the name here, which of R, W and I it counts, and why they differ.
SEED = [
    ("Get transaction by ID", (0.5, 1), "get-transaction", "R", ""),
    ("Get transaction + legs", (1, 3), "get-transaction", "R", ""),
    ("Query by status (100 items)", (5, 10), "list-transactions of a status, 100", "R", ""),
    ("Check idempotency", (0.5, 0.5), "list-transactions of a key", "R",
     "the header too, whose key alone is in the index"),
    ("Atomic payment (3 items)", (6, 6), "process-payment", "WI",
     "its own workflow writes five items, twice each in a transaction, and four index entries"),
    ("Account history (100 items)", (5, 10), "get-statement, 100 legs", "R", ""),
]
