// Jobs with their progress and failures, and the files of the lake.
import { Table, Trouble, bytes, collection, get, html, link, number, plain, token, useData, useState } from './lib.js'

/** The path of a retry, by the kind of a job. Bank jobs have one path, and those of a company another. */
function retryPath (table, item) {
  const [id, partition] = [plain(item.ID), plain(item.PK) ?? '']
  if (table.endsWith('LedgerJobs')) return partition.startsWith('RECONCILIATION#') ? `/ledger/reconciliations/${id}/retry` : null
  if (table.endsWith('BankJobs')) return partition.startsWith('IMPORT#') || plain(item.Kind) === 'import' ? `/bank/imports/${id}/retry` : `/bank/jobs/${id}/retry`
  if (table.endsWith('CartJobs')) return `/cart/jobs/${id}/retry`
  const company = /^CompanyId-([^#]+)/.exec(partition)?.[1]
  return company ? `/wellness/companies/${company}/jobs/${id}/retry` : null
}

/** A job as the page shows it. */
function read ({ table, item }) {
  const text = name => plain(item[name])
  const isRejected = text('Kind') === 'import' && plain(item.Progress)?.Fault !== undefined
  return { table, item, id: text('ID'), kind: text('Kind'), state: text('State'), done: text('Done'), total: text('Total'), skipped: text('Skipped'), reason: text('Reason'), at: text('StartedAt') ?? '', isRejected }
}

export function Jobs () {
  const { data, error, reload } = useData('api/jobs', 2_000)
  const lake = useData('api/lake', 5_000)
  const jobs = (data ?? []).map(read).sort((one, other) => other.at.localeCompare(one.at))
  return html`<h1 tabindex="-1">Jobs and lake</h1><${Trouble} error=${error} retry=${reload} />
    <h2>Jobs</h2>${data && jobs.length === 0 && html`<p class="soft">No job has started. Reports, imports and reconciliations are jobs: <a href="#/try/start-reconciliation">start one</a>.</p>`}
    ${jobs.length > 0 && html`<${Table} name="jobs" columns=${['@job', 'kind', 'state', '#started (UTC)', '#done', 'reason', 'again']} rows=${jobs.map(job => row(job, reload))} />`}
    <${Lake} lake=${lake} />`
}

function row (job, reload) {
  const [pk, sk] = [plain(job.item.PK), plain(job.item.SK)]
  const done = `${number(job.done)}${job.total ? ` of ${number(job.total)}` : ''}${job.skipped ? `, ${number(job.skipped)} skipped` : ''}`
  return {
    key: job.table + pk + sk,
    cells: [html`${job.id} <a href=${link('trace', { q: job.id })} aria-label=${`Traces of ${job.id}`}>traces</a> <a href=${collection(job.table, '', pk, sk)} aria-label=${`Item of ${job.id}`}>item</a>`,
      job.kind, html`<span class=${job.state === 'failed' ? 'bad' : job.state === 'done' ? 'good' : ''}>${job.state}</span>`, job.at.slice(0, 19).replace('T', ' '), done, job.reason,
      job.state === 'failed' && html`<${Retry} job=${job} done=${reload} />`]
  }
}

function Lake ({ lake: { data, error } }) {
  if (!data) return html`<${Trouble} error=${error} />`
  const reports = data.reports.map(name => html`<a key=${name} href=${`/_local/reports/${name}`}>${name.replace(/^report-?|\.html$/g, '') || 'cart'}</a> `)
  // The folder of the S3 server has its own data, which is no bucket.
  const buckets = data.buckets.filter(bucket => !bucket.name.startsWith('.'))
  return html`<h2>Lake</h2><${Trouble} error=${error} />
    <p>Files are in <code>${data.folder}</code>. <code>make report</code> writes the reports${reports.length > 0 && html`: ${reports}`}. A change arrives in the lake after about ten seconds.</p>
    ${buckets.length === 0 && html`<p class="soft">The lake has no file yet. Change a cart, and wait a few seconds.</p>`}
    <${Table} columns=${['@bucket', '#files', '#size']} rows=${buckets.map(bucket => ({ key: bucket.name, cells: [bucket.name, number(bucket.files), bytes(bucket.bytes)] }))} />`
}

function Retry ({ job, done }) {
  const [told, setTold] = useState('')
  const path = retryPath(job.table, job.item)
  if (job.isRejected) return html`<span class="soft">Correct the file, and upload it again.</span>`
  if (!path) return html`<span class="soft">starts again by itself</span>`
  const retry = async () => {
    const own = token() || (await get('api/token/operator')).token
    const response = await fetch(path, { method: 'POST', headers: { authorization: `Bearer ${own}` } })
    setTold(response.ok ? '' : `${response.status} ${(await response.json().catch(() => ({}))).detail ?? ''}`)
    done()
  }
  return html`<button onClick=${retry} aria-label=${`Try again: ${job.kind} ${job.id}`}>Try again</button> <span class="bad" role="status">${told}</span>`
}
