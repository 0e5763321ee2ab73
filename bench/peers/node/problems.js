// crates/function/src/error.rs in JavaScript: maps each error to a problem of RFC 9457.

class Refusal extends Error {
  constructor(status, type, title, detail, errors) {
    super(type);
    Object.assign(this, { status, type, title, detail, errors });
  }
}

export const invalid = (errors) => {
  const names = errors.map(({ pointer }) => pointer).join(", ");
  return new Refusal(400, "invalid-request", "Invalid request", `See errors: ${names}.`, errors);
};
export const forbidden = () => new Refusal(403, "forbidden", "Not allowed", "The caller has no permission for this request.");
export const tooLarge = (detail) => new Refusal(413, "too-large", "Too large", detail);
export const unsupportedMediaType = () =>
  new Refusal(415, "unsupported-media-type", "Unsupported media type", "Send the body as application/json.");
export const keyReused = () =>
  new Refusal(422, "idempotency-key-reused", "Idempotency key already used",
    "The Idempotency-Key was already used for a different request.");

const AGAIN = "Retry the same request after a short wait.";
const THROTTLED = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"];

function refusalOf(error) {
  if (error instanceof Refusal) return error;
  if (THROTTLED.includes(error.name)) return new Refusal(429, "throttled", "Too many requests", AGAIN);
  if (error.name === "TimeoutError" || error.$retryable || error.$fault === "server") {
    return new Refusal(503, "unavailable", "Temporarily unavailable", AGAIN);
  }
  console.error(JSON.stringify({ level: "ERROR", error: String(error) }));
  return new Refusal(500, "internal", "Internal error", "The error is logged.");
}

export function problem(error, instance) {
  const { status, type, title, detail, errors } = refusalOf(error);
  const again = status === 429 || status === 503 ? { "retry-after": "1" } : {};
  return {
    statusCode: status,
    headers: { "content-type": "application/problem+json", ...again },
    body: JSON.stringify({ type: `/problems/${type}`, status, title, detail, instance, errors }),
    isBase64Encoded: false,
  };
}
