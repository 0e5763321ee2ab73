// The services with their access patterns, the tables, the streams and the schedules.
import { Losses, Trouble, bytes, html, number, post, short, useData, useState } from './lib.js'

const ROWS = 5

export function Home () {
  const { data, error, reload } = useData('api/home', 5_000)
  const streams = useData('streams', 5_000)
  return html`<h1 tabindex="-1">What runs here</h1>
    <${Trouble} error=${error} retry=${reload} />
    ${data && html`
      <p>${number(data.traces)} requests and events since the start. <a href="#/trace">Trace</a> shows them live, and <a href="#/try">Try it</a> sends one.
        <${Losses} losses=${data.losses} /></p>
      <${TableList} tables=${data.tables} />
      <${Streams} streams=${streams.data?.mappings ?? []} />
      <${Schedules} schedules=${data.schedules} />
      ${data.services.map(service => html`<${Service} key=${service.name} service=${service} />`)}`}`
}

function TableList ({ tables }) {
  return html`<h2>Tables</h2><div class="scroll"><table>
    <thead><tr><th scope="col">table</th><th scope="col">indexes</th><th scope="col" class="n">items</th><th scope="col" class="n">size</th><th scope="col">stream</th></tr></thead>
    <tbody>${tables.map(table => html`<tr key=${table.name}>
      <td><a href=${`#/tables/${table.name}`}>${short(table.name)}</a></td>
      <td>${table.indexes.map(index => index.name).join(', ')}</td>
      <td class="n">${number(table.items)}${table.isMore ? '+' : ''}</td><td class="n">${bytes(table.bytes)}${table.isMore ? '+' : ''}</td>
      <td>${table.stream ? 'yes' : ''}</td></tr>`)}</tbody></table></div>`
}

function Streams ({ streams }) {
  return html`<h2>Streams</h2>${streams.length === 0 && html`<p class="soft">No function reads a stream.</p>`}
    <div class="scroll"><table>
    <thead><tr><th scope="col">function</th><th scope="col">table</th><th scope="col" class="n">waiting</th><th scope="col" class="n">delivered</th><th scope="col" class="n">filtered</th><th scope="col" class="n">retries</th><th scope="col" class="n">given up</th></tr></thead>
    <tbody>${streams.map(one => html`<tr key=${one.function + one.name}><td>${one.function}</td><td>${short(one.table)}</td>
      <td class="n">${number(one.pending)}</td><td class="n">${number(one.delivered)}</td><td class="n">${number(one.filtered)}</td>
      <td class="n">${number(one.retries)}</td><td class=${`n ${one.givenUp ? 'bad' : ''}`}>${number(one.givenUp)}</td></tr>`)}</tbody></table></div>`
}

function Schedules ({ schedules }) {
  const [told, setTold] = useState('')
  const run = async name => {
    setTold(`${name} is running …`)
    try {
      const answer = await post(`schedules/${name}`)
      setTold(`${name} answered ${JSON.stringify(answer)}`)
    } catch (error) {
      setTold(`${name}: ${error.message}`)
    }
  }
  return html`<h2>Schedules</h2><p role="status" class="key">${told}</p><div class="scroll"><table>
    <thead><tr><th scope="col">function</th><th scope="col">schedule</th><th scope="col"><span class="soft">AWS runs it by itself</span></th></tr></thead>
    <tbody>${schedules.map(one => html`<tr key=${one.function + one.name}><td>${one.function}</td><td class="key">${one.schedule}</td>
      <td><button onClick=${() => run(one.function)} aria-label=${`Run now: ${one.function}`}>Run now</button></td></tr>`)}</tbody></table></div>`
}

function Service ({ service }) {
  return html`<details class="box" open=${service.patterns.length <= ROWS}>
    <summary><strong>${service.name}</strong> <span class="soft">${service.patterns.length} ${service.patterns.length === 1 ? 'access pattern' : 'access patterns'}</span></summary>
    ${service.patterns.map(pattern => html`<div key=${pattern.name}>
      <h3>${pattern.id} ${pattern.routes.length ? html`<a href=${`#/try/${pattern.name}`}>${pattern.name}</a>` : pattern.name}</h3>
      <p class="key">${pattern.routes.length ? pattern.routes.join(' · ') : pattern.trigger}</p>
      <div class="scroll"><table><tbody>${pattern.calls.map(calls => html`<tr key=${calls.variant}>
        <td class="soft">${calls.variant.replace(/^, /, '')}</td><td>${calls.formula}</td></tr>`)}</tbody></table></div>
    </div>`)}
  </details>`
}
