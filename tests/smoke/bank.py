"""Scheduled payments."""

DAY = "2099-12-01"


def walk(stack):
    account = f"{stack.run}-account"
    payments = f"/bank/accounts/{account}/payments"
    new = {"scheduledTime": f"{DAY}T09:30:00Z", "data": {"amount": "950.00"}}
    first = stack.created("bank: a payment", payments, new, "payment", {**new, "data": {"amount": "1.00"}})
    cancelled = {"status": "CANCELLED"}
    stack.undo("bank: cancel the first payment", "PATCH", f"{payments}/{first['paymentId']}", body=cancelled)
    second = stack.expect(201, "bank: another payment", "POST", payments, body=new)
    one = f"{payments}/{second['paymentId']}"
    answer = stack.expect(200, "bank: one payment", "GET", one)
    stack.check("bank: it is what was scheduled", answer.body == second.body, answer.body)
    ids = [first["paymentId"], second["paymentId"]]
    stack.paged("bank: the account's payments", f"{payments}?from={DAY}T00:00:00Z&to={DAY}T23:59:59Z", "paymentId", ids)
    stack.expect(200, "bank: due on a day", "GET", f"/bank/payments/due?date={DAY}&limit=1")
    faults = ["/body/scheduledTime", "/body/data", "/body/amount"]
    body = {"scheduledTime": "soon", "amount": "950.00"}
    stack.refused(400, "invalid-request", "bank: all faults at once", "POST", payments, body=body, faults=faults)
    kind = "text/plain"
    stack.refused(415, "unsupported-media-type", "bank: no JSON", "POST", payments, body=new, kind=kind)
    none = one[:-8] + "00000000"
    stack.refused(404, "not-found", "bank: no such payment", "GET", none)
    stack.expect(200, "bank: cancel a payment", "PATCH", one, body=cancelled)
    stack.refused(409, "status-conflict", "bank: pay what is cancelled", "PATCH", one, body={"status": "PENDING"})
    stack.expect(200, "bank: the account's transactions", "GET", f"/bank/accounts/{account}/transactions")
    stack.expect(200, "bank: a day's transactions", "GET", f"/bank/transactions?date={DAY}&limit=1")
    stack.refused(404, "not-found", "bank: no such transaction", "GET", f"/bank/transactions/{stack.run}")
    stack.stays.append(f"two cancelled payments of {account}")
