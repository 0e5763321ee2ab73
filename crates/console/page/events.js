// The published events, newest first.
import { Table, Trouble, go, html, useData, useEffect, useState } from './lib.js'

export function Events ({ search: { q = '' } }) {
  const [{ after, events }, keep] = useState({ after: 0, events: [] })
  const { data, error } = useData(`events?after=${after}`, 1_000)
  useEffect(() => {
    if (data?.next > after) keep({ after: data.next, events: [...data.items.reverse(), ...events].slice(0, 999) })
  }, [data])
  const rows = events.map(event => ({ key: event.sequence, cells: [event.time, event.source, event['detail-type'], JSON.stringify(event.detail.data)] }))
  return html`<h1 tabindex="-1">Events</h1><${Trouble} error=${error} />
    <label>Search <input type="search" value=${q} onInput=${event => go('events', { q: event.target.value })} /></label>
    <${Table} columns=${['time (UTC)', 'service', 'type', '@data']} rows=${rows.filter(row => row.cells.join(' ').includes(q))} />`
}
