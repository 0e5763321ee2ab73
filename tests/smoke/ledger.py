"""Smoke test of the ledger. It starts no reconciliation, because that reads all accounts of the stack."""

from contract import body_of


def walk(stack):
    user, accounts, transactions = f"{stack.run}-user", "/ledger/accounts", "/ledger/transactions"
    merchant = body_of("create-merchant")
    made = stack.created("ledger: create a merchant", "/ledger/merchants", merchant, "merchant", {**merchant, "name": "Other"})
    stack.expect(200, "ledger: get the merchant", "GET", f"/ledger/merchants/{made['merchantId']}")
    terms = {**body_of("create-account"), "userId": user}
    outside = stack.expect(201, "ledger: create an external account", "POST", accounts, key="outside",
                           body={**terms, "accountType": "external", "allowNegative": True})["accountId"]
    own = stack.created("ledger: create an account", accounts, terms, "account", {**terms, "currency": "EUR"})["accountId"]
    account = f"{accounts}/{own}"
    stack.undo("ledger: close the account", "PATCH", account, body={"status": "closed"})
    stack.undo("ledger: close the external account", "PATCH", f"{accounts}/{outside}", body={"status": "closed"})
    deposit = {**body_of("process-payment"), "debitAccountId": outside, "creditAccountId": own, "amount": "10.00"}
    posted = stack.created("ledger: post a deposit", transactions, deposit, "deposit", {**deposit, "amount": "11.00"})
    one = f"{transactions}/{posted['transactionId']}"
    stack.undo("ledger: reverse the deposit", "POST", f"{one}/reversal", statuses=(201,), key="undo-deposit")
    stack.expect(200, "ledger: get the transaction", "GET", one)
    balance = stack.expect(200, "ledger: get the account", "GET", account)
    stack.check("ledger: the deposit was posted once", balance["balance"] == "10.00", balance.body)
    payment = {**deposit, "transactionType": "payment", "debitAccountId": own, "creditAccountId": outside}
    much = {**payment, "amount": "10.01"}
    stack.refused(409, "insufficient-funds", "ledger: reject an overdraft", "POST", transactions, key="much", body=much)
    spent = stack.expect(201, "ledger: post a payment", "POST", transactions, key="payment",
                         body={**payment, "amount": 5.5})
    back = f"{transactions}/{spent['transactionId']}/reversal"
    stack.undo("ledger: reverse the payment", "POST", back, statuses=(201,), key="back")
    stack.refused(409, "balance-not-zero", "ledger: reject closing an account with a balance", "PATCH", account,
                  body={"status": "closed"})
    stack.refused(412, "another-version", "ledger: reject an old version", "PATCH", account,
                  body={"status": "frozen", "version": 0})
    stack.refused(400, "invalid-request", "ledger: reject a payment without a key", "POST", transactions, body=payment,
                  faults=["/header/idempotency-key"])
    stack.refused(404, "not-found", "ledger: get an unknown transaction", "GET", f"{transactions}/{stack.run}")
    stack.paged("ledger: list the user's accounts", f"/ledger/users/{user}/accounts", "accountId", [own, outside])
    legs = [leg["legId"] for answer in (posted, spent) for leg in answer["legs"] if leg["accountId"] == own]
    stack.paged("ledger: list the statement", f"{account}/statement", "legId", legs)
    key = f"{stack.run}-deposit"
    stack.until("ledger: find the transaction by its key", f"{transactions}?idempotencyKey={key}", lambda found: len(found["items"]) == 1)
    stack.expect(200, "ledger: list transactions by time", "GET", f"{transactions}?limit=1")
    reversal = stack.expect(201, "ledger: reverse the payment", "POST", back, key="back")
    stack.refused(409, "already-reversed", "ledger: reject a second reversal", "POST", back, key="back-again")
    stack.check("ledger: the reversal names the payment", reversal["reverses"] == spent["transactionId"], reversal.body)
    stack.refused(404, "not-found", "ledger: get an unknown reconciliation", "GET", f"/ledger/reconciliations/{stack.run}")
    stack.refused(404, "not-found", "ledger: retry an unknown reconciliation", "POST",
                  f"/ledger/reconciliations/{stack.run}/retry")
    backwards = {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}
    stack.refused(400, "invalid-request", "ledger: reject a reversed range", "POST", "/ledger/reconciliations", body=backwards,
                  faults=["/body/to"])
    stack.stays.append(f"two closed accounts of {user}, four transactions with the sum 0, and a merchant")
