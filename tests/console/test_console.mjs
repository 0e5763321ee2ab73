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
/** Further pages, with the same checks. */
const INNER = { 'A form': 'try/start-erasure', 'An item collection': 'tables/local-Cart?pk=Account1', 'A model': 'tables/local-Activities/model', 'A page of the docs': 'docs/access-patterns/bank.md?at=get-payment' }
const PAGES = { Home: '', 'Try it': 'try', Trace: 'trace', Tables: 'tables', Heat: 'heat', Events: 'events', 'Jobs and lake': 'jobs' }

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

  /** Loads a path of the console until the data holds. */
  async until (path, holds) {
    for (let look = 0; look < 300; look++) {
      const { body } = await this.send('GET', `/_local/api/${path}`)
      if (holds(body)) return body
      await new Promise(done => setTimeout(done, 100))
    }
    throw new Error(`${path} does not become as expected`)
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
    this.origins = new Set()
    page.on('pageerror', error => this.errors.push(error.message))
    page.on('request', request => this.origins.add(new URL(request.url()).origin))
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
    for (const [name, hash] of Object.entries({ ...PAGES, ...INNER })) {
      await tab.go(hash)
      await tab.page.locator('table, form, .soft').filter({ visible: true }).first().waitFor()
      const violations = await tab.violations()
      check(`${name} has no accessibility violation in ${colorScheme}`, violations.length === 0, violations.join('\n'))
    }
    check(`no page needs another host in ${colorScheme}`, [...tab.origins].join() === stack.url, [...tab.origins].join())
    check(`no page reports an error in ${colorScheme}`, tab.errors.length === 0, tab.errors.join())
    await tab.page.close()
  }
  const tab = await Tab.open(browser, stack, { viewport: { width: 360, height: 700 } })
  for (const [name, hash] of Object.entries({ ...PAGES, ...INNER })) {
    await tab.go(hash)
    await tab.page.locator('table, form, .soft').filter({ visible: true }).first().waitFor()
    const width = await tab.page.evaluate(() => document.documentElement.scrollWidth)
    check(`${name} fits a narrow window`, width <= 360, width)
    const broken = await tab.page.evaluate(columns)
    check(`${name} breaks no text into short lines`, broken.length === 0, broken.join())
  }
  await tab.go('trace', 'Trace')
  const row = tab.page.locator('table.traces tbody tr', { has: tab.page.locator('td[data-label=W]:not(:empty)') }).first()
  const box = await row.locator('td[data-label=W]').boundingBox()
  check('the units of a trace are visible in a narrow window', box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box))
  await tab.page.close()
}

/** Runs in the page: texts whose lines have fewer than five characters on average. */
function columns () {
  const lines = element => {
    const range = document.createRange()
    range.selectNodeContents(element)
    return new Set([...range.getClientRects()].map(one => Math.round(one.top))).size
  }
  const shown = [...document.querySelectorAll('td, th, p, h2, h3, label, summary')].filter(one => one.offsetParent && !one.querySelector('select, input, textarea, table, pre, p'))
  return shown.map(one => [one.textContent.trim(), lines(one)]).filter(([text, count]) => count > 2 && text.length / count < 5).map(([text]) => text)
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
  const starts = await tab.page.locator('a.card').evaluateAll(all => all.map(one => one.getAttribute('href')))
  check('Home starts with a request of each service', starts.length === 4, starts.join())
  const lessons = await tab.page.locator('a[href^="#/docs/learn/"]').evaluateAll(all => all.map(one => one.getAttribute('href').split('/').at(-1)))
  check('Home lists the lessons in order', lessons.length === 10 && lessons[0] === 'hot-partition.md' && lessons[9] === 'questions.md', lessons.join())
  await tab.page.locator('details.notation').first().locator('summary').click()
  check('Home explains the notation', await tab.page.getByText(/4 KB for a read, 1 KB for a write/).first().isVisible())
  await tab.page.locator('input[name=time]').fill('2026-01-02T03:04:05')
  await tab.page.getByRole('button', { name: 'Run now: archive-settled-payments' }).click()
  await tab.page.getByText(/archive-settled-payments answered/).waitFor()
  const traces = await stack.until('traces?function=archive-settled-payments', all => all.length > 0)
  check('a schedule runs on request, at a chosen time', traces[0].title === 'schedule, 2026-01-02T03:04:05Z', traces[0].title)
  await tab.shot('home')
  await tab.page.close()
}

