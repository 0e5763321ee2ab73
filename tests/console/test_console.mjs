// Uses the console in Chromium: each page, each form, a trace from a request to its stream effects,
// many traces and items, errors, a stack that stops and starts, and a page of another origin.
// Usage: node test_console.mjs <local binary> <folder of the npm packages>
//   ITEMS=1000000 sets the number of items of the large table, TRACES that of the requests.
//   SHOTS=folder writes screenshots.
import { spawn } from 'node:child_process'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer as createPages } from 'node:http'
import { createServer } from 'node:net'
import { createRequire } from 'node:module'
import { readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const [local, packages] = process.argv.slice(2)
const require = createRequire(resolve(packages, 'package.json'))
const { chromium } = require('playwright-core')
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')
const ITEMS = Number(process.env.ITEMS ?? 20_000)
const TRACES = Number(process.env.TRACES ?? 10_000)
const ANN = 'e4ceeb59-552e-8690-9301-f64e44907c84'
const PAGES = { Home: '', 'Try it': 'try', Trace: 'trace', Tables: 'tables', Heat: 'heat', 'Jobs and lake': 'jobs' }

let count = 0
function check (what, holds, seen = '') {
  count += 1
  if (!holds) throw new Error(`console: ${what} ${seen}`)
  console.log(`ok console: ${what}`)
}

async function freePort () {
  const server = createServer()
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address()
  await new Promise(done => server.close(done))
  return port
}

/** A local stack. It stops with its process id. */
class Stack {
  constructor (port, dynamodb, options) {
    this.url = `http://127.0.0.1:${port}`
    this.dynamodb = `http://127.0.0.1:${dynamodb}`
    this.arguments = ['run', '--port', port, '--dynamodb-port', dynamodb, ...options].map(String)
  }

  static async start (...options) {
    return await new Stack(await freePort(), await freePort(), options).begin()
  }

  async begin () {
    this.process = spawn(local, this.arguments, { stdio: ['ignore', 'ignore', 'inherit'] })
    for (let look = 0; look < 1_200; look++) {
      const answer = await fetch(`${this.url}/_local/health`).catch(() => null)
      if (answer?.ok) return this
      if (this.process.exitCode !== null) throw new Error('the stack ended')
      await new Promise(done => setTimeout(done, 100))
    }
    throw new Error('the stack does not start')
  }

  async stop () {
    const ended = new Promise(done => this.process.once('exit', done))
    this.process.kill('SIGTERM')
    await ended
  }

  async send (method, path, body, headers = {}) {
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const answer = await fetch(this.url + path, { method, headers: { ...type, ...headers }, body: body === undefined ? undefined : JSON.stringify(body) })
    return { status: answer.status, body: await answer.json().catch(() => null), headers: answer.headers }
  }

  /** Calls DynamoDB, which requires a signature but does not check it. */
  async dynamo (action, body) {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': `DynamoDB_20120810.${action}`,
      'x-amz-date': '20200101T000000Z',
      authorization: 'AWS4-HMAC-SHA256 Credential=local/20200101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=x'
    }
    const answer = await fetch(this.dynamodb, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${action}: ${await answer.text()}`)
    return await answer.json()
  }
}

/** A browser page that reports every error. */
class Tab {
  constructor (page, stack) {
    this.page = page
    this.stack = stack
    this.errors = []
    page.on('pageerror', error => this.errors.push(error.message))
  }

  static async open (browser, stack, options = {}) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options })
    return new Tab(page, stack)
  }

  async go (hash, title) {
    await this.page.goto(`${this.stack.url}/_local/#/${hash}`)
    await this.page.getByRole('heading', { level: 1 }).waitFor()
    if (title) await this.page.getByRole('heading', { level: 1, name: title }).waitFor()
  }

  async shot (name) {
    if (process.env.SHOTS) await this.page.screenshot({ path: `${process.env.SHOTS}/console-${name}.png` })
  }

  /** The rules of WCAG A and AA that the page violates. */
  async violations () {
    await this.page.evaluate(AXE)
    const found = await this.page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }))
    return found.violations.map(one => `${one.id}: ${one.nodes.slice(0, 3).map(node => node.html).join(' ')}`)
  }
}

