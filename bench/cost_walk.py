"""Calls the archive, the daily reconciliation, and every access pattern that has a route.

Stream functions and job retries are left out. Tests check their cost."""

import datetime

PAYMENT = {"scheduledTime": "2099-12-01T09:30:00Z", "data": {"memo": "x" * 7_000}}
BANK, CART = "/bank/accounts/Erin/payments", "/cart/accounts/Erin/items"
COMPANY, YEAR = "/wellness/companies/123", datetime.datetime.now(datetime.UTC).year
OF_COMPANY = "companyId=123"


def walk(step):
    """Calls `step` for each request. `step` sends the request and returns the response.

    A request without a name is not measured. These arguments of `step` define the minimum:

    - `types`: the types of the items that the pattern must write
    - `under`: the prefix of the sort keys of these items
    - `items`: the types of the items that the pattern must get by key, each with parts of its key
    - `empty`: the number of queries that the pattern must make but that find nothing, or that are
      in the same row of the consumed units as another query
    - `reads`: whether the pattern reads a range
    - `fetched`: whether the pattern also gets the items of the range from the table by key
    """
    bank(step)
    cart(step)
    wellness(step)
    ledger(step)


def bank(step):
    payment = step("B1", "schedule-payment", "POST", BANK, PAYMENT, types="Payment")
    path = f"{BANK}/{payment['paymentId']}"
    step("B1", "schedule-payment, with an Idempotency-Key", "POST", BANK, PAYMENT, types="Payment", key="cost-1")
    step("B2", "list-account-payments", "GET", f"{BANK}?from=2099-12-01T00:00:00Z&to=2099-12-02T00:00:00Z")
    step("B3", "list-due-payments", "GET", "/bank/payments/due?date=2099-12-01")
    step("B9", "get-payment", "GET", path, items=[("Payment", payment["paymentId"])])
    step("B4", "update-payment-status, its data", "PATCH", path, {"data": {"memo": "y" * 7_000}}, types="Payment")
    step("B4", "update-payment-status", "PATCH", path, {"status": "PENDING"}, types="Payment")
    paid = {"status": "PROCESSED", "transactionId": "cost-1"}
    step("B4", "update-payment-status to PROCESSED", "PATCH", path, paid, types="Payment")
    archive = "/_local/functions/archive-settled-payments/invocations"
    # The archive also moves a payment of less than 1 KB.
    small = step("B1", None, "POST", BANK, {**PAYMENT, "data": {"amount": "1.00"}})
    for status in ({"status": "PENDING"}, {"status": "PROCESSED", "transactionId": "cost-2"}):
        step("B4", None, "PATCH", f"{BANK}/{small['paymentId']}", status)
    step("B5", "archive-settled-payments, two", "POST", archive, {"date": "2099-12-01"},
         types="Payment Transaction", reads=True, empty=10,
         items=[("Payment", payment["paymentId"]), ("Payment", small["paymentId"])])
    step("B18", "set-dispatching", "PUT", "/bank/dispatching", {"enabled": True}, types="DispatchSwitch")
    switch = ("DispatchSwitch", "DISPATCHING")
    step("B18", "get-dispatching", "GET", "/bank/dispatching", items=[switch])
    step("B10", "dispatch-due-payments", "POST", "/_local/schedules/dispatch-due-payments", reads=True, empty=5,
         items=[switch])
    job = step("B10", "start-dispatch", "POST", "/bank/dispatches", types="Job", key="cost-dispatch")["jobId"]
    step("B19", "get-bank-job", "GET", f"/bank/jobs/{job}", items=[("Job", job)])
    created = {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": "local-inbox"},
        "object": {"key": "inbox/cost.jsonl", "size": 1, "eTag": "cost", "sequencer": "01"}}}
    event = {"Records": [created]}
    step("B12", "import-payments", "POST", "/_local/functions/import-payments/invocations", event, types="Job",
         under="RUN#")
    step("B13", "get-import", "GET", "/bank/imports/cost")
    step("B13", "list-imports", "GET", "/bank/imports")
    standing = "/bank/accounts/Erin/standing-orders/rent"
    rent = {"schedule": "monthly", "day": "last", "time": "09:30", "firstDate": "2099-12-01", "data": {"memo": "Rent"}}
    step("B20", "put-standing-order", "PUT", standing, rent, types="StandingOrder Job")
    step("B20", "remove-standing-order", "DELETE", standing, types="StandingOrder Job")
    step("B6", "list-account-transactions", "GET", "/bank/accounts/Erin/transactions")
    step("B7", "list-transactions-by-date", "GET", "/bank/transactions?date=2099-12-01")
    step("B8", "find-transaction", "GET", "/bank/transactions/cost-1")
    step("B16", "list-overdue-payments", "GET", "/bank/payments/overdue", empty=5)
    failed = step("B1", None, "POST", BANK, PAYMENT, types="Payment")
    for status in ["PENDING", "FAILED"]:
        step("B4", None, "PATCH", f"{BANK}/{failed['paymentId']}", {"status": status}, types="Payment")
    step("B17", "retry-payment", "POST", f"{BANK}/{failed['paymentId']}/retry", types="Payment",
         items=[("Payment", failed["paymentId"])])
    step("B15", "get-day, not closed", "GET", "/bank/days/2099-12-01", empty=30)
    step("B14", "start-close", "POST", "/bank/days/2020-01-01/close", types="Job")
    step("B14", "close-day", "POST", "/_local/functions/close-day/invocations", {"date": "2020-01-02"}, types="Job")


