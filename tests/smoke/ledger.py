"""The ledger. A reconciliation would go through all accounts of the stack, so none is started."""


def walk(stack):
    user, accounts, transactions = f"{stack.run}-user", "/ledger/accounts", "/ledger/transactions"
    merchant = {"name": "Smoke", "category": "Test"}
    made = stack.created("ledger: a merchant", "/ledger/merchants", merchant, "merchant", {**merchant, "name": "Other"})
    stack.expect(200, "ledger: the merchant", "GET", f"/ledger/merchants/{made['merchantId']}")
    terms = {"userId": user, "accountType": "checking", "currency": "USD"}
    outside = stack.expect(201, "ledger: where money comes from", "POST", accounts, key="outside",
                           body={**terms, "accountType": "external", "allowNegative": True})["accountId"]
    own = stack.created("ledger: an account", accounts, terms, "account", {**terms, "currency": "EUR"})["accountId"]
    account = f"{accounts}/{own}"
    stack.undo("ledger: close the account", "PATCH", account, body={"status": "closed"})
    stack.undo("ledger: close the other", "PATCH", f"{accounts}/{outside}", body={"status": "closed"})
    deposit = {"transactionType": "deposit", "debitAccountId": outside, "creditAccountId": own, "amount": "10.00",
               "currency": "USD"}
    posted = stack.created("ledger: a deposit", transactions, deposit, "deposit", {**deposit, "amount": "11.00"})
    one = f"{transactions}/{posted['transactionId']}"
    stack.undo("ledger: reverse the deposit", "POST", f"{one}/reversal", statuses=(201,), key="undo-deposit")
    stack.expect(200, "ledger: the transaction", "GET", one)
    balance = stack.expect(200, "ledger: the account", "GET", account)
    stack.check("ledger: it was paid once", balance["balance"] == "10.00", balance.body)
    payment = {**deposit, "transactionType": "payment", "debitAccountId": own, "creditAccountId": outside}
    much = {**payment, "amount": "10.01"}
    stack.refused(409, "insufficient-funds", "ledger: more than there is", "POST", transactions, key="much", body=much)
    spent = stack.expect(201, "ledger: a payment", "POST", transactions, key="payment",
                         body={**payment, "amount": 5.5})
    back = f"{transactions}/{spent['transactionId']}/reversal"
    stack.undo("ledger: reverse the payment", "POST", back, statuses=(201,), key="back")
    stack.refused(409, "balance-not-zero", "ledger: close what holds something", "PATCH", account,
                  body={"status": "closed"})
    stack.refused(412, "another-version", "ledger: a version of before", "PATCH", account,
                  body={"status": "frozen", "version": 0})
    stack.refused(400, "invalid-request", "ledger: no key", "POST", transactions, body=payment,
                  faults=["/header/idempotency-key"])
    stack.refused(404, "not-found", "ledger: no such transaction", "GET", f"{transactions}/{stack.run}")
    stack.paged("ledger: the user's accounts", f"/ledger/users/{user}/accounts", "accountId", [own, outside])
    legs = [leg["legId"] for answer in (posted, spent) for leg in answer["legs"] if leg["accountId"] == own]
    stack.paged("ledger: the statement", f"{account}/statement", "legId", legs)
    key = f"{stack.run}-deposit"
    stack.until("ledger: by its key", f"{transactions}?idempotencyKey={key}", lambda found: len(found["items"]) == 1)
    stack.expect(200, "ledger: by time", "GET", f"{transactions}?limit=1")
    reversal = stack.expect(201, "ledger: reverse the payment", "POST", back, key="back")
    stack.refused(409, "already-reversed", "ledger: reverse it twice", "POST", back, key="back-again")
    stack.check("ledger: what it reverses", reversal["reverses"] == spent["transactionId"], reversal.body)
    stack.refused(404, "not-found", "ledger: no such reconciliation", "GET", f"/ledger/reconciliations/{stack.run}")
    stack.refused(404, "not-found", "ledger: retry of no reconciliation", "POST",
                  f"/ledger/reconciliations/{stack.run}/retry")
    backwards = {"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}
    stack.refused(400, "invalid-request", "ledger: a time backwards", "POST", "/ledger/reconciliations", body=backwards,
                  faults=["/body/to"])
    stack.stays.append(f"of {user} two closed accounts, four transactions whose sum is 0, and a merchant")
