// Sends requests to one target with autocannon, and prints the latencies of the answers as JSON.
// Usage: node load.js '{"url", "method", "path", "headers", "bodies", "connections", "seconds", …}'
// `{n}` in the path, a header or the body is the number of the request, and `{k}` is the number modulo `keys`.
const autocannon = require('autocannon')

const target = JSON.parse(process.argv[2])
let number = 0

function numbered (text, n) {
  return text.replaceAll('{n}', `${target.run}-${n}`).replaceAll('{k}', String(n % target.keys))
}

function prepare (request) {
  const n = number++
  const body = target.bodies[n % target.bodies.length]
  const headers = Object.fromEntries(Object.entries(target.headers).map(([name, value]) => [name, numbered(value, n)]))
  return { ...request, path: numbered(target.path, n), headers, body: body && numbered(body, n) }
}

const requests = [{ method: target.method, path: '/', headers: {}, setupRequest: prepare }]
const { url, connections, seconds } = target
const times = []
const statuses = {}
const run = autocannon({ url, connections, duration: seconds, timeout: 60, requests }, (error, result) => {
  if (error) throw error
  times.sort((a, b) => a - b)
  const at = share => times[Math.min(times.length - 1, Math.floor(times.length * share))]
  const of = { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
  console.log(JSON.stringify({ ...of, count: times.length, rate: times.length / result.duration, statuses, errors: result.errors }))
})
run.on('response', (client, status, bytes, time) => {
  times.push(time)
  statuses[status] = (statuses[status] || 0) + 1
})