/** Sends each example once, on a stack of its own, and resets the data. */
async function examples (browser) {
  const stack = await Stack.start()
  const all = (await stack.send('GET', '/_local/api/forms')).body
  const tab = await Tab.open(browser, stack)
  for (const form of all) {
    await tab.go(`try/${form.function}/${encodeURIComponent(form.path)}`, 'Try it')
    await tab.page.getByRole('button', { name: 'Send' }).waitFor()
    for (const [, name] of form.path.matchAll(/\{(\w+)\}/g)) {
      const value = await tab.page.locator(`input[name=${name}]`).first().inputValue()
      if (value === '') throw new Error(`${form.method} ${form.path} has no example of ${name}`)
    }
    const isAsked = form.method === 'DELETE' || form.function === 'start-erasure'
    const status = await sent(tab, isAsked && `Send ${form.method}`)
    if (!/^20\d /.test(status)) throw new Error(`the example of ${form.method} ${form.path}: ${status} ${await tab.page.locator('pre.answer').textContent()}`)
  }
  check(`each of ${all.length} examples succeeds in a browser`, all.length > 100 && tab.errors.length === 0, tab.errors.join())
  await tab.go('try/remove-cart-item', 'Try it')
  check('a removed item is gone', (await sent(tab, 'Send DELETE')).startsWith('404'))
  await tab.go('', 'What runs here')
  await tab.page.getByRole('button', { name: 'Reset the sample data' }).click()
  await tab.page.getByRole('button', { name: 'Delete all items' }).click()
  await tab.page.getByText('The tables have the sample data.').waitFor({ timeout: 120_000 })
  await tab.go('try/remove-cart-item', 'Try it')
  check('a reset brings the sample data back', (await sent(tab, 'Send DELETE')).startsWith('204'))
  await tab.page.close()
  await stack.stop()
}

/** Sends the form, confirms if the page asks, and returns the status. */
async function sent (tab, action) {
  await tab.page.getByRole('button', { name: 'Send', exact: true }).click()
  if (action) await tab.page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
  return await tab.page.locator('[role=status] h2').first().textContent()
}

async function forms (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('try', 'Try it')
  await tab.page.locator('input[name=find]').fill('erasure')
  await tab.page.getByText('4 of ').waitFor()
  await tab.page.getByRole('link', { name: /POST \/companies\/\{companyId\}\/erasure/ }).click()
  await tab.page.getByRole('button', { name: 'Send', exact: true }).click()
  const asked = await tab.page.getByRole('dialog').textContent()
  check('an erasure asks first, and names what is lost', asked.includes('The company 789: all its items'), asked)
  const violations = await tab.violations()
  check('the question has no accessibility violation', violations.length === 0, violations.join())
  await tab.page.getByRole('button', { name: 'Cancel' }).click()
  check('nothing is sent after Cancel', await tab.page.getByRole('dialog').count() === 0 && await tab.page.locator('pre.answer').count() === 0)
  await tab.go('try/create-employee-import', 'Try it')
  const body = tab.page.locator('textarea')
  await body.fill((await body.inputValue()).replace(/"endMissing": false/, '"endMissing": true'))
  await tab.page.getByRole('button', { name: 'Send', exact: true }).click()
  check('an import that ends missing employees asks first', (await tab.page.getByRole('dialog').textContent()).includes('whom the file does not contain'))
  await tab.go('try/process-payment', 'Try it')
  check('the example of a payment succeeds', await sent(tab) === '201 Created' && (await tab.page.locator('pre.answer').textContent()).includes('"transactionId"'))
  const colours = await tab.page.locator('textarea').evaluate(one => [getComputedStyle(one).color, getComputedStyle(document.body).color])
  check('the body has the colour of text', colours[0] === colours[1], colours.join())
  await tab.shot('try')
  await copies(tab)
  await tab.page.locator('select[name=person]').selectOption('nobody')
  check('a caller without scopes is rejected', await answered(tab, '403 Forbidden'))
  await tab.page.locator('select[name=person]').selectOption('operator')
  await tab.page.locator('textarea').fill('{"transactionType": ')
  check('a wrong body shows the problem', await answered(tab, '400 Bad Request') && (await tab.page.locator('pre.answer').textContent()).includes('"errors"'))
  await tab.go('try/get-statement', 'Try it')
  await tab.page.locator('select[name=person]').selectOption('customer')
  check('the account follows the caller', await tab.page.locator('input[name=accountId]').inputValue() === ANN && await answered(tab, '200 OK'))
  for (const [route, person, status] of [['create-hold', 'customer', '201 Created'], ['list-registrations', 'employee', '200 OK']]) {
    await tab.go(`try/${route}`, 'Try it')
    await tab.page.locator('select[name=person]').selectOption(person)
    check(`${route} of the ${person} succeeds`, await answered(tab, status))
  }
  await tab.page.close()
}