async function pages (browser, stack) {
  for (const colorScheme of ['light', 'dark']) {
    const tab = await Tab.open(browser, stack, { colorScheme })
    for (const [name, hash] of Object.entries(PAGES)) {
      await tab.go(hash)
      await tab.page.locator('table, form, .soft').first().waitFor()
      const violations = await tab.violations()
      check(`${name} has no accessibility violation in ${colorScheme}`, violations.length === 0, violations.join('\n'))
    }
    check(`no page reports an error in ${colorScheme}`, tab.errors.length === 0, tab.errors.join())
    await tab.page.close()
  }
  const tab = await Tab.open(browser, stack, { viewport: { width: 360, height: 700 } })
  for (const [name, hash] of Object.entries(PAGES)) {
    await tab.go(hash)
    await tab.page.locator('table, form, .soft').first().waitFor()
    const width = await tab.page.evaluate(() => document.documentElement.scrollWidth)
    check(`${name} fits a narrow window`, width <= 360, width)
  }
  await tab.page.close()
}

async function keyboard (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('')
  for (let stop = 0; stop < 3; stop++) await tab.page.keyboard.press('Tab')
  await tab.page.keyboard.press('Enter')
  await tab.page.getByRole('heading', { level: 1, name: 'Try it' }).waitFor()
  check('the keyboard reaches the pages', true)
  await tab.page.close()
}

async function home (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('', 'What runs here')
  await tab.page.getByRole('link', { name: 'FinancialTransactions', exact: true }).waitFor()
  check('Home lists the services', await tab.page.locator('details.box').count() >= 5)
  await tab.page.getByRole('button', { name: 'Run now: archive-settled-payments' }).click()
  await tab.page.getByText(/archive-settled-payments answered/).waitFor()
  check('a schedule runs on request', true)
  await tab.shot('home')
  await tab.page.close()
}

async function forms (browser, stack) {
  const all = (await stack.send('GET', '/_local/api/forms')).body
  const tab = await Tab.open(browser, stack)
  for (const form of all) {
    await tab.go(`try/${form.function}/${encodeURIComponent(form.path)}`, 'Try it')
    await tab.page.getByRole('button', { name: 'Send' }).waitFor()
    const shown = await tab.page.locator('select[name=route] option:checked').textContent()
    if (shown !== `${form.method} ${form.path}`) throw new Error(`the form of ${form.path} shows ${shown}`)
    for (const [, name] of form.path.matchAll(/\{(\w+)\}/g)) {
      const value = await tab.page.locator(`input[name=${name}]`).first().inputValue()
      if (value === '') throw new Error(`${form.method} ${form.path} has no example of ${name}`)
    }
  }
  check(`each of ${all.length} forms has an example`, all.length > 100 && tab.errors.length === 0, tab.errors.join())
  await tab.go('try/process-payment', 'Try it')
  await tab.page.getByRole('button', { name: 'Send' }).click()
  await tab.page.getByRole('heading', { name: '201 Created' }).waitFor()
  check('the example of a payment succeeds', (await tab.page.locator('pre.answer').textContent()).includes('"transactionId"'))
  await tab.shot('try')
  await tab.page.getByRole('button', { name: 'Copy as curl' }).click()
  const curl = await tab.page.locator('pre.curl').textContent()
  check('copies the request as curl', curl.startsWith('curl -i') && curl.includes('idempotency-key'), curl)
  const output = execFileSync('sh', ['-c', curl.replace('curl -i', 'curl -s')]).toString()
  check('the copied command gets the same answer', JSON.parse(output).transactionId !== undefined, output)
  await tab.page.locator('select[name=person]').selectOption('nobody')
  await tab.page.getByRole('button', { name: 'Send' }).click()
  await tab.page.getByRole('heading', { name: '403 Forbidden' }).waitFor()
  check('a caller without scopes is rejected', true)
  await tab.page.locator('select[name=person]').selectOption('operator')
  await tab.page.locator('textarea').fill('{"transactionType": ')
  await tab.page.getByRole('button', { name: 'Send' }).click()
  await tab.page.getByRole('heading', { name: '400 Bad Request' }).waitFor()
  check('a wrong body shows the problem', (await tab.page.locator('pre.answer').textContent()).includes('"errors"'))
  await tab.page.close()
}