def cart(step):
    product = {"name": "Shoes", "price": "89.90", "currency": "USD"}
    step("C9", "put-product", "PUT", "/cart/products/shoes-42", product, types="Product")
    step("C9", None, "PUT", "/cart/products/socks-42", {**product, "name": "Socks"}, types="Product")
    step("C10", "get-product", "GET", "/cart/products/shoes-42", items=[("Product", "shoes-42")])
    step("C10", "list-products", "GET", "/cart/products")
    shoes = {"sku": "shoes-42", "quantity": 1}
    socks = {"sku": "socks-42", "quantity": 2}
    line = step("C1", "add-cart-item", "POST", CART, shoes, types="CartItem")["itemId"]
    other = step("C1", None, "POST", CART, socks, types="CartItem")["itemId"]
    more = {"sku": "shoes-42", "quantity": 1}
    step("C1", "add-cart-item, product in the cart", "POST", CART, more, types="CartItem")
    step("C2", "update-cart-item, its quantity", "PATCH", f"{CART}/{line}", {"quantity": 3}, types="CartItem")
    step("C2", "update-cart-item, its status", "PATCH", f"{CART}/{line}", {"status": "SAVED"}, types="CartItem")
    step("C2", None, "PATCH", f"{CART}/{line}", {"status": "ACTIVE"}, types="CartItem")
    step("C5", "list-cart-items", "GET", CART)
    step("C8", "get-cart-item", "GET", f"{CART}/{line}", items=[("CartItem", line)])
    step("C3", "remove-cart-item", "DELETE", f"{CART}/{other}", types="CartItem", under="ACTIVE#")
    order = step("C4", "checkout-cart, one item", "POST", "/cart/accounts/Erin/checkout", types="CartItem Order OrderLines",
                 key="cost-order")["orderId"]
    step("C6", "list-sku-items", "GET", "/cart/skus/shoes-42/items?status=PURCHASED")
    path = f"/cart/accounts/Erin/orders/{order}"
    step("C11", "list-orders", "GET", "/cart/accounts/Erin/orders")
    step("C11", "get-order", "GET", path, items=[("Order", order), ("OrderLines", order)])
    step("C15", "list-orders-by-status", "GET", "/cart/orders", empty=3)
    step("C12", "update-order, to SHIPPED", "PATCH", path, {"status": "SHIPPED"}, types="CartItem Order")
    step("C12", "update-order, to DELIVERED", "PATCH", path, {"status": "DELIVERED"}, types="Order")
    for number in range(33):
        step("C9", None, "PUT", f"/cart/products/book-{number}", {**product, "name": "Book"}, types="Product")
        step("C1", None, "POST", CART, {"sku": f"book-{number}"}, types="CartItem")
        if number == 9:
            step("C5", "list-cart-items, ten items", "GET", CART)
    many = step("C4", "checkout-cart, 33 items", "POST", "/cart/accounts/Erin/checkout", types="Order OrderLines Job")["orderId"]
    step("C1", None, "POST", "/cart/accounts/guest/items", socks, types="CartItem")
    step("C13", "merge-carts, one item", "POST", "/cart/accounts/Erin/merge", {"fromAccountId": "guest"}, types="CartItem")
    job = f"{many}-PURCHASED"
    step("C14", "get-cart-job", "GET", f"/cart/jobs/{job}", items=[("Job", job)])