async function answered (tab, status) {
  await tab.page.getByRole('button', { name: 'Send', exact: true }).click()
  await tab.page.getByRole('heading', { name: status }).waitFor()
  return true
}

/** The copied requests get the answer of the form. */
async function copies (tab) {
  await tab.page.getByRole('button', { name: 'Copy as curl' }).click()
  const curl = await tab.page.locator('pre.curl').textContent()
  check('copies the request as curl', curl.startsWith('curl -i') && curl.includes('idempotency-key'), curl)
  const output = execFileSync('sh', ['-c', curl.replace('curl -i', 'curl -s')]).toString()
  check('the copied command gets the same answer', JSON.parse(output).transactionId !== undefined, output)
  await tab.page.getByRole('button', { name: 'Copy as an event file' }).click()
  const event = JSON.parse(await tab.page.locator('pre.event').textContent())
  const invoked = await tab.stack.send('POST', '/_local/functions/process-payment/invocations', event)
  check('the copied event gets the same answer', invoked.body.statusCode === 201 && JSON.parse(invoked.body.body).transactionId === JSON.parse(output).transactionId, JSON.stringify(invoked.body))
  await tab.page.getByRole('button', { name: 'Copy for sam local invoke' }).click()
  const sam = await tab.page.locator('pre.sam').textContent()
  check('copies the request for sam', sam.startsWith('sam local invoke Ledger/ProcessPayment --event - <<'), sam)
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
  await links(tab)
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
  await filters(tab)
  await tab.go('trace/999999', 'Trace 999999')
  await tab.page.getByText('This request is no longer kept.').waitFor()
  check('says that a request is no longer kept', true)
  await tab.page.close()
}

/** From the detail of a payment to its docs, its form and an item collection, and back. */
async function links (tab) {
  const { page } = tab
  const detail = page.url()
  await page.getByRole('link', { name: 'L3 in the docs' }).click()
  await page.getByRole('heading', { name: 'L3 process-payment' }).waitFor()
  check('a trace links to its pattern in the docs', await page.locator('article ol li').count() > 1)
  await page.goBack()
  await page.getByRole('link', { name: 'Form', exact: true }).click()
  await page.getByRole('heading', { name: 'Post a transaction' }).waitFor()
  await page.goBack()
  check('Back returns to the trace', page.url() === detail)
  await page.getByText(new RegExp(`MODIFY FinancialTransactions: ACCOUNT#${ANN}`)).click()
  await page.getByRole('link', { name: `Item collection ACCOUNT#${ANN}` }).click()
  await page.getByRole('heading', { name: `ACCOUNT#${ANN}` }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: `ACCOUNT#${ANN}` }).waitFor()
  check('a trace links to an item collection, which a reload keeps', true)
  const { body: [refused] } = await stack.send('GET', `/_local/api/traces?function=get-payment&status=4`)
  await tab.go(`trace/${refused.number}`, refused.title)
  check('a refused request is not compared', await page.getByText(/is declared with|as declared for/).count() === 0)
  await page.goto(detail)
  await page.getByText(/is declared with|as declared for the sample request/).first().waitFor()
  check('a trace compares the measured units with the declared ones', true)
  await page.getByText('Request and response').first().click()
  const violations = await tab.violations()
  check('an opened call has no accessibility violation', violations.length === 0, violations.join())
}

async function filters (tab) {
  const { page, stack } = tab
  await tab.go('trace', 'Trace')
  await page.locator('select[name=service]').selectOption('bank')
  await page.locator('select[name=method]').selectOption('GET')
  await page.locator('select[name=status]').selectOption('2')
  await page.locator('select[name=function]').selectOption('list-overdue-payments')
  await page.getByRole('link', { name: 'GET /bank/payments/overdue' }).first().waitFor()
  const wanted = async () => (await page.locator('table.traces td:first-child').allTextContents()).every(title => title.startsWith('GET /bank/payments/overdue'))
  await page.waitForFunction(() => [...document.querySelectorAll('table.traces td:first-child')].every(one => one.textContent.startsWith('GET /bank/payments/overdue')))
  check('filters by service, method, status and function', await wanted())
  await page.reload()
  await page.getByRole('link', { name: 'GET /bank/payments/overdue' }).first().waitFor()
  check('a reload keeps the filters', await page.locator('select[name=service]').inputValue() === 'bank' && await wanted())
  const costly = await stack.send('GET', '/_local/api/traces?units=10')
  check('filters by cost', costly.body.length > 0 && costly.body.every(one => one.read + one.write >= 10))
  const exact = await stack.send('GET', `/_local/api/traces?q=${encodeURIComponent('/bank/payments/overdue ')}`)
  check('searches exactly the text', exact.body.length === 0, JSON.stringify(exact.body))
}

