// The list of requests and events, live, and the details of one of them.
import { Item, Losses, Notation, Table, Trouble, clock, collection, formOf, get, go, html, link, millis, number, place, pretty, query, short, token, units, useData, useEffect, useState } from './lib.js'

const MAX_ROWS = 100
/** Time between two looks at the traces, in milliseconds. */
const PAUSE = 2_000

/**
 * The newest traces, updated by server-sent events, unless they are paused or filtered. A filter by
 * text reads all kept bodies, so it is applied once.
 */
function useTraces (filter, isPaused) {
  const [traces, setTraces] = useState([])
  const [losses, setLosses] = useState(null)
  const [error, setError] = useState(null)
  const [turn, setTurn] = useState(0)
  const search = query(filter)
  useEffect(() => {
    const stop = new AbortController()
    const merge = ({ traces: more, losses }) => {
      setLosses(losses)
      if (more.length === 0) return
      const first = more.at(-1).number
      setTraces(known => [...more, ...known.filter(one => one.number < first)].slice(0, MAX_ROWS))
    }
    const follow = async () => {
      while (!stop.signal.aborted) {
        try {
          const found = await get(`api/traces?${search}`, { signal: stop.signal })
          setTraces(search ? found : found.slice(0, MAX_ROWS))
          setError(null)
          if (filter.q || isPaused) return
          if (!search) await listen((found[0]?.number ?? -1) + 1, merge, stop.signal)
        } catch (error) {
          if (stop.signal.aborted) return
          setError(error)
          if (error.status) return
        }
        await new Promise(resolve => setTimeout(resolve, PAUSE))
      }
    }
    follow()
    return () => stop.abort()
  }, [search, isPaused, turn])
  return { traces, losses, error, reload: () => setTurn(turn => turn + 1) }
}

