// The list of requests and events, live, and the details of one of them.
import { Item, Losses, Trouble, clock, get, html, millis, number, pretty, query, short, token, units, useData, useEffect, useRef, useState } from './lib.js'

const MAX_ROWS = 100

/** The newest traces, updated by server-sent events unless paused or searched. */
function useTraces (text, isPaused) {
  const [traces, setTraces] = useState([])
  const [losses, setLosses] = useState(null)
  const [error, setError] = useState(null)
  const [turn, setTurn] = useState(0)
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
          const found = await get(`api/traces?${query({ q: text })}`, { signal: stop.signal })
          setTraces(text ? found : found.slice(0, MAX_ROWS))
          setError(null)
          if (text || isPaused) return
          await listen((found[0]?.number ?? -1) + 1, merge, stop.signal)
        } catch (error) {
          if (stop.signal.aborted) return
          setError(error)
          if (error.status) return
        }
        await new Promise(resolve => setTimeout(resolve, 1_000))
      }
    }
    follow()
    return () => stop.abort()
  }, [text, isPaused, turn])
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

export function Traces ({ search }) {
  const [text, setText] = useState(search.q ?? '')
  const [isPaused, setPaused] = useState(false)
  const { traces, losses, error, reload } = useTraces(text, isPaused)
  const field = useRef(null)
  const find = event => { event.preventDefault(); setText(field.current.value.trim()) }
  return html`<h1 tabindex="-1">Trace</h1><${Trouble} error=${error} retry=${reload} />
    <form class="row" onSubmit=${find}>
      <label>Id, account or key <input name="q" ref=${field} defaultValue=${text} size="40" /></label><button>Search</button>
      ${text && html`<button type="button" onClick=${() => { field.current.value = ''; setText('') }}>Show all</button>`}
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? 'Continue' : 'Pause'}</button>
      <span class="soft" role="status">${text ? `The newest requests that contain “${text}”` : isPaused ? 'Paused' : 'Live'}</span>
    </form>
    <p><${Losses} losses=${losses} /></p>
    ${traces.length === 0 && !error && html`<p class="soft">${text ? 'No kept request contains this text.' : html`Nothing has been called yet. <a href="#/try">Send a request</a>, or call the API with curl.`}</p>`}
    <${TraceList} traces=${traces} />`
}

export function TraceList ({ traces }) {
  if (traces.length === 0) return null
  return html`<div class="scroll"><table class="traces">
    <thead><tr><th scope="col">time (UTC)</th><th scope="col">request or event</th><th scope="col">function</th><th scope="col" class="n">status</th>
      <th scope="col" class="n">ms</th><th scope="col" class="n">calls</th><th scope="col" class="n">R</th><th scope="col" class="n">W</th></tr></thead>
    <tbody>${traces.map(one => html`<tr key=${one.number}>
      <td class="n">${clock(one.at)}</td><td class="key"><a href=${`#/trace/${one.number}`}>${one.title.replace('local-', '')}</a></td><td>${one.function}</td>
      <td class=${`n ${one.error || one.status >= 400 ? 'bad' : ''}`}>${one.error ? 'failed' : one.status ?? ''}</td>
      <td class="n">${millis(one.micros)}</td><td class="n">${one.calls}${one.retries ? ` (${one.retries} again)` : ''}${one.injected ? html` <span class="bad">${one.injected} injected</span>` : ''}</td>
      <td class="n">${units(one.read)}</td><td class="n">${units(one.write)}</td></tr>`)}</tbody></table></div>`
}

