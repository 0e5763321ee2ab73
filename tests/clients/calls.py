"""Calls routes of all services with the generated Python client.

Usage: calls.py <URL>. The generated package `contract` must be in PYTHONPATH.
"""

import datetime
import decimal
import sys

from contract import Client
from contract.api.bank import get_payment, schedule_payment
from contract.api.cart import add_cart_item, put_product, update_cart_item
from contract.api.ledger import get_account, get_statement, get_transaction, process_payment
from contract.api.wellness import get_activity, list_activities
from contract.models import (
    ActivityType,
    AddCartItem,
    CartItem,
    GetPayment404Problem,
    InvalidRequestProblem,
    LegType,
    NewLeg,
    NewTransaction,
    Payment,
    PaymentStatus,
    ProcessPayment409Problem,
    ProcessPayment409ProblemType,
    Product,
    PutProduct,
    SchedulePayment,
    Transaction,
    UpdateCartItem,
)
from contract.types import UNSET

ANN = "e4ceeb59-552e-8690-9301-f64e44907c84"
SHOP = "93aa5931-6c71-8b50-bd99-8d691500e721"
ACCOUNT = "Python1"


def check(name, holds):
    if not holds:
        sys.exit(f"FAILED {name}")
    print(f"ok    {name}")


def leg(account, kind):
    return NewLeg(account_id=account, leg_type=kind, amount="250000.00", currency="USD")


def balance(client):
    return decimal.Decimal(get_account.sync(ANN, client=client).balance)


def call_bank(client):
    at = datetime.datetime(2030, 12, 1, 9, 30, tzinfo=datetime.UTC)
    body = SchedulePayment(scheduled_time=at, data={"note": "rent"})
    payment = schedule_payment.sync(ACCOUNT, client=client, body=body)
    created = isinstance(payment, Payment) and payment.status == PaymentStatus.SCHEDULED
    check("schedule-payment creates a payment", created)
    read = get_payment.sync(ACCOUNT, payment.payment_id, client=client)
    check("get-payment returns it", read == payment)
    missing = get_payment.sync("Nobody", payment.payment_id, client=client)
    check("get-payment finds no payment of another account", isinstance(missing, GetPayment404Problem) and missing.moved_to is UNSET)
    body = SchedulePayment(scheduled_time=at.replace(year=2000), data=None)
    invalid = schedule_payment.sync(ACCOUNT, client=client, body=body)
    listed = isinstance(invalid, InvalidRequestProblem) and invalid.errors[0].pointer == "/body/scheduledTime"
    check("schedule-payment lists the errors of a request", listed)


def call_cart(client):
    product = put_product.sync("beans", client=client, body=PutProduct(name="Beans", price="12.49", currency="USD"))
    check("put-product creates a product", isinstance(product, Product) and product.version == 1)
    body = AddCartItem(sku="beans", quantity=2)
    item = add_cart_item.sync(ACCOUNT, client=client, body=body)
    check("add-cart-item adds a product", isinstance(item, CartItem) and item.price == "12.49")
    changed = update_cart_item.sync(ACCOUNT, item.item_id, client=client, body=UpdateCartItem(quantity=3))
    check("update-cart-item changes the quantity", changed.quantity == 3)


def call_wellness(client):
    plan = list_activities.sync("123", client=client, year=datetime.datetime.now(datetime.UTC).year)
    names = {one.name for one in plan.items}
    check("list-activities takes the year as a number", {"Walk 5000", "Run 50"} <= names)
    activity = next(one for one in plan.items if one.type_ == ActivityType.CHALLENGE)
    parts = get_activity.sync("123", activity.activity_id, client=client)
    complete = parts.name == activity.name and len(parts.groups.items) > 0
    check("get-activity returns an activity with its parts", complete)


def call_ledger(client):
    before = balance(client)
    coffee = NewTransaction(
        transaction_type="payment", debit_account_id=ANN, credit_account_id=SHOP, amount="5.50", currency="USD"
    )
    paid = process_payment.sync(client=client, body=coffee, idempotency_key="python-coffee")
    has_legs = isinstance(paid, Transaction) and {part.leg_type for part in paid.legs} == set(LegType)
    check("process-payment pays a coffee and returns its legs", has_legs)
    check("get-account shows the debit", before - balance(client) == decimal.Decimal("5.50"))
    read = get_transaction.sync(paid.transaction_id, client=client)
    check("get-transaction returns the legs", [part.amount for part in read.legs] == ["5.50", "5.50"])
    statement = get_statement.sync(ANN, client=client, limit=1)
    check("get-statement starts with the coffee", statement.items[0].transaction_id == paid.transaction_id)
    house = NewTransaction(legs=[leg(ANN, LegType.DEBIT), leg(SHOP, LegType.CREDIT)])
    refused = process_payment.sync(client=client, body=house, idempotency_key="python-house")
    overdraft = isinstance(refused, ProcessPayment409Problem) and refused.type_ == ProcessPayment409ProblemType.INSUFFICIENT_FUNDS
    check("process-payment refuses an overdraft", overdraft)


def main(url):
    with Client(base_url=url) as client:
        call_bank(client)
        call_cart(client)
        call_wellness(client)
        call_ledger(client)


main(*sys.argv[1:])
