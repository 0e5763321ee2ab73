// crates/bank/src/patterns/schedule_payment.rs in JavaScript: the path that is measured. It makes
// the same DynamoDB requests and returns the same response. Any other request fails.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { Agent } from "node:https";
import { DynamoDBClient, GetItemCommand, PutItemCommand } from "@aws-sdk/client-dynamodb";
import { NodeHttpHandler } from "@smithy/node-http-handler";

const { PAYMENTS_TABLE, WRITE_SHARDS, AWS_LAMBDA_FUNCTION_NAME } = process.env;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

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
  const Key = { PK: { S: "#" }, SK: { S: "#" } };
  await client.send(new GetItemCommand({ TableName: PAYMENTS_TABLE, Key, ReturnConsumedCapacity: "INDEXES" })).catch(() => {});
}

export async function handler(event, context) {
  const began = performance.now();
  const answer = await schedule(event);
  measure(context.awsRequestId, performance.now() - began);
  return answer;
}

async function schedule(event) {
  const { account, key, time, data } = read(event);
  const now = second(event.requestContext.timeEpoch);
  if (time.slice(0, 10) < now.slice(0, 10)) throw new Error("the day is over");
  const id = `${time.replace(/[-:]/g, "")}-${uuid7(event.requestContext.timeEpoch)}`;
  const common = { CreatedAt: { S: now }, ChangedBy: { M: author(event) } };
  await put("IdempotencyRecord", account, `IDEMPOTENCY#${key}`, {
    ...common, Request: { S: fingerprint([time, data, ""]) }, PaymentId: { S: id },
  });
  await put("Payment", account, `${time}#${id}`, {
    ...common,
    GSI1PK: { S: String(randomInt(Number(WRITE_SHARDS))) },
    GSI1SK: { S: `SCHEDULED#${time}#${id}` },
    Version: { N: "1" },
    Data: { S: data },
  });
  const start = JSON.stringify({ paymentId: id, accountId: account, scheduledTime: time, status: "SCHEDULED" }).slice(0, -1);
  return {
    statusCode: 201,
    headers: {
      "content-type": "application/json",
      location: `/bank/accounts/${encodeURIComponent(account)}/payments/${id}`,
    },
    // The data is returned unchanged.
    body: `${start},"data":${data},"createdAt":${JSON.stringify(now)}}`,
    isBase64Encoded: false,
  };
}

function read(event) {
  const body = JSON.parse(event.body);
  const [account, key] = [event.pathParameters.accountId, event.headers["idempotency-key"]];
  const isId = (text) => text && text.length <= 128 && !/[#\p{Cc}]/u.test(text);
  const isTime = RFC3339.test(body.scheduledTime) && !Number.isNaN(Date.parse(body.scheduledTime));
  if (!isId(account) || !isId(key) || !isTime || !("data" in body) || Object.keys(body).length !== 2) {
    throw new Error("invalid request");
  }
  const { account_ids, scope } = claims(event);
  const list = (text) => text.replace(/^\[(.*)\]$/, "$1").split(/\s+/);
  if (!list(account_ids).includes(account) && !list(scope).includes("bank:operate")) throw new Error("not allowed");
  return { account, key, time: body.scheduledTime, data: JSON.stringify(body.data) };
}

const claims = (event) => event.requestContext.authorizer.jwt.claims;
const author = (event) => ({ sub: { S: claims(event).sub }, scope: { S: "bank:write" } });
const second = (milliseconds) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;

function uuid7(milliseconds) {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex");
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

function put(type, account, sort, attributes) {
  return client.send(new PutItemCommand({
    TableName: PAYMENTS_TABLE,
    Item: { PK: { S: account }, SK: { S: sort }, ...attributes, Type: { S: type } },
    ConditionExpression: "attribute_not_exists(PK)",
    ReturnConsumedCapacity: "INDEXES",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  }));
}

function measure(requestId, latency) {
  console.log(JSON.stringify({ level: "INFO", request_id: requestId, status: 201, cold_start: cold }));
  const metrics = ["LatencyMs", "ColdStarts", "Defects"].map((Name) => ({ Name }));
  console.log(JSON.stringify({
    _aws: {
      Timestamp: Date.now(),
      CloudWatchMetrics: [{ Namespace: "Functions", Dimensions: [["Function"]], Metrics: metrics }],
    },
    Function: AWS_LAMBDA_FUNCTION_NAME,
    LatencyMs: latency, ColdStarts: Number(cold), Defects: 0,
  }));
  cold = false;
}
