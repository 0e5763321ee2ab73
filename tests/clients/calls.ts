// Calls routes of all services with the generated TypeScript client. tsc --strict compiles this
// program.
import createClient from "openapi-fetch";
import type { components, paths } from "./contract";

const url = process.argv[2];
const client = createClient<paths>({ baseUrl: url });
// A client for requests that the types forbid. The service has to reject them.
const unchecked = createClient<any>({ baseUrl: url });

const ANN = "e4ceeb59-552e-8690-9301-f64e44907c84";
const SHOP = "93aa5931-6c71-8b50-bd99-8d691500e721";

/** Any error that the contract describes. Its members are readable without a check of its type. */
type Failure = { type?: string; detail?: string; errors?: components["schemas"]["Fault"][] };

let calls = 0;

function check(name: string, holds: boolean): void {
  if (!holds) throw new Error(name);
  calls += 1;
  console.log(`ok    ${name}`);
}

/** Returns the data of a response, or throws the problem. */
function dataOf<T>(answer: { data?: T; error?: Failure; response: Response }): T {
  if (answer.data === undefined) {
    throw new Error(`${answer.response.status}: ${answer.error?.detail ?? answer.error?.type}`);
  }
  return answer.data;
}

async function main(): Promise<void> {
  const accountId = "TypeScript1";
  const payment = dataOf(
    await client.POST("/bank/accounts/{accountId}/payments", {
      params: { path: { accountId } },
      body: { scheduledTime: "2030-12-01T09:30:00Z", data: { note: "rent" } },
    }),
  );
  check("schedule-payment creates a payment", payment.status === "SCHEDULED");

  const path = { accountId, paymentId: payment.paymentId };
  const read = dataOf(await client.GET("/bank/accounts/{accountId}/payments/{paymentId}", { params: { path } }));
  check("get-payment returns it", read.paymentId === payment.paymentId && read.createdAt === payment.createdAt);

  const invalid = await client.POST("/bank/accounts/{accountId}/payments", {
    params: { path: { accountId } },
    body: { scheduledTime: "2000-01-01T00:00:00Z", data: null },
  });
  const fault = invalid.error?.errors?.[0];
  check("schedule-payment lists the errors of a request", fault?.pointer === "/body/scheduledTime");

  const product = dataOf(
    await client.PUT("/cart/products/{sku}", {
      params: { path: { sku: "beans" } },
      body: { name: "Beans", price: "12.49", currency: "USD", active: true },
    }),
  );
  check("put-product creates a product", product.version >= 1);
  const item = dataOf(
    await client.POST("/cart/accounts/{accountId}/items", {
      params: { path: { accountId } },
      body: { sku: "beans", quantity: 2 },
    }),
  );
  check("add-cart-item adds a product", item.quantity === 2 && item.price === "12.49");
  const changed = dataOf(
    await client.PATCH("/cart/accounts/{accountId}/items/{itemId}", {
      params: { path: { accountId, itemId: item.itemId } },
      body: { quantity: 3 },
    }),
  );
  check("update-cart-item changes the quantity", changed.quantity === 3);

  const year = new Date().getUTCFullYear();
  const plan = dataOf(
    await client.GET("/wellness/companies/{companyId}/activities", {
      params: { path: { companyId: "123" }, query: { year } },
    }),
  );
  const names: string[] = plan.items.map((activity) => activity.name);
  check("list-activities takes the year as a number", names.includes("Walk 5000") && names.includes("Run 50"));
  const activity = plan.items.find((one) => one.type === "challenge");
  if (activity === undefined) throw new Error("there is no challenge");
  const parts = dataOf(
    await client.GET("/wellness/companies/{companyId}/activities/{activityId}", {
      params: { path: { companyId: "123", activityId: activity.activityId } },
    }),
  );
  const groups: number = parts.groups?.items.length ?? 0;
  check("get-activity returns an activity with its parts", parts.name === activity.name && groups > 0);

  const coffee: components["schemas"]["NewTransaction"] = {
    transactionType: "payment",
    debitAccountId: ANN,
    creditAccountId: SHOP,
    amount: "5.50",
    currency: "USD",
  };
  const before = dataOf(await client.GET("/ledger/accounts/{accountId}", { params: { path: { accountId: ANN } } }));
  const header = { "Idempotency-Key": "typescript-coffee" };
  const paid = dataOf(await client.POST("/ledger/transactions", { params: { header }, body: coffee }));
  const debit: components["schemas"]["Leg"] | undefined = paid.legs.find((leg) => leg.legType === "debit");
  check("process-payment pays a coffee and returns its legs", paid.legs.length === 2 && debit?.accountId === ANN);
  const after = dataOf(await client.GET("/ledger/accounts/{accountId}", { params: { path: { accountId: ANN } } }));
  check("get-account shows the debit", Math.round(Number(before.balance) * 100 - Number(after.balance) * 100) === 550);

  const refused = await client.POST("/ledger/transactions", {
    params: { header: { "Idempotency-Key": "typescript-house" } },
    body: { legs: [
      { accountId: ANN, legType: "debit", amount: "250000.00", currency: "USD" },
      { accountId: SHOP, legType: "credit", amount: "250000.00", currency: "USD" },
    ] },
  });
  check("process-payment refuses an overdraft", refused.error?.type === "/problems/insufficient-funds");

  const transaction = dataOf(
    await client.GET("/ledger/transactions/{transactionId}", {
      params: { path: { transactionId: paid.transactionId } },
    }),
  );
  check("get-transaction returns the legs", transaction.legs.every((leg) => leg.amount === "5.50"));

  const statement = dataOf(
    await client.GET("/ledger/accounts/{accountId}/statement", {
      params: { path: { accountId: ANN }, query: { limit: 1 } },
    }),
  );
  // The answer is a text only if the request asks for CSV.
  const newest = typeof statement === "string" ? undefined : statement.items[0];
  check("get-statement starts with the coffee", newest?.transactionId === paid.transactionId);

  const unknown = await unchecked.POST("/cart/accounts/Nobody/items", { body: { quantity: 1 } });
  const failure: Failure | undefined = unknown.error;
  check("add-cart-item names a missing field", failure?.errors?.[0]?.pointer === "/body/sku");
  console.log(`${calls} checks passed with the TypeScript client`);
}

main().catch((problem: unknown) => {
  console.error(problem);
  process.exit(1);
});