def wellness(step):
    section = {"name": "Summer", "startDate": f"{YEAR}-06-01", "endDate": f"{YEAR}-12-31T23:59:59"}
    step("W14", "put-section", "PUT", f"{COMPANY}/sections/summer", section, types="Section")
    plan = {"name": "Programme", "startDate": f"{YEAR}-01-01", "endDate": f"{YEAR}-12-31"}
    step("W19", "put-plan", "PUT", f"{COMPANY}/plans/{YEAR}", plan, types="Plans")
    plans = ("Plans", "CompanyId-123")
    step("W19", "get-plan", "GET", f"{COMPANY}/plans/{YEAR}", items=[plans])
    step("W19", "list-plans", "GET", f"{COMPANY}/plans", items=[plans])
    tracker = {"name": "Step counter", "data": {"unit": "steps"}}
    step("W15", "put-reference", "PUT", f"{COMPANY}/references/trackers/steps", tracker, types="ReferenceRecord")
    template = {"name": "Stairs", "type": "challenge", "subType": "Fitness"}
    step("W13", "create-template", "POST", f"{COMPANY}/templates", template, types="Template")
    step("W13", "list-templates", "GET", "/wellness/templates")
    own = step("W13", None, "POST", f"{COMPANY}/templates", template, types="Template")["templateId"]
    step("W32", "get-template", "GET", f"{COMPANY}/templates/{own}", items=[("Template", own)])
    step("W32", "update-template", "PATCH", f"{COMPANY}/templates/{own}", {"name": "Steps"}, types="Template")
    step("W32", "remove-template", "DELETE", f"{COMPANY}/templates/{own}", types="Template")
    step("W32", "load-templates", "POST", "/_local/schedules/load-templates", items=[("TemplateSet",)])
    walk = {
        "name": "Stairs in summer", "type": "challenge", "subType": "Fitness", "sectionId": "summer",
        "startDate": f"{YEAR}-06-01", "endDate": f"{YEAR}-12-31T23:59:59", "filters": {"roles": ["EmployeeOnPlan"]},
        "goal": {"type": "steps", "parameters": {"target": 1000}},
        "groups": {"type": "team", "rules": {"most": 10}, "items": [{"name": "Red"}, {"name": "Blue"}]},
        "references": [{"facet": "trackers", "id": "steps", "data": {"unit": "steps"}}],
    }
    parts = "Activity Detail Goal Reward Groups Group Reference"
    activity = step("W1", "create-activity, six items", "POST", f"{COMPANY}/activities", walk, types=parts)
    path = f"{COMPANY}/activities/{activity['activityId']}"
    step("W2", "list-activities", "GET", f"{COMPANY}/activities?year={YEAR}")
    step("W3", "list-activity-options", "GET",
         f"{COMPANY}/activity-options?role=EmployeeOnPlan&year={YEAR}")
    employee = {"role": "EmployeeOnPlan", "department": "Sales", "name": "Erin"}
    step("W10", "put-employee", "PUT", f"{COMPANY}/employees/erin", employee, types="Employee")
    step("W4", "list-registrations", "GET",
         f"/wellness/users/erin/registrations?{OF_COMPANY}&year={YEAR}")
    registration = f"/wellness/users/erin/registrations/{activity['activityId']}?{OF_COMPANY}"
    step("W12", "record-progress", "PATCH", registration, {"progress": 40.4}, types="Registration")
    joined = step("W22", None, "GET", f"{path}/participants")["items"]
    step("W22", "list-participants", "GET", f"{path}/participants",
         items=[("Employee", "CompanyId-123#", f"UserId-{registered['userId']} ") for registered in joined])
    step("W26", "record-attendance", "POST", f"{path}/attendance", {"userIds": ["erin"]}, types="Registration")
    points = f"/wellness/users/erin/points?{OF_COMPANY}"
    correction = {"planId": str(YEAR), "amount": 5, "reason": "Helped"}
    step("W25", "correct-points", "POST", points, correction, types="Correction")
    step("W25", "get-points", "GET", f"{points}&year={YEAR}")
    step("W33", "start-report", "POST", f"{COMPANY}/plans/{YEAR}/report", types="Job")
    step("W33", "get-report", "GET", f"{COMPANY}/plans/{YEAR}/report")
    event = {"name": "Blood drive", "type": "event", "subType": "Health", "capacity": 10,
             "startDate": f"{YEAR}-06-01", "endDate": f"{YEAR}-12-31T23:59:59"}
    drive = step("W1", None, "POST", f"{COMPANY}/activities", event, types="Activity")["activityId"]
    seat = f"/wellness/users/erin/registrations/{drive}?{OF_COMPANY}"
    # The first sign-up also creates the counter of the tickets.
    step("W21", None, "PUT", seat)
    step("W21", None, "DELETE", seat)
    step("W21", "join-activity", "PUT", seat, types="Registration Ticket")
    step("W21", "leave-activity", "DELETE", seat, types="Registration Ticket")
    guide = {"name": "Guide", "contentType": "application/pdf", "bytes": 9, "sha256": "0" * 64}
    imports = f"{COMPANY}/employee-imports"
    table = {"bytes": 9, "sha256": "0" * 64}
    made = step("W35", "create-employee-import", "POST", imports, table, types="Upload")["importId"]
    step("W35", "get-employee-import", "GET", f"{imports}/{made}", items=[("Upload", made)], empty=1)
    step("W31", "create-file", "POST", f"{COMPANY}/files", guide, types="Upload")
    step("W23", "get-employee", "GET", f"{COMPANY}/employees/erin", items=[("Employee", "erin")])
    step("W23", "list-employees", "GET", f"{COMPANY}/employees", empty=9)
    step("W10", None, "PUT", f"{COMPANY}/employees/frank", employee, types="Employee")
    step("W23", "remove-employee", "DELETE", f"{COMPANY}/employees/frank", types="Employee")
    step("W5", "get-activity", "GET", path)
    # The section of the sample.
    step("W6", "move-activity", "PUT", f"{path}/section", {"sectionId": "7"}, types="Activity")
    based = activity["version"]
    other = {"version": based, "type": "steps", "parameters": {"target": 2000}}
    step("W28", "update-part", "PUT", f"{path}/goal", other, types="Goal Activity")
    step("W28", "remove-part", "DELETE", f"{path}/groups?version={based + 1}", types="Groups Group Activity")
    course = {"name": "Healthy feet", "data": {"minutes": 20}}
    record = f"{COMPANY}/references/courses/feet"
    step("W15", None, "PUT", record, course, types="ReferenceRecord")
    step("W30", "get-reference", "GET", record, items=[("ReferenceRecord", "feet")])
    step("W30", "list-references-of-facet", "GET", f"{COMPANY}/references/courses")
    step("W29", "add-reference", "PUT", f"{path}/references/courses/feet", types="Reference Activity ReferenceRecord")
    step("W29", "remove-reference", "DELETE", f"{path}/references/courses/feet", types="Reference Activity")
    step("W30", "remove-reference-record", "DELETE", record, types="ReferenceRecord")
    step("W7", "list-references", "GET", f"{COMPANY}/references/trackers/steps/activities")
    data = {"data": {"unit": "kilometres"}}
    step("W9", "update-reference, the request", "PATCH", f"{COMPANY}/references/trackers/steps", data,
         types="ReferenceRecord")
    other = {"replacementId": "miles", "data": {"unit": "miles"}}
    step("W8", "replace-reference, the request", "POST", f"{COMPANY}/references/trackers/steps/replacement", other,
         types="Job")
    step("W17", "get-job", "GET", f"{COMPANY}/jobs/TrackerId-steps", items=[("Job", "TrackerId-steps")])
    longer = {"version": based + 4, "endDate": f"{YEAR + 1}-02-28T23:59:59"}
    step("W16", "update-activity, the request", "PATCH", path, longer, types="Activity Reference")
    # An employee who is registered for 50 activities.
    many = "/wellness/companies/fifty"
    step("W14", None, "PUT", f"{many}/sections/summer", section)
    step("W19", None, "PUT", f"{many}/plans/{YEAR}", plan)
    for number in range(50):
        step("W1", None, "POST", f"{many}/activities", {**template, "name": f"Stairs {number}", "sectionId": "summer",
             "startDate": section["startDate"], "endDate": section["endDate"], "filters": walk["filters"]})
    step("W10", None, "PUT", f"{many}/employees/grace", employee)
    step("W4", "list-registrations, 50", "GET", f"/wellness/users/grace/registrations?companyId=fifty&year={YEAR}&limit=50")