/** Reads server-sent events. EventSource cannot send a token. */
async function listen (from, take, signal) {
  const response = await fetch(`/_local/api/live?from=${from}`, { signal, headers: token() ? { authorization: `Bearer ${token()}` } : {} })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const messages = (rest + value).split('\n\n')
    rest = messages.pop()
    for (const message of messages) {
      if (message.startsWith('data: ')) take(JSON.parse(message.slice(6)))
    }
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map(name => [name, name])
const STATUSES = [['2', '200 to 299'], ['4', '400 to 499'], ['5', '500 to 599'], ['failed', 'failed functions']]
const COSTS = ['1', '5', '10', '50', '100'].map(units => [units, `at least ${units} units`])

export function Traces ({ search }) {
  const [isPaused, setPaused] = useState(false)
  const home = useData('api/home')
  const services = home.data?.services ?? []
  const patterns = services.filter(({ name }) => !search.service || name === search.service).flatMap(service => service.patterns)
  const functions = search.function ?? (search.service ? patterns.map(pattern => pattern.name).join() || '…' : '')
  const { q, method, status, units } = search
  const filter = { q, function: functions, method, status, units }
  const isWaiting = search.service && !home.data
  const { traces, losses, error, reload } = useTraces(isWaiting ? { function: '…' } : filter, isPaused)
  // The address may have changed since the last render.
  const set = values => go('trace', { ...place().search, ...values })
  const isFiltered = Object.keys(search).length > 0
  return html`<h1 tabindex="-1">Trace</h1><${Trouble} error=${error} retry=${reload} />
    <${Search} text=${q ?? ''} set=${q => set({ q })} />
    <div class="row filters">
      <${Choice} name="service" value=${search.service} set=${service => set({ service, function: '' })} options=${services.map(({ name }) => [name, name])} />
      <${Choice} name="function" value=${search.function} set=${name => set({ function: name })} options=${[...patterns.map(({ name }) => [name, name]), ['-', 'another program']]} />
      <${Choice} name="method" value=${method} set=${method => set({ method })} options=${METHODS} />
      <${Choice} name="status" value=${status} set=${status => set({ status })} options=${STATUSES} />
      <${Choice} name="cost" value=${units} set=${units => set({ units })} options=${COSTS} />
      ${isFiltered && html`<button type="button" onClick=${() => go('trace')}>Show all</button>`}
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Continue' : 'Pause'}</button>
      <span class="soft" role="status">${q ? `The newest requests that contain “${q}”` : isPaused ? 'Paused' : 'Live'}</span>
    </div>
    <p><${Losses} losses=${losses} /></p><${Notation} />
    ${traces.length === 0 && !error && !isWaiting && html`<p class="soft">${q ? 'No kept request contains this text.' : isFiltered ? 'No kept request matches the filters.' : html`Nothing has been called yet. <a href="#/try">Send a request</a>, or call the API with curl.`}</p>`}
    <${TraceList} traces=${traces} />`
}

/** The text is searched as it is entered, with its spaces. */
function Search ({ text, set }) {
  const [entered, enter] = useState(text)
  useEffect(() => enter(text), [text])
  return html`<form class="row" onSubmit=${event => { event.preventDefault(); set(entered) }}>
    <label>Exact text in a path, a key, an id or a body <input name="q" value=${entered} onInput=${event => enter(event.target.value)} size="40" /></label><button>Search</button></form>`
}

function Choice ({ name, value = '', set, options }) {
  return html`<label>${name} <select name=${name} value=${value} onChange=${event => set(event.target.value)}>
    <option value="">any</option>${options.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}</select></label>`
}

const titled = one => one.title.replaceAll('local-', '')

export function TraceList ({ traces }) {
  if (traces.length === 0) return null
  const rows = traces.map(one => ({
    key: one.number,
    cells: [html`<a class="key" href=${`#/trace/${one.number}`}>${titled(one)}</a>`, clock(one.at), one.function === '-' ? 'another program' : one.function,
      (one.error || one.status) && html`<span class=${one.error || one.status >= 400 ? 'bad' : ''}>${one.error ? 'failed' : one.status}</span>`, millis(one.micros),
      html`${one.calls}${one.retries ? ` (${one.retries} again)` : ''}${one.injected ? html` <span class="bad">${one.injected} injected</span>` : ''}`, units(one.read), units(one.write)]
  }))
  return html`<${Table} name="traces" columns=${['request or event', '#time (UTC)', 'function', '#status', '#ms', '#calls', '#R', '#W']} rows=${rows} />`
}

export function Trace ({ number: id }) {
  const { data, error, reload } = useData(`api/traces/${id}`, 2_000)
  return html`<h1 tabindex="-1">${data ? titled(data) : `Trace ${id}`}</h1>
    <p><a href="#/trace">All requests and events</a></p><${Trouble} error=${error} retry=${reload} />
    ${data && html`<${Details} data=${data} />`}`
}

function Details ({ data }) {
  const home = useData('api/home')
  const service = home.data?.services.find(service => service.patterns.some(pattern => pattern.name === data.function))
  const declared = service?.patterns.find(pattern => pattern.name === data.function)
  const isWritten = data.calls.some(call => call.changes.length)
  return html`<p>${data.function === '-' ? 'A call of another program to the DynamoDB port' : data.function}, ${clock(data.at)} UTC, ${millis(data.micros)} ms.
      ${data.error ? html` <span class="bad">${data.error}</span>` : data.status ? html` Status <span class=${data.status >= 400 ? 'bad' : 'good'}>${data.status}</span>.` : ''}
      ${data.retries > 0 && html` ${data.retries} calls were sent again.`}
      ${data.omitted.length > 0 && html` <span class="bad">The ${data.omitted.join(' and the ')} had more than 256 KB and was not kept.</span>`}</p>
    ${declared && html`<${Places} declared=${declared} service=${service.name} event=${data.event} />`}
    <${Faults} faults=${data.faults} />
    ${data.causes.length > 0 && html`<h2>Caused by</h2><${TraceList} traces=${data.causes} />`}
    <${Cost} calls=${data.calls} declared=${declared} isDone=${!data.error && !(data.status >= 400)} />
    <h2>Calls</h2>${data.calls.length === 0 && html`<p class="soft">The function called nothing.</p>`}
    ${data.calls.map((call, index) => html`<${CallBox} key=${index} call=${call} number=${index + 1} />`)}
    <h2>What followed</h2>
    ${data.effects.length === 0 ? html`<p class="soft">No stream has passed on a change of this request${isWritten ? ' yet' : ', because it wrote nothing'}.</p>` : html`<${TraceList} traces=${data.effects} />`}
    <div class="two"><details class="box"><summary>Event</summary><pre tabindex="0">${pretty(data.event)}</pre></details>
      <details class="box"><summary>Answer</summary><pre tabindex="0">${pretty(data.answer)}</pre></details></div>`
}

/** The form, the docs and the other traces of the function. */
function Places ({ declared, service, event }) {
  const route = event?.routeKey?.split(' ')[1]
  return html`<p>${route && html`<a href=${formOf(declared.name, route)}>Form</a> · `}
    <a href=${link(`docs/access-patterns/${service}.md`, { at: declared.name })}>${declared.id} in the docs</a> · <a href=${link('trace', { function: declared.name })}>Traces of ${declared.name}</a></p>`
}

/** The faults that the hostile mode has injected. */
function Faults ({ faults }) {
  if (!faults?.length) return null
  return html`<p>${faults.map((one, index) => html`<span key=${index} class="bad">Injected: ${one.fault}${one.detail ? `, ${one.detail}` : ''}. </span>`)}</p>`
}

/** The sums of the units of each table and index. */
function sums (calls) {
  const found = new Map()
  for (const { place, read, write } of calls.flatMap(call => call.units)) {
    const sum = found.get(place) ?? { read: 0, write: 0 }
    found.set(place, { read: sum.read + read, write: sum.write + write })
  }
  return found
}

/** The measured units beside the declared ones. */
function Cost ({ calls, declared, isDone }) {
  const places = sums(calls)
  const rows = [...places].map(([place, { read, write }]) => ({ key: place, cells: [short(place), units(read), units(write)] }))
  const total = [...places.values()].reduce((sum, one) => ({ read: sum.read + one.read, write: sum.write + one.write }), { read: 0, write: 0 })
  return html`<h2>Units</h2><div class="two">
    <div><h3>Measured</h3>${rows.length === 0 ? html`<p class="soft">None.</p>` : html`<${Table} columns=${['table or index', '#R', '#W']} rows=${rows} />`}<${Compared} total=${total} sample=${isDone && declared?.calls.length > 0 && declared.sample} /></div>
    <div><h3>Declared</h3>${(declared?.calls ?? []).map(one => html`<p key=${one.variant}>${one.variant && html`<strong>${one.variant.replace(/^, /, '')}:</strong> `}${one.formula}</p>`)}<${Notation} /></div>
  </div>`
}

/** The difference to the units of the sample request, which a test compares with the formula. */
function Compared ({ total, sample }) {
  if (!sample) return null
  const signed = (value, unit) => value === 0 ? '' : `${value > 0 ? '+' : '−'}${number(Math.abs(value))} ${unit}`
  const differences = [signed(total.read - sample.read, 'R'), signed(total.write - sample.write, 'W')].filter(Boolean)
  const declared = `${number(sample.read)} R, ${number(sample.write)} W`
  return differences.length === 0 ? html`<p class="good">✓ as declared for the sample request: ${declared}.</p>`
    : html`<p>The sample request is declared with ${declared}. The difference is <strong>${differences.join(', ')}</strong>: another size, number of items or case of the formula.</p>`
}

/** The partition key of a call with one, as its table and index show it. */
function target (call) {
  const { request } = call
  const name = /= (:\w+)/.exec(request?.KeyConditionExpression ?? '')?.[1]
  const pk = name ? request.ExpressionAttributeValues?.[name]?.S : (request?.Key ?? request?.Item ?? request?.RequestItems?.[call.table]?.Keys?.[0])?.PK?.S
  return pk && collection(call.table, call.index, pk, request.Key?.SK?.S)
}

function CallBox ({ call, number: index }) {
  const failed = call.status !== 200 && call.status !== 204
  const name = `${short(call.table ?? '').replaceAll('local-', '')}${call.index ? `/${call.index}` : ''}`
  return html`<section class="box" aria-label=${`Call ${index}`}>
    <strong>${index}. ${call.action}</strong> ${target(call) ? html`<a href=${target(call)}>${name}</a>` : name}
    <span class="soft"> at ${millis(call.at)} ms, took ${millis(call.micros)} ms</span>
    ${failed && html` <span class="bad">${call.error ?? call.status ?? 'no response'}</span>`}
    <${Faults} faults=${call.faults} />
    ${call.isCut && html`<p class="bad">A body had more than 256 KB and was not kept.</p>`}
    ${call.condition && html`<p class="key told">${call.condition}</p>`}
    <p>${call.returned !== null && html`${number(call.returned)} items returned${call.scanned !== null && call.scanned !== undefined ? `, ${number(call.scanned)} read` : ''}. `}
      ${call.units.map(one => html`<span key=${one.place}>${short(one.place)} ${one.read ? `${number(one.read)} R` : `${number(one.write)} W`} </span>`)}</p>
    ${call.changes.map((change, at) => html`<${Change} key=${at} change=${change} />`)}
    <details><summary>Request and response</summary><div class="two"><pre tabindex="0">${pretty(call.request)}</pre><pre tabindex="0">${pretty(call.response)}</pre></div></details>
  </section>`
}

function Change ({ change }) {
  const [pk, sk] = [change.key.PK?.S, change.key.SK?.S]
  return html`<details><summary class="key">${change.event ?? 'WRITE'} ${short(change.table)}: ${pk} / ${sk}</summary>
    <p><a href=${collection(change.table, '', pk)}>Item collection ${pk}</a></p>
    ${!change.isKnown && html`<p class="soft">The stream has no change of this item: nothing changed, or the table has no stream.</p>`}
    <${Item} item=${change.new} old=${change.old} isCompared=${true} /></details>`
}
