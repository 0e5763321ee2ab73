// Measures the requests per second of the local stack without the console, with it, and with its
// page open in Chromium. The three take turns, so that each round has its own ratios. Prints the
// rates of all rounds as JSON.
// Usage: node bench/console.mjs <local binary> <folder of the npm packages>
import { execFileSync, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { resolve } from 'node:path'

const [local, packages] = process.argv.slice(2)
const require = createRequire(resolve(packages, 'package.json'))
const { chromium } = require('playwright-core')
const [ROUNDS, SECONDS, CLIENTS] = [7, 3, 8]

async function freePort () {
  const server = createServer()
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address()
  await new Promise(done => server.close(done))
  return port
}

async function start (...options) {
  const url = `http://127.0.0.1:${await freePort()}`
  const own = ['run', '--port', new URL(url).port, '--dynamodb-port', String(await freePort()), '--stack', 'bank', ...options]
  const running = spawn(local, own, { stdio: 'ignore' })
  for (let look = 0; look < 600; look++) {
    if ((await fetch(`${url}/_local/health`).catch(() => null))?.ok) return { url, stop: () => running.kill('SIGTERM') }
    await new Promise(done => setTimeout(done, 100))
  }
  throw new Error('the stack does not start')
}

/** The requests per second of clients that schedule payments and list them. */
async function rate (url, name) {
  let [count, isOver] = [0, false]
  const client = async number => {
    const path = `${url}/bank/accounts/${name}${number}/payments`
    for (let request = 0; !isOver; request++) {
      const options = request % 2 ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"scheduledTime": "2099-12-01T09:30:00Z", "data": {"amount": "9.50"}}' }
      const answer = await fetch(path, options)
      if (!answer.ok) throw new Error(await answer.text())
      await answer.arrayBuffer()
      count += 1
    }
  }
  setTimeout(() => { isOver = true }, SECONDS * 1_000)
  const began = performance.now()
  await Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)))
  return count / (performance.now() - began) * 1_000
}

const browser = await chromium.launch({ executablePath: execFileSync('sh', ['-c', 'command -v chromium || command -v google-chrome']).toString().trim(), args: ['--no-sandbox'] })
const rates = { without: [], closed: [], open: [] }
for (let round = 0; round <= ROUNDS; round++) {
  const found = {}
  for (const [name, options] of [['without', ['--no-console']], ['closed', []], ['open', []]].sort(() => Math.random() - 0.5)) {
    const stack = await start(...options)
    const page = name === 'open' ? await browser.newPage() : null
    await page?.goto(`${stack.url}/_local/#/trace`)
    found[name] = await rate(stack.url, `R${round}-`)
    await page?.close()
    stack.stop()
  }
  // The first round warms up.
  if (round > 0) for (const name of Object.keys(rates)) rates[name].push(found[name])
}
await browser.close()
console.log(JSON.stringify(rates))