export function Trace ({ number: id }) {
  const { data, error, reload } = useData(`api/traces/${id}`, 2_000)
  const home = useData('api/home')
  const declared = home.data?.services.flatMap(service => service.patterns).find(pattern => pattern.name === data?.function)
  return html`<h1 tabindex="-1">${data ? data.title.replace('local-', '') : `Trace ${id}`}</h1>
    <p><a href="#/trace">All requests and events</a></p><${Trouble} error=${error} retry=${reload} />
    ${data && html`
      <p>${data.function}, ${clock(data.at)} UTC, ${millis(data.micros)} ms.
        ${data.error ? html` <span class="bad">${data.error}</span>` : data.status ? html` Status <span class=${data.status >= 400 ? 'bad' : 'good'}>${data.status}</span>.` : ''}
        ${data.retries > 0 && html` ${data.retries} calls were sent again.`}
        ${data.omitted.length > 0 && html` <span class="bad">The ${data.omitted.join(' and the ')} had more than 256 KB and was not kept.</span>`}</p>
      <${Faults} faults=${data.faults} />
      ${data.causes.length > 0 && html`<h2>Caused by</h2><${TraceList} traces=${data.causes} />`}
      <${Cost} calls=${data.calls} declared=${declared} />
      <h2>Calls</h2>${data.calls.length === 0 && html`<p class="soft">The function called nothing.</p>`}
      ${data.calls.map((call, index) => html`<${CallBox} key=${index} call=${call} number=${index + 1} />`)}
      <h2>What followed</h2>
      ${data.effects.length === 0 ? html`<p class="soft">No stream has passed on a change of this request${data.calls.some(call => call.changes.length) ? ' yet' : ', because it wrote nothing'}.</p>` : html`<${TraceList} traces=${data.effects} />`}
      <div class="two"><details class="box"><summary>Event</summary><pre>${pretty(data.event)}</pre></details>
        <details class="box"><summary>Answer</summary><pre>${pretty(data.answer)}</pre></details></div>`}`
}

/** The faults that the hostile mode has injected. */
function Faults ({ faults }) {
  if (!faults?.length) return null
  return html`<p>${faults.map((one, index) => html`<span key=${index} class="bad">Injected: ${one.fault}${one.detail ? `, ${one.detail}` : ''}. </span>`)}</p>`
}

/** The measured units beside the declared ones. */
function Cost ({ calls, declared }) {
  const sums = new Map()
  for (const { place, read, write } of calls.flatMap(call => call.units)) {
    const sum = sums.get(place) ?? { read: 0, write: 0 }
    sums.set(place, { read: sum.read + read, write: sum.write + write })
  }
  return html`<h2>Units</h2><div class="two">
    <div><h3>Measured</h3>${sums.size === 0 ? html`<p class="soft">None.</p>` : html`<table><thead><tr><th scope="col">table or index</th><th scope="col" class="n">R</th><th scope="col" class="n">W</th></tr></thead>
      <tbody>${[...sums].map(([place, { read, write }]) => html`<tr key=${place}><td>${short(place)}</td><td class="n">${units(read)}</td><td class="n">${units(write)}</td></tr>`)}</tbody></table>`}</div>
    <div><h3>Declared</h3>${(declared?.calls ?? []).map(one => html`<p key=${one.variant}>${one.variant && html`<strong>${one.variant.replace(/^, /, '')}:</strong> `}${one.formula}</p>`)}</div>
  </div>`
}

function CallBox ({ call, number: index }) {
  const failed = call.status !== 200 && call.status !== 204
  return html`<section class="box" aria-label=${`Call ${index}`}>
    <strong>${index}. ${call.action}</strong> ${short(call.table ?? '')}${call.index ? `/${call.index}` : ''}
    <span class="soft"> at ${millis(call.at)} ms, took ${millis(call.micros)} ms</span>
    ${failed && html` <span class="bad">${call.error ?? call.status ?? 'no response'}</span>`}
    <${Faults} faults=${call.faults} />
    ${call.isCut && html`<p class="bad">A body had more than 256 KB and was not kept.</p>`}
    ${call.condition && html`<p class="key">${call.condition}</p>`}
    <p>${call.returned !== null && html`${number(call.returned)} items returned${call.scanned !== null && call.scanned !== undefined ? `, ${number(call.scanned)} read` : ''}. `}
      ${call.units.map(one => html`<span key=${one.place}>${short(one.place)} ${one.read ? `${number(one.read)} R` : `${number(one.write)} W`} </span>`)}</p>
    ${call.changes.map((change, at) => html`<details key=${at}><summary class="key">${change.event ?? 'WRITE'} ${short(change.table)}: ${change.key.PK?.S} / ${change.key.SK?.S}</summary>
      ${!change.isKnown && html`<p class="soft">The stream has no change of this item: nothing changed, or the table has no stream.</p>`}
      <${Item} item=${change.new} old=${change.old} isCompared=${true} /></details>`)}
    <details><summary>Request and response</summary><div class="two"><pre>${pretty(call.request)}</pre><pre>${pretty(call.response)}</pre></div></details>
  </section>`
}