async function trace (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('trace', 'Trace')
  const accounts = await stack.send('GET', '/ledger/users/coffee-shop/accounts')
  const body = { transactionType: 'payment', debitAccountId: ANN, creditAccountId: accounts.body.items[0].accountId, amount: '1.25', currency: 'USD' }
  const paid = await stack.send('POST', '/ledger/transactions', body, { 'idempotency-key': crypto.randomUUID() })
  if (paid.status !== 201) throw new Error(JSON.stringify(paid.body))
  const link = tab.page.getByRole('link', { name: 'POST /ledger/transactions', exact: true }).first()
  await link.waitFor()
  check('a request from outside appears live', true)
  await tab.shot('trace')
  await tab.page.locator('input[name=q]').fill(paid.body.transactionId)
  await tab.page.getByRole('button', { name: 'Search' }).click()
  await tab.page.getByText(/The newest requests that contain/).waitFor()
  await tab.page.getByRole('link', { name: 'POST /ledger/transactions', exact: true }).first().click()
  await tab.page.getByRole('heading', { level: 1, name: 'POST /ledger/transactions' }).waitFor()
  await tab.page.getByRole('heading', { name: 'Calls' }).waitFor()
  const calls = await tab.page.locator('section.box').allTextContents()
  check('shows each call in order', calls.some(call => call.includes('BatchGetItem')) && calls.at(-1).includes('TransactWriteItems'), calls.join())
  await tab.page.getByText(new RegExp(`MODIFY FinancialTransactions: ACCOUNT#${ANN}`)).click()
  const changed = await tab.page.locator('details[open] tr.changed').allTextContents()
  check('shows the old and the new balance', changed.some(row => row.startsWith('Balance')), changed.join())
  await tab.shot('detail')
  const effect = tab.page.getByRole('link', { name: /records? of FinancialTransactions/ }).first()
  await effect.waitFor()
  await effect.click()
  await tab.page.getByRole('heading', { name: 'Caused by' }).waitFor()
  check('follows the stream, and back to the cause', await tab.page.getByRole('link', { name: 'POST /ledger/transactions', exact: true }).count() > 0)
  await tab.go('trace', 'Trace')
  await tab.page.getByRole('button', { name: 'Pause' }).click()
  await stack.send('GET', '/bank/payments/overdue')
  await tab.page.getByText('Paused').waitFor()
  await tab.page.getByRole('button', { name: 'Continue' }).click()
  await tab.page.getByRole('link', { name: 'GET /bank/payments/overdue' }).first().waitFor()
  check('pauses and continues', tab.errors.length === 0, tab.errors.join())
  await tab.go('trace/999999', 'Trace 999999')
  await tab.page.getByText('This request is no longer kept.').waitFor()
  check('says that a request is no longer kept', true)
  await tab.page.close()
}

async function tables (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('tables/local-FinancialTransactions', 'Tables')
  await tab.page.getByRole('link', { name: `ACCOUNT#${ANN}` }).click()
  await tab.page.getByRole('heading', { name: `ACCOUNT#${ANN}` }).waitFor()
  await tab.page.locator('td', { hasText: 'METADATA' }).first().waitFor()
  check('shows an item collection', true)
  await tab.page.locator('select[name=index]').selectOption('GSI1')
  await tab.page.getByRole('link', { name: 'USER#ann' }).waitFor()
  await tab.page.locator('input[name=pk]').fill(`ACCOUNT#${ANN}`)
  await tab.page.locator('input[name=from]').fill('LEG#')
  await tab.page.getByRole('button', { name: 'Query' }).click()
  await tab.page.getByText(/TransactionLeg/).first().waitFor()
  check('queries an index by key and range', (await tab.page.locator('tbody tr').count()) > 0)
  await tab.shot('tables')
  await tab.page.locator('input[name=from]').fill('ZZZ')
  await tab.page.getByRole('button', { name: 'Query' }).click()
  await tab.page.getByText('No item has this partition key').waitFor()
  check('an empty range says so', tab.errors.length === 0, tab.errors.join())
  await tab.page.close()
}