/** A write of another program is shown as such, and is the only cause of its effect. */
async function otherProgram (browser, stack) {
  const cart = await stack.send('POST', '/cart/accounts/Account1/items', { sku: '72f49', quantity: 1 }, { 'idempotency-key': 'console-port' })
  const [post] = await stack.until('traces?function=add-cart-item', all => all.length > 0)
  // The two changes must not arrive in one batch. The first has two effects: an event and a row.
  const passed = await stack.until(`traces/${post.number}`, trace => trace.effects.length > 1)
  const found = await stack.send('GET', '/_local/api/items?table=local-Cart&pk=Account1')
  const { item } = found.body.items.find(one => JSON.stringify(one.item).includes(cart.body.itemId))
  const { PK, SK } = item
  await stack.dynamo('UpdateItem', { TableName: 'local-Cart', Key: { PK, SK }, UpdateExpression: 'SET Quantity = :n', ExpressionAttributeValues: { ':n': { N: '3' } } })
  const [write] = await stack.until('traces?function=-', all => all.some(one => one.title === 'UpdateItem through the DynamoDB port'))
  const detail = await stack.until(`traces/${write.number}`, trace => trace.effects.length > 0)
  const effect = await stack.send('GET', `/_local/api/traces/${detail.effects[0].number}`)
  const causes = effect.body.causes.map(one => one.title)
  check('an effect of another program names that program alone', detail.effects[0].number > passed.effects[0].number && causes.join() === 'UpdateItem through the DynamoDB port', causes.join())
  await stack.dynamo('ExecuteStatement', { Statement: 'UPDATE "local-Cart" SET Quantity = ? WHERE PK = ? AND SK = ?', Parameters: [{ N: '4' }, PK, SK] })
  const [statement] = await stack.until('traces?function=-', all => all[0]?.title === 'ExecuteStatement through the DynamoDB port')
  const stated = await stack.until(`traces/${statement.number}`, trace => trace.effects.length > 0)
  check('a statement of PartiQL is a write', statement.status === 200 && stated.calls[0].changes.length === 1, JSON.stringify(stated.calls))
  const tab = await Tab.open(browser, stack)
  await tab.go(`trace/${write.number}`, 'UpdateItem through the DynamoDB port')
  await tab.page.getByText('A call of another program to the DynamoDB port').waitFor()
  await tab.page.getByText(/^MODIFY Cart: Account1/).click()
  const changed = await tab.page.locator('details[open] tr.changed').allTextContents()
  check('a write through the DynamoDB port shows its change', changed.some(row => row.startsWith('Quantity')), changed.join())
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
  await tab.page.locator('select[name=how]').selectOption('pk')
  await tab.page.locator('input[name=key]').fill(`ACCOUNT#${ANN}`)
  await tab.page.locator('input[name=begins]').fill('LEG#')
  await tab.page.getByRole('button', { name: 'Query' }).click()
  await tab.page.getByText(/TransactionLeg/).first().waitFor()
  check('queries an index by a key and the beginning of another', (await tab.page.locator('tbody tr').count()) > 0)
  await tab.shot('tables')
  const columns = await tab.page.locator('thead').first().textContent()
  check('shows the attributes that most items have as columns', columns.includes('Amount'), columns)
  await tab.page.locator('td details summary').first().click()
  await tab.page.getByRole('link', { name: 'The item in the table' }).first().click()
  await tab.page.locator('h2', { hasText: 'TXN#' }).waitFor()
  await tab.page.locator('td details').first().waitFor()
  check('an index entry links to its item', await tab.page.locator('td details').count() === 1)
  await tab.go('tables/local-FinancialTransactions', 'Tables')
  await tab.page.locator('input[name=key]').fill('TXN#')
  await tab.page.getByRole('button', { name: 'Query' }).click()
  await tab.page.getByRole('link', { name: /^TXN#/ }).first().waitFor()
  await tab.page.getByRole('link', { name: /^ACCOUNT#/ }).first().waitFor({ state: 'detached' })
  check('finds item collections by the beginning of a key', tab.page.url().includes('start=TXN'))
  await tab.page.locator('select[name=index]').selectOption('model')
  const entities = tab.page.locator('table.entities')
  await entities.waitFor()
  const leg = await entities.locator('tr', { hasText: 'TransactionLeg' }).textContent()
  check('the model shows entities with the formats of their keys', leg.includes('TXN#⟨') && leg.includes('LEG#⟨'), leg)
  await tab.go('tables/local-Activities/model', 'Tables')
  const registration = await entities.locator('tr', { hasText: 'Registration#' }).first().textContent()
  check('a word of a key is part of its format', registration.includes('Registration#UserId-⟨'), registration)
  await tab.go('tables/%E0%A4%A', 'Tables')
  check('an unknown address is no empty page', await tab.page.getByText('There is no table %E0%A4%A.').count() === 1)
  await tab.go('tables/local-FinancialTransactions/model', 'Tables')
  await entities.waitFor()
  check('the model shows access patterns', await tab.page.getByRole('link', { name: 'L3 process-payment' }).count() > 0)
  await tab.shot('model')
  await tab.go(`tables/local-FinancialTransactions/GSI1?pk=ACCOUNT%23${ANN}&from=ZZZ`, 'Tables')
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
  await tab.page.reload()
  await tab.page.getByRole('link', { name: 'Account1', exact: true }).click()
  await tab.page.getByRole('heading', { name: 'Account1' }).waitFor()
  check('Heat keeps its place after a reload, and links a key to its items', tab.page.url().includes('tables/local-PaymentScheduler?pk=Account1'))
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
  const times = await tab.page.locator('table.jobs td[data-label^=started]').allTextContents()
  const now = new Date().toISOString().slice(0, 19).replace('T', ' ')
  check('the newest job comes first', times[0] <= now && times.every((time, at) => at === 0 || times[at - 1] >= time), times.join())
  await rejectedImport(tab)
  await tab.page.getByText('local-bank-inbox', { exact: true }).waitFor()
  check('a bucket has the name that a client needs', true)
  await job.getByRole('link', { name: 'Traces of daily-2025-10-31' }).click()
  await tab.page.getByText('The newest requests that contain “daily-2025-10-31”').waitFor()
  await tab.page.locator('table.traces tbody tr').first().waitFor()
  check('a job links to its traces', true)
  await tab.page.goBack()
  const report = `report-console-${process.pid}.html`
  writeFileSync(report, '<!doctype html><title>Report</title><h1>Sales</h1>')
  await tab.page.getByRole('link', { name: `console-${process.pid}` }).click()
  await tab.page.getByRole('heading', { name: 'Sales' }).waitFor()
  unlinkSync(report)
  check('opens a report of the lake', (await stack.send('GET', '/_local/reports/..%2FREADME.md')).status === 404)
  await tab.page.close()
}

/** The sample data has orders, so their events are published. */
async function events (browser, stack) {
  const tab = await Tab.open(browser, stack)
  await tab.go('events', 'Events')
  await tab.page.locator('td', { hasText: 'OrderPlaced' }).first().waitFor()
  await tab.page.getByLabel('Search').fill('PaymentScheduled')
  await tab.page.locator('td', { hasText: 'PaymentScheduled' }).first().waitFor()
  await tab.page.locator('td', { hasText: 'OrderPlaced' }).waitFor({ state: 'detached' })
  check('the events are searched', tab.page.url().includes('q=PaymentScheduled') && tab.errors.length === 0, tab.errors.join())
  await tab.page.close()
}

/** The world has a failed import. Its retry finds no file, and then the API refuses another one. */
async function rejectedImport (tab) {
  const row = tab.page.locator('tr', { hasText: 'evening-2025-12-01' })
  const button = row.getByRole('button', { name: /^Try again/ })
  if (await button.count() > 0) await button.click()
  await row.getByText('Correct the file, and upload it again.').waitFor()
  check('there is no button for a retry that the API refuses', await button.count() === 0)
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
  for (const part of [home, forms, trace, otherProgram, tables, jobs, events, pages, keyboard, manyTraces, largeTable, restart]) await part(browser, stack)
  await examples(browser)
  await guarded(browser)
  await faults(browser)
  await otherOrigin(browser)
  console.log(`${count} checks of the console passed`)
} finally {
  await browser.close()
  await stack.stop()
}
