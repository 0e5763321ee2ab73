// crates/bank/src/patterns/schedule_payment.rs in JavaScript. Makes the same DynamoDB requests and
// returns the same responses.
import { createHash, randomInt } from "node:crypto";
import { Agent } from "node:https";
import {
  DynamoDBClient, GetItemCommand, PutItemCommand, TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import { NodeHttpHandler } from "@smithy/node-http-handler";
import { forbidden, invalid, keyReused, problem, tooLarge, unsupportedMediaType } from "./problems.js";
import { identifierFault, parseSecond, second, uuid7 } from "./values.js";

const { PAYMENTS_TABLE, TRANSACTIONS_TABLE, WRITE_SHARDS, AWS_LAMBDA_FUNCTION_NAME } = process.env;
const MOST_BYTES = 8 * 1024;
const LATER_BYTES = "TransactionId".length + 4 * 128 + "MovedBy".length + 32;
const MOST_BODY = 64 * 1024;

// Lambda's credentials do not change within a process, so no provider chain is needed.
const credentials = {
  accessKeyId: process.env.AWS_ACCESS_KEY_ID,
  secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  sessionToken: process.env.AWS_SESSION_TOKEN,
};
const client = new DynamoDBClient({
  credentials,
  maxAttempts: 5,
  requestHandler: new NodeHttpHandler({
    connectionTimeout: 1000,
    requestTimeout: 2000,
    httpsAgent: new Agent({ keepAlive: true }),
  }),
});

let cold = true;

// Opens the connection before the first event. No item has this key.
export async function warmUp() {
  await get(PAYMENTS_TABLE, { PK: "#", SK: "#" }, false).catch(() => {});
}

export async function handler(event, context) {
  const began = performance.now();
  let answer;
  try {
    answer = await schedule(event);
  } catch (error) {
    answer = problem(error, context.awsRequestId);
  }
  measure(answer.statusCode, context.awsRequestId, performance.now() - began);
  return answer;
}

async function schedule(event) {
  const input = read(event);
  mustOwn(event, input.account);
  const at = event.requestContext.timeEpoch || Date.now();
  const now = second(at);
  const id = `${input.time.replace(/[-:]/g, "")}-${uuid7(at)}`;
  let payment = scheduled(input, id, now);
  mustFit(payment, input);
  if (input.key === undefined) {
    mustNotBePast(input, now);
    await putNew(payment);
  } else {
    payment = await scheduleOnce(input, payment, id, now);
  }
  return created(event, payment);
}

function read(event) {
  const faults = [];
  const fault = (pointer, detail) => void faults.push({ pointer, detail });
  const identifier = (pointer, text) => {
    const wrong = identifierFault(text);
    if (wrong) fault(pointer, wrong);
    return text;
  };
  const body = readBody(event, fault);
  const key = event.headers?.["idempotency-key"];
  if (key !== undefined) identifier("/header/idempotency-key", key);
  const account = event.pathParameters?.accountId;
  if (account === undefined) fault("/path/accountId", "is missing");
  else identifier("/path/accountId", account);
  let time;
  if (body) {
    if ("scheduledTime" in body) time = parseSecond(body.scheduledTime, (wrong) => fault("/body/scheduledTime", wrong));
    else fault("/body/scheduledTime", "is missing");
    if (!("data" in body)) fault("/body/data", "is missing");
  }
  for (const name of Object.keys(event.queryStringParameters ?? {})) fault(`/query/${name}`, "is unknown");
  for (const name of Object.keys(body ?? {})) {
    if (name !== "scheduledTime" && name !== "data") fault(`/body/${name}`, "is unknown");
  }
  if (faults.length) throw invalid(faults);
  return { account, key, time, data: JSON.stringify(body.data) };
}

function readBody(event, fault) {
  const text = event.isBase64Encoded ? Buffer.from(event.body ?? "", "base64").toString() : event.body;
  if (!text) return fault("/body", "is missing: send a JSON object");
  if (Buffer.byteLength(text) > MOST_BODY) throw tooLarge(`The body must have at most ${MOST_BODY} bytes.`);
  const kind = (event.headers?.["content-type"] ?? "").split(";")[0].trim().toLowerCase();
  if (!/^application\/(.+\+)?json$/.test(kind)) throw unsupportedMediaType();
  try {
    const body = JSON.parse(text);
    if (body && typeof body === "object" && !Array.isArray(body)) return body;
    fault("/body", "expected a JSON object");
  } catch (error) {
    fault("/body", error.message);
  }
}

function mustOwn(event, account) {
  const claims = event.requestContext?.authorizer?.jwt?.claims ?? {};
  const list = (text = "") => text.trim().replace(/^\[(.*)\]$/, "$1").split(/\s+/);
  if (!list(claims.account_ids).includes(account) && !list(claims.scope).includes("bank:operate")) throw forbidden();
}

function mustNotBePast(input, now) {
  const today = now.slice(0, 10);
  if (input.time.slice(0, 10) < today) {
    throw invalid([{ pointer: "/body/scheduledTime", detail: `must not be on a day before ${today}` }]);
  }
}

function scheduled({ account, time, data }, id, createdAt) {
  return {
    PK: account,
    SK: `${time}#${id}`,
    GSI1PK: String(randomInt(Number(WRITE_SHARDS))),
    GSI1SK: `SCHEDULED#${time}#${id}`,
    CreatedAt: createdAt,
    Data: data,
    Type: "Payment",
  };
}

function mustFit(payment, input) {
  const bytes = Object.entries(payment).flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const over = bytes + LATER_BYTES - MOST_BYTES;
  if (over <= 0) return;
  const most = Math.max(0, Buffer.byteLength(input.data) - over);
  throw tooLarge(`A payment with its keys must not exceed 8 KB. Here, data may have up to ${most} bytes.`);
}

// Writes the idempotency record before the payment. If the function crashes between the two writes,
// a retry writes the payment.
async function scheduleOnce(input, payment, id, now) {
  const parts = [input.time, input.data];
  const record = {
    PK: input.account, SK: `IDEMPOTENCY#${input.key}`,
    Request: fingerprint(parts), PaymentId: id, CreatedAt: now, Type: "IdempotencyRecord",
  };
  const first = await firstUnder(record, input, now);
  if (!first || first.PaymentId === id) {
    await putNew(payment);
    return payment;
  }
  if (first.Request !== record.Request) throw keyReused();
  const again = { ...scheduled(input, first.PaymentId, first.CreatedAt), GSI1PK: payment.GSI1PK };
  await finish(again);
  return again;
}

function fingerprint(parts) {
  const digest = createHash("sha256");
  for (const part of parts) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(Buffer.byteLength(part)));
    digest.update(length).update(part);
  }
  return digest.digest("base64").replace(/=+$/, "");
}

