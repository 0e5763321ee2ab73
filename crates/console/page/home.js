// Where to start, and the services with their access patterns, tables, streams and schedules.
import { Ask, Losses, Notation, Table, Trouble, bytes, formOf, html, link, number, post, short, useData, useState } from './lib.js'

/** One request of each service. */
const STARTS = [
  ['bank', 'schedule-payment', 'Schedule a payment', 'Its sort key starts with its time. An index lists all payments that are due, on several shards.'],
  ['cart', 'add-cart-item', 'Put an article into a cart', 'The cart and its item change together. The stream sends the change to the lake.'],
  ['wellness', 'join-activity', 'Join an activity', 'Two employees cannot take the last seat at the same time.'],
  ['ledger', 'process-payment', 'Post a transaction', 'Each balance and its legs are written in one transaction.']
]
const ROWS = 5

export function Home () {
  const { data, error, reload } = useData('api/home', 5_000)
  const streams = useData('streams', 5_000)
  return html`<h1 tabindex="-1">What runs here</h1>
    <${Trouble} error=${error} retry=${reload} />
    ${data && html`
      <${Start} data=${data} />
      <p>${number(data.traces)} requests and events since the start. <a href="#/trace">Trace</a> shows them live, and <a href="#/try">Try it</a> sends one.
        <${Losses} losses=${data.losses} /></p>
      <${TableList} tables=${data.tables} reload=${reload} />
      <${Streams} streams=${streams.data?.mappings ?? []} />
      <${Schedules} schedules=${data.schedules} />
      <h2>Access patterns</h2><${Notation} />
      ${data.services.map(service => html`<${Service} key=${service.name} service=${service} />`)}`}`
}

function Start ({ data }) {
  const routed = data.services.flatMap(service => service.patterns).filter(pattern => pattern.routes.length > 0)
  const starts = STARTS.filter(([, name]) => routed.some(pattern => pattern.name === name))
  return html`<section aria-labelledby="start"><h2 id="start">Start here</h2>
    <p>Send a request. Its trace then shows each DynamoDB call, the items before and after, the units, and what the stream sets off.</p>
    <div class="cards">${starts.map(([service, name, title, why]) => html`<a class="box card" key=${name} href=${`#/try/${name}`}>
      <span class="soft">${service}</span><strong>${title}</strong><span>${why}</span></a>`)}</div>
    <${Lessons} lessons=${data.lessons ?? []} /></section>`
}

/** The pages of docs/learn. */
function Lessons ({ lessons }) {
  if (lessons.length === 0) return null
  return html`<h3>Lessons</h3><ol>${lessons.map(({ page, title }) => html`<li key=${page}><a href=${`#/docs/learn/${page}`}>${title}</a></li>`)}</ol>`
}

function TableList ({ tables, reload }) {
  const rows = tables.map(table => ({
    key: table.name,
    cells: [html`<a href=${`#/tables/${table.name}`}>${short(table.name)}</a>`, table.indexes.map(index => index.name).join(', '),
      `${number(table.items)}${table.isMore ? '+' : ''}`, `${bytes(table.bytes)}${table.isMore ? '+' : ''}`, table.stream ? 'yes' : '']
  }))
  return html`<h2>Tables</h2><${Table} columns=${['table', 'indexes', '#items', '#size', 'stream']} rows=${rows} /><${Reset} done=${reload} />`
}

/** Deletes all items, and creates the sample data again. */
function Reset ({ done }) {
  const [isAsked, ask] = useState(false)
  const [told, setTold] = useState('')
  const reset = async () => {
    ask(false)
    setTold('The tables are emptied and filled again …')
    try {
      const { deleted } = await post('reset')
      setTold(`${number(deleted)} items were deleted. The tables have the sample data.`)
    } catch (error) {
      setTold(error.message)
    }
    done()
  }
  return html`<p><button onClick=${() => ask(true)}>Reset the sample data</button> <span role="status">${told}</span></p>
    ${isAsked && html`<${Ask} title="Reset the sample data?" action="Delete all items" yes=${reset} no=${() => ask(false)}>
      <p>This deletes every item of every table, also those that you have created. Then it creates the sample data. The lake keeps its files.</p><//>`}`
}

function Streams ({ streams }) {
  const rows = streams.map(one => ({
    key: one.function + one.name,
    cells: [one.function, short(one.table), number(one.pending), number(one.delivered), number(one.filtered), number(one.retries),
      html`<span class=${one.givenUp ? 'bad' : ''}>${number(one.givenUp)}</span>`]
  }))
  return html`<h2>Streams</h2>${streams.length === 0 ? html`<p class="soft">No function reads a stream.</p>`
    : html`<${Table} columns=${['function', 'table', '#waiting', '#delivered', '#filtered', '#retries', '#given up']} rows=${rows} />`}`
}

/** The time of a field of type datetime-local, in UTC, or nothing. */
const seconds = text => text ? { now: Date.parse(`${text}Z`) / 1_000 } : {}

function Schedules ({ schedules }) {
  const [told, setTold] = useState('')
  const [time, setTime] = useState('')
  const run = async name => {
    setTold(`${name} is running …`)
    try {
      const answer = await post(`schedules/${name}`, seconds(time))
      setTold(`${name} answered ${JSON.stringify(answer)}`)
    } catch (error) {
      setTold(`${name}: ${error.message}`)
    }
  }
  const rows = schedules.map(one => ({
    key: one.function + one.name,
    cells: [one.function, one.schedule, html`<button onClick=${() => run(one.function)} aria-label=${`Run now: ${one.function}`}>Run now</button>
      <a href=${link('trace', { function: one.function })}>Its traces</a>`]
  }))
  return html`<h2>Schedules</h2><p>AWS runs these functions by itself. Here, the button runs one.</p>
    <label>Time of the event (UTC), empty for the present <input type="datetime-local" name="time" step="1" value=${time} onInput=${event => setTime(event.target.value)} /></label>
    <p role="status" class="key told">${told}</p><${Table} columns=${['function', '@schedule', 'run']} rows=${rows} />`
}

function Service ({ service }) {
  return html`<details class="box" open=${service.patterns.length <= ROWS}>
    <summary><strong>${service.name}</strong> <span class="soft">${service.patterns.length} ${service.patterns.length === 1 ? 'access pattern' : 'access patterns'}</span></summary>
    ${service.patterns.map(pattern => html`<${Pattern} key=${pattern.name} pattern=${pattern} page=${`access-patterns/${service.name}.md`} />`)}
  </details>`
}

function Pattern ({ pattern, page }) {
  const routes = pattern.routes.map(route => {
    const [method, path] = route.split(' ')
    return html`<a key=${route} href=${formOf(pattern.name, path)}>${method} ${path}</a> `
  })
  return html`<h3>${pattern.id} ${pattern.name}</h3>
    <p class="key">${routes.length ? routes : pattern.trigger}</p>
    <${Table} columns=${['case', 'units']} rows=${pattern.calls.map(calls => ({ key: calls.variant, cells: [html`<span class="soft">${calls.variant.replace(/^, /, '') || 'units'}</span>`, calls.formula] }))} />
    <p><a href=${link(`docs/${page}`, { at: pattern.name })}>Calls and costs of ${pattern.name}</a> · <a href=${link('trace', { function: pattern.name })}>Traces</a></p>`
}