def ledger(step):
    merchant = {"name": "Bakery Ltd", "category": "Restaurant"}
    bakery = step("L1", "create-merchant", "POST", "/ledger/merchants", merchant, types="Merchant")["merchantId"]
    step("L1", "list-merchants", "GET", "/ledger/merchants")
    step("L1", "get-merchant", "GET", f"/ledger/merchants/{bakery}", items=[("Merchant", bakery)])
    terms = {"userId": "erin", "accountType": "checking", "currency": "USD", "allowNegative": True}
    erin = step("L2", "create-account", "POST", "/ledger/accounts", terms, types="Account")["accountId"]
    shop = step("L2", None, "POST", "/ledger/accounts", {**terms, "userId": "shop"}, types="Account")["accountId"]
    step("L2", "get-account", "GET", f"/ledger/accounts/{erin}", items=[("Account", erin)])
    step("L2", "list-user-accounts", "GET", "/ledger/users/erin/accounts")
    bread = {"transactionType": "payment", "debitAccountId": erin, "creditAccountId": shop, "amount": "5.50",
             "currency": "USD", "merchantId": bakery}
    posted, all_of_it = "Transaction TransactionLeg", "Transaction TransactionLeg Account"
    payment = step("L3", "process-payment", "POST", "/ledger/transactions", bread, types=all_of_it, key="bread-0")
    path = f"/ledger/transactions/{payment['transactionId']}"
    for number in range(1, 100):
        step("L3", None, "POST", "/ledger/transactions", bread, types=all_of_it, key=f"bread-{number}")
    tea = {**bread, "creditAccountId": step("L2", None, "POST", "/ledger/accounts", {**terms, "userId": "tea"})["accountId"]}
    frank = step("L2", None, "POST", "/ledger/accounts", {**terms, "userId": "frank"})["accountId"]
    pair = [{**bread, "idempotencyKey": "pair-0"}, {**tea, "debitAccountId": frank, "idempotencyKey": "pair-1"}]
    step("L12", "process-batch, two", "POST", "/ledger/transactions/batch", {"transactions": pair}, types=all_of_it)
    step("L4", "get-transaction", "GET", path)
    step("L5", "list-transactions of a status, 100", "GET", "/ledger/transactions?limit=100", fetched=False,
         empty=1)
    step("L5", "list-transactions", "GET", "/ledger/transactions?status=completed&since=2025-11-01T00:00:00Z"
         "&until=2025-11-08T23:59:59Z", fetched=False, empty=1)
    step("L5", "list-transactions of a key", "GET", "/ledger/transactions?idempotencyKey=bread-0")
    referred = step("L3", "process-payment, reference", "POST", "/ledger/transactions", {**bread, "reference": "order-1"},
                    types=f"{all_of_it} ReferenceGuard", key="bread-order")["transactionId"]
    step("L5", "list-transactions of a reference", "GET", "/ledger/transactions?reference=order-1",
         items=[("Transaction", referred)])
    step("L7", "get-statement, 100 legs", "GET", f"/ledger/accounts/{erin}/statement", fetched=False,
         items=[("Account", erin)])
    step("L13", "get-balance, at", "GET", f"/ledger/accounts/{erin}/balance?at=2026-11-01T00:00:00Z", fetched=False,
         items=[("Account", erin)])
    terms = {"debitAccountId": erin, "creditAccountId": shop, "amount": "5.50", "currency": "USD"}
    hold = step("L10", "create-hold", "POST", "/ledger/holds", terms, types="Hold Account", key="hold-0")
    held = f"/ledger/holds/{hold['holdId']}"
    step("L10", "get-hold", "GET", held, items=[("Hold", hold["holdId"])])
    step("L10", "list-account-holds", "GET", f"/ledger/accounts/{erin}/holds", fetched=False, items=[("Account", erin)])
    step("L10", "capture-hold", "POST", f"{held}/capture", {"amount": "2.00"}, types=f"{all_of_it} Hold", key="capture-0")
    step("L10", "void-hold", "POST", f"{held}/void", types="Hold Account")
    step("L6", "reverse-transaction", "POST", f"{path}/reversal", types=all_of_it)
    today = datetime.datetime.now(datetime.UTC).date()
    step("L15", "get-totals", "GET", f"/ledger/merchants/{bakery}/totals?from={today}&to={today}", empty=3,
         items=[("Merchant", bakery)])
    step("L15", "get-trial-balance", "GET", f"/ledger/trial-balance?date={today}", empty=3)
    step("L9", "update-account", "PATCH", f"/ledger/accounts/{shop}", {"status": "frozen"}, types="Account")
    window = {"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}
    books = step("L8", "start-reconciliation", "POST", "/ledger/reconciliations", window, types="Job", under="METADATA")
    step("L8", "get-reconciliation", "GET", f"/ledger/reconciliations/{books['reconciliationId']}",
         items=[("Job", books["reconciliationId"])])
    step("L8", "list-reconciliations", "GET", "/ledger/reconciliations")
    daily = "/_local/functions/start-daily-reconciliation/invocations"
    step("L8", "start-daily-reconciliation", "POST", daily, {"day": "2026-11-01"}, types="Job", under="METADATA")