async function largeTable (browser, stack) {
  let [next, failed] = [0, null]
  const writer = async () => {
    while (next < ITEMS && failed === null) {
      const first = next
      next += 25
      const put = number => ({ PutRequest: { Item: { PK: { S: `Large#${number % 100}` }, SK: { S: `ITEM#${String(number).padStart(7, '0')}` }, Type: { S: 'Sample' } } } })
      const items = Array.from({ length: Math.min(25, ITEMS - first) }, (_, number) => put(first + number))
      await stack.dynamo('BatchWriteItem', { RequestItems: { 'local-TransactionHistory': items } }).catch(error => { failed = error })
    }
  }
  await Promise.all(Array.from({ length: 8 }, writer))
  if (failed) throw failed
  const tab = await Tab.open(browser, stack)
  await tab.go('tables/local-TransactionHistory', 'Tables')
  await tab.page.getByRole('link', { name: 'Large#0', exact: true }).click()
  await tab.page.getByText('ITEM#0000000').first().waitFor()
  await tab.page.getByRole('button', { name: 'More' }).click()
  await tab.page.getByText('ITEM#0005100').first().waitFor()
  const started = performance.now()
  await stack.send('GET', '/_local/api/items?table=local-TransactionHistory&pk=Large%2350')
  await stack.send('GET', '/_local/api/collections?table=local-TransactionHistory')
  console.log(`   a page of ${ITEMS} items: ${(performance.now() - started).toFixed(1)} ms`)
  check(`shows a table with ${ITEMS} items`, tab.errors.length === 0, tab.errors.join())
  await tab.page.close()
}

async function manyTraces (browser, stack) {
  let left = TRACES
  const caller = async () => {
    while (left-- > 0) await stack.send('GET', '/bank/accounts/Account1/payments?from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z')
  }
  const tab = await Tab.open(browser, stack)
  await tab.go('trace', 'Trace')
  await Promise.all(Array.from({ length: 8 }, caller))
  await tab.page.getByRole('link', { name: /^GET \/bank\/accounts\/Account1/ }).first().waitFor()
  const rows = await tab.page.locator('table.traces tbody tr').count()
  check(`the list stays short after ${TRACES} requests`, rows > 0 && rows <= 200, rows)
  await tab.page.locator('input[name=q]').fill('no-such-id')
  await tab.page.getByRole('button', { name: 'Search' }).click()
  await tab.page.getByText('No kept request contains this text.').waitFor()
  check('a search without a result says so', tab.errors.length === 0, tab.errors.join())
  await tab.go('heat', 'Heat')
  await tab.page.getByRole('heading', { name: 'Partition keys' }).waitFor()
  await tab.page.locator('select[name=kind]').selectOption('read')
  await tab.page.locator('select[name=place]').selectOption('local-PaymentScheduler')
  await tab.page.locator('td.key', { hasText: 'Account1' }).first().waitFor()
  check('Heat shows the hottest partition key', tab.errors.length === 0, tab.errors.join())
  await tab.shot('heat')
  await tab.page.close()
}

async function jobs (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('jobs', 'Jobs and lake')
  // The world has a failed reconciliation.
  const job = tab.page.locator('tr', { hasText: 'daily-2025-10-31' })
  await job.getByText('The job failed five times without progress.').waitFor()
  await job.getByRole('button', { name: /^Try again: reconciliation/ }).click()
  await job.getByText('done').waitFor()
  check('a failed job is tried again', tab.errors.length === 0, tab.errors.join())
  const report = `report-console-${process.pid}.html`
  writeFileSync(report, '<!doctype html><title>Report</title><h1>Sales</h1>')
  await tab.page.getByRole('link', { name: `console-${process.pid}` }).click()
  await tab.page.getByRole('heading', { name: 'Sales' }).waitFor()
  unlinkSync(report)
  check('opens a report of the lake', (await stack.send('GET', '/_local/reports/..%2FREADME.md')).status === 404)
  await tab.page.close()
}

async function restart (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('', 'What runs here')
  await tab.page.getByRole('heading', { name: 'Tables' }).waitFor()
  await stack.stop()
  await tab.page.getByText(/The stack does not answer/).waitFor()
  check('an open page says that the stack does not answer', await tab.page.getByRole('heading', { name: 'Tables' }).count() === 1)
  await stack.begin()
  await tab.page.getByText(/The stack does not answer/).waitFor({ state: 'detached' })
  check('an open page continues when the stack is back', tab.errors.length === 0, tab.errors.join())
  await tab.page.close()
}

