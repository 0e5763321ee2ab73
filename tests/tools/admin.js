// Reads, adds and removes items in dynamodb-admin with a browser.
// Usage: node admin.js <browser> <URL of dynamodb-admin>
const { chromium } = require('playwright-core')

const [browserPath, url] = process.argv.slice(2)
const TABLE = 'local-Cart'

function check (what, holds) {
  console.log(`${holds ? 'ok     ' : 'FAILED '} dynamodb-admin: ${what}`)
  if (!holds) throw new Error(what)
}

async function main () {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage()
    const errors = []
    page.on('pageerror', error => errors.push(error.message))
    page.on('response', response => response.status() >= 500 && errors.push(`${response.status()} ${response.url()}`))
    await page.goto(url)
    const tables = await page.locator('#table-list li').count()
    check('lists the tables', tables >= 7)
    await page.getByRole('link', { name: TABLE, exact: true }).click()
    await page.locator('table tbody tr').first().waitFor()
    check('shows the items of a table', await page.locator('table tbody tr').count() > 0)
    await page.goto(`${url}/tables/${TABLE}/add-item`)
    await page.evaluate("editor.setValue(JSON.stringify({PK: 'tools', SK: 'ACTIVE#1', Note: 'from a browser'}))")
    await page.locator('#saveButton').click()
    await page.waitForURL(/items/)
    check('adds an item', (await page.evaluate('editor.getValue()')).includes('from a browser'))
    await page.goto(`${url}/tables/${TABLE}/meta`)
    check('shows the table description', (await page.evaluate('editor.getValue()')).includes('DeletionProtectionEnabled'))
    await page.goto(`${url}/tables/${TABLE}/items/${encodeURIComponent('tools,ACTIVE#1')}`)
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL(address => address.pathname === `/tables/${TABLE}`)
    const gone = await page.goto(`${url}/tables/${TABLE}/items/${encodeURIComponent('tools,ACTIVE#1')}`)
    check('removes the item', gone.status() === 404)
    check(`reports no error ${errors}`, errors.length === 0)
    await page.goto(url)
    page.on('dialog', dialog => dialog.accept())
    const refused = page.waitForResponse(response => response.request().method() === 'DELETE')
    await page.locator(`li[data-table-name="${TABLE}"]`).getByText('Delete').click()
    check('cannot delete a protected table', (await refused).status() >= 400)
    await page.reload()
    check('still lists every table', await page.locator('#table-list li').count() === tables)
  } finally {
    await browser.close()
  }
}

main().catch(error => {
  console.error(error)
  process.exit(1)
})
