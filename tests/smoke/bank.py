"""Smoke test of the bank."""

from contract import body_of


def walk(stack):
    account = f"{stack.run}-account"
    payments = f"/bank/accounts/{account}/payments"
    new = body_of("schedule-payment")
    day = new["scheduledTime"][:10]
    first = stack.created("bank: schedule a payment", payments, new, "payment", {**new, "data": {"amount": "1.00"}})
    cancelled = body_of("update-payment-status")
    stack.undo("bank: cancel the first payment", "PATCH", f"{payments}/{first['paymentId']}", body=cancelled)
    second = stack.expect(201, "bank: schedule another payment", "POST", payments, body=new)
    one = f"{payments}/{second['paymentId']}"
    answer = stack.expect(200, "bank: get a payment", "GET", one)
    stack.check("bank: the payment is unchanged", answer.body == second.body, answer.body)
    ids = [first["paymentId"], second["paymentId"]]
    stack.paged("bank: list the account's payments", f"{payments}?from={day}T00:00:00Z&to={day}T23:59:59Z", "paymentId", ids)
    stack.expect(200, "bank: list the payments of a day", "GET", f"/bank/payments/due?date={day}&limit=1")
    faults = ["/body/scheduledTime", "/body/data", "/body/amount"]
    body = {"scheduledTime": "soon", "amount": "950.00"}
    stack.refused(400, "invalid-request", "bank: report all faults", "POST", payments, body=body, faults=faults)
    kind = "text/plain"
    stack.refused(415, "unsupported-media-type", "bank: reject a body that is not JSON", "POST", payments, body=new, kind=kind)
    none = one[:-8] + "00000000"
    stack.refused(404, "not-found", "bank: get an unknown payment", "GET", none)
    stack.expect(200, "bank: cancel a payment", "PATCH", one, body=cancelled)
    stack.refused(409, "status-conflict", "bank: reject a change of a cancelled payment", "PATCH", one, body={"status": "PENDING"})
    stack.expect(200, "bank: list the account's transactions", "GET", f"/bank/accounts/{account}/transactions")
    stack.expect(200, "bank: list the transactions of a day", "GET", f"/bank/transactions?date={day}&limit=1")
    stack.refused(404, "not-found", "bank: find an unknown transaction", "GET", f"/bank/transactions/{stack.run}")
    stack.stays.append(f"two cancelled payments of {account}")