async function guarded (browser) {
  const stack = await Stack.start('--auth', 'required', '--stack', 'bank')
  const tab = await Tab.open(browser, stack)
  await tab.go('', 'What runs here')
  await tab.page.getByText('This stack requires a token').waitFor()
  const token = execFileSync(local, ['token', ...['bank', 'ledger'].flatMap(name => ['--scope', `${name}:operate`])]).toString().trim()
  await tab.page.locator('input[name=token]').fill(token)
  await tab.page.getByRole('button', { name: 'Use the token' }).click()
  await tab.page.getByRole('heading', { name: 'Tables' }).waitFor()
  check('under --auth required, the page asks for a token', tab.errors.length === 0, tab.errors.join())
  const foreign = await stack.send('GET', '/_local/', undefined, { origin: 'https://example.com' })
  check('a foreign page gets nothing', foreign.status === 403, foreign.status)
  await tab.page.close()
  await stack.stop()
  const without = await Stack.start('--no-console', '--stack', 'bank')
  const answers = await Promise.all(['/_local/', '/_local/console.js', '/_local/api/home'].map(path => without.send('GET', path)))
  check('--no-console turns it off', answers.every(answer => answer.status === 404), answers.map(answer => answer.status))
  await without.stop()
}

async function faults (browser) {
  const stack = await Stack.start('--stack', 'bank', '--stack', 'ledger', '--hostile', '1', '--hostile-rates', 'lost-after=0.5,kill=0')
  const tab = await Tab.open(browser, stack)
  await stack.send('GET', '/bank/payments/due?date=2030-12-01')
  await tab.go('trace?q=payments%2Fdue', 'Trace')
  await tab.page.getByText(/\d injected/).first().waitFor()
  await tab.page.getByRole('link', { name: /payments\/due/ }).first().click()
  await tab.page.getByText(/Injected: /).first().waitFor()
  check('the trace shows injected faults beside their calls', tab.errors.length === 0, tab.errors.join())
  await tab.page.close()
  await stack.stop()
}

/** A page of another origin, which is served until `use` ends. */
async function served (browser, port, use) {
  const server = createPages((_, answer) => answer.setHeader('content-type', 'text/html').end('<title>Shop</title>'))
  await new Promise(done => server.listen(port, '127.0.0.1', done))
  const page = await browser.newPage()
  try {
    await page.goto(`http://127.0.0.1:${port}/`)
    return await use(page)
  } finally {
    await page.close()
    server.closeAllConnections()
    await new Promise(done => server.close(done))
  }
}

/** Runs in the page: creates a file with the API, and uploads its content. */
async function uploadFile ([url, sha256]) {
  try {
    const body = JSON.stringify({ name: 'Plan', contentType: 'text/plain', bytes: 5, sha256 })
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'page-1' }
    const made = await fetch(`${url}/wellness/companies/123/files`, { method: 'POST', headers, body })
    const { upload } = await made.json()
    const sent = await fetch(upload.url, { method: upload.method, headers: upload.headers, body: 'hello' })
    return [made.status, made.headers.get('location') !== null, sent.status]
  } catch (error) {
    return [error.message]
  }
}

/** `WebOrigin` lets one page of another origin call the API and upload files. */
async function otherOrigin (browser) {
  const [own, other] = [await freePort(), await freePort()]
  const stack = await Stack.start('--stack', 'wellness', '--parameter', `WebOrigin=http://127.0.0.1:${own}`)
  const file = [stack.url, createHash('sha256').update('hello').digest('hex')]
  const upload = async port => (await served(browser, port, page => page.evaluate(uploadFile, file))).join()
  check('a page of WebOrigin calls the API and uploads a file', await upload(own) === '201,true,200')
  check('a page of another origin cannot', await upload(other) === 'Failed to fetch')
  await stack.stop()
}

function chromiumPath () {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    try {
      return execFileSync('sh', ['-c', `command -v ${name}`]).toString().trim()
    } catch {}
  }
  throw new Error('make test-console needs chromium: apt-get install chromium')
}

const browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] })
const stack = await Stack.start()
try {
  for (const part of [home, forms, trace, tables, jobs, pages, keyboard, manyTraces, largeTable, restart]) await part(browser, stack)
  await guarded(browser)
  await faults(browser)
  await otherOrigin(browser)
  console.log(`${count} checks of the console passed`)
} finally {
  await browser.close()
  await stack.stop()
}