async function firstUnder(record, input, now) {
  try {
    mustNotBePast(input, now);
  } catch (past) {
    const first = await get(PAYMENTS_TABLE, record, true);
    if (!first) throw past;
    return first;
  }
  return putNew(record);
}

async function finish(payment) {
  if ((await get(PAYMENTS_TABLE, payment, true)) || (await get(TRANSACTIONS_TABLE, payment, true))) return;
  const absent = { ConditionExpression: "attribute_not_exists(PK)" };
  const changes = [
    { Put: { TableName: PAYMENTS_TABLE, Item: attributes(payment), ...absent } },
    { ConditionCheck: { TableName: TRANSACTIONS_TABLE, Key: keyOf(payment), ...absent } },
  ];
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems: changes, ReturnConsumedCapacity: "INDEXES" }));
  } catch (error) {
    if (error.name !== "TransactionCanceledException") throw error;
    if (!error.CancellationReasons?.some(({ Code }) => Code === "ConditionalCheckFailed")) throw error;
  }
}

// Puts the item if no item has its key. Otherwise, returns the existing item.
async function putNew(item) {
  try {
    await client.send(new PutItemCommand({
      TableName: PAYMENTS_TABLE,
      Item: attributes(item),
      ConditionExpression: "attribute_not_exists(PK)",
      ReturnConsumedCapacity: "INDEXES",
      ReturnValues: "ALL_OLD",
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }));
  } catch (error) {
    if (error.name !== "ConditionalCheckFailedException") throw error;
    return plain(error.Item);
  }
}

async function get(table, key, consistent) {
  const { Item } = await client.send(new GetItemCommand({
    TableName: table, Key: keyOf(key), ConsistentRead: consistent, ReturnConsumedCapacity: "INDEXES",
  }));
  return plain(Item);
}

const attributes = (item) => Object.fromEntries(Object.entries(item).map(([name, text]) => [name, { S: text }]));
const plain = (item) => item && Object.fromEntries(Object.entries(item).map(([name, { S }]) => [name, S]));
const keyOf = ({ PK, SK }) => attributes({ PK, SK });

function created(event, payment) {
  const [scheduledTime, paymentId] = payment.SK.split("#");
  const path = `/bank/accounts/${encodeURIComponent(payment.PK)}/payments/${paymentId}`;
  // The data is returned unchanged.
  const start = JSON.stringify({ paymentId, accountId: payment.PK, scheduledTime, status: "SCHEDULED" }).slice(0, -1);
  return {
    statusCode: 201,
    headers: { "content-type": "application/json", location: path },
    body: `${start},"data":${payment.Data},"createdAt":${JSON.stringify(payment.CreatedAt)}}`,
    isBase64Encoded: false,
  };
}

function measure(status, requestId, latency) {
  const level = status >= 500 ? "ERROR" : "INFO";
  console.log(JSON.stringify({ level, request_id: requestId, status, cold_start: cold }));
  const metrics = ["LatencyMs", "ColdStarts", "Defects"].map((Name) => ({ Name }));
  console.log(JSON.stringify({
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [{ Namespace: "Functions", Dimensions: [["Function"]], Metrics: metrics }],
    },
    Function: AWS_LAMBDA_FUNCTION_NAME,
    LatencyMs: latency, ColdStarts: Number(cold), Defects: Number(status === 500),
  }));
  cold = false;
}
