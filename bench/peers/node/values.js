// The checks and formats of the crate `keys` that a payment needs.
import { randomBytes } from "node:crypto";

export function identifierFault(text) {
  if (!text) return "must not be empty";
  if ([...text].length > 128) return "must have at most 128 characters";
  if (text.includes("#")) return "must not contain `#`";
  if (/\p{Cc}/u.test(text)) return "must not contain control characters";
}

const FORM = "must be an RFC 3339 time such as 2026-12-01T09:30:00Z";
const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

// Returns the time in UTC, truncated to a second.
export function parseSecond(text, wrong) {
  if (typeof text !== "string" || !RFC3339.test(text)) return wrong(FORM);
  const [time, day] = [Date.parse(text.toUpperCase()), text.slice(0, 10)];
  // Date would read 30 February as 2 March.
  const exists = !Number.isNaN(time) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
  return exists ? second(time) : wrong("must be an existing time between the years 0000 and 9999");
}

export function second(milliseconds) {
  return `${new Date(Math.floor(milliseconds / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

export function uuid7(milliseconds) {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(milliseconds, 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString("hex");
}
