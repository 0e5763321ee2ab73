// Jobs with their progress and failures, and the files of the lake.
import { Trouble, bytes, get, html, number, plain, short, token, useData, useState } from './lib.js'

/** The path of a retry, by the kind of a job. Bank jobs have one path, and those of a company another. */
function retryPath (table, item) {
  const [id, partition] = [plain(item.ID), plain(item.PK) ?? '']
  if (table.endsWith('LedgerJobs')) return partition.startsWith('RECONCILIATION#') ? `/ledger/reconciliations/${id}/retry` : null
  if (table.endsWith('BankJobs')) return partition.startsWith('IMPORT#') || plain(item.Kind) === 'import' ? `/bank/imports/${id}/retry` : `/bank/jobs/${id}/retry`
  if (table.endsWith('CartJobs')) return `/cart/jobs/${id}/retry`
  const company = /^CompanyId-([^#]+)/.exec(partition)?.[1]
  return company ? `/wellness/companies/${company}/jobs/${id}/retry` : null
}

export function Jobs () {
  const { data, error, reload } = useData('api/jobs', 2_000)
  const lake = useData('api/lake', 5_000)
  const jobs = (data ?? []).map(({ table, item }) => ({ table, item, id: plain(item.ID), kind: plain(item.Kind), state: plain(item.State), done: plain(item.Done), total: plain(item.Total), skipped: plain(item.Skipped), reason: plain(item.Reason), at: plain(item.StartedAt) }))
  jobs.sort((one, other) => String(other.at).localeCompare(String(one.at)))
  return html`<h1 tabindex="-1">Jobs and lake</h1><${Trouble} error=${error} retry=${reload} />
    <h2>Jobs</h2>${data && jobs.length === 0 && html`<p class="soft">No job has started. Reports, imports and reconciliations are jobs: <a href="#/try/start-reconciliation">start one</a>.</p>`}
    ${jobs.length > 0 && html`<div class="scroll"><table><thead><tr><th scope="col">started</th><th scope="col">kind</th><th scope="col">id</th><th scope="col">state</th><th scope="col" class="n">done</th><th scope="col">reason</th><th scope="col"><span class="soft">again</span></th></tr></thead>
      <tbody>${jobs.map(job => html`<tr key=${job.table + plain(job.item.PK) + plain(job.item.SK)}><td class="n">${job.at}</td><td>${job.kind}</td><td class="key">${job.id}</td>
        <td class=${job.state === 'failed' ? 'bad' : job.state === 'done' ? 'good' : ''}>${job.state}</td>
        <td class="n">${number(job.done)}${job.total ? ` of ${number(job.total)}` : ''}${job.skipped ? `, ${number(job.skipped)} skipped` : ''}</td><td>${job.reason}</td>
        <td>${job.state === 'failed' && html`<${Retry} job=${job} done=${reload} />`}</td></tr>`)}</tbody></table></div>`}
    <h2>Lake</h2><${Trouble} error=${lake.error} />
    ${lake.data && html`<p>Files are in <code>${lake.data.folder}</code>. <code>make report</code> writes the reports${lake.data.reports.length > 0 && html`: ${lake.data.reports.map(name => html`<a key=${name} href=${`/_local/reports/${name}`}>${name.replace(/^report-?|\.html$/g, '') || 'cart'}</a> `)}`}.</p>
      ${lake.data.buckets.length === 0 && html`<p class="soft">The lake has no file yet. Change a cart, and wait a few seconds.</p>`}
      <div class="scroll"><table><thead><tr><th scope="col">bucket</th><th scope="col" class="n">files</th><th scope="col" class="n">size</th></tr></thead>
      <tbody>${lake.data.buckets.map(bucket => html`<tr key=${bucket.name}><td class="key">${short(bucket.name)}</td><td class="n">${number(bucket.files)}</td><td class="n">${bytes(bucket.bytes)}</td></tr>`)}</tbody></table></div>`}`
}

function Retry ({ job, done }) {
  const [told, setTold] = useState('')
  const path = retryPath(job.table, job.item)
  if (!path) return html`<span class="soft">starts again by itself</span>`
  const retry = async () => {
    const own = token() || (await get('api/token/operator')).token
    const response = await fetch(path, { method: 'POST', headers: { authorization: `Bearer ${own}` } })
    setTold(response.ok ? '' : `${response.status} ${(await response.json().catch(() => ({}))).detail ?? ''}`)
    done()
  }
  return html`<button onClick=${retry} aria-label=${`Try again: ${job.kind} ${job.id}`}>Try again</button> <span class="bad" role="status">${told}</span>`
}
