// Units per second of the hottest partition keys, against the limit of a partition.
import { Table, Trouble, collection, go, html, number, short, useData, useEffect, useRef } from './lib.js'
import uPlot from './vendor/uPlot.js'

/** AWS: 1,000 write units and 3,000 read units a second for each partition. */
const LIMITS = { write: 1_000, read: 3_000 }
const COLOURS = ['--t0', '--t1', '--t2', '--t3', '--t4', '--t5']

export function Heat ({ search }) {
  const { data, error, reload } = useData('api/heat', 1_000)
  const kind = search.kind === 'read' ? 'read' : 'write'
  const places = (data?.places ?? []).filter(place => place.keys.some(key => key[kind] > 0))
  const place = places.find(one => one.place === search.place) ?? places[0]
  return html`<h1 tabindex="-1">Heat</h1><${Trouble} error=${error} retry=${reload} />
    <p>Consumed units per second of each partition key in the last ten minutes. A partition of DynamoDB takes ${number(LIMITS.write)} write units and ${number(LIMITS.read)} read units per second.
      A key that is written by all requests, such as a day of due payments, is therefore divided into shards. The units of a transaction are divided equally among its items.</p>
    <div class="row">
      <label>Units <select name="kind" value=${kind} onChange=${event => go('heat', { ...search, kind: event.target.value })}><option value="write">written</option><option value="read">read</option></select></label>
      <label>Table or index <select name="place" value=${place?.place ?? ''} onChange=${event => go('heat', { ...search, place: event.target.value })}>
        ${places.map(one => html`<option key=${one.place} value=${one.place}>${short(one.place)}</option>`)}</select></label>
    </div>
    ${data && !place && html`<p class="soft">No function has ${kind === 'write' ? 'written' : 'read'} anything in the last ten minutes. <a href="#/try">Send a request</a>.</p>`}
    ${place && html`<${Chart} key=${place.place + kind} data=${data} place=${place} kind=${kind} /><${Keys} place=${place} kind=${kind} />`}`
}

const hottest = (place, kind) => place.keys.filter(key => key[kind] > 0).sort((one, other) => other[kind] - one[kind])
const peak = (key, kind) => Math.max(0, ...key.series.map(([, read, write]) => kind === 'read' ? read : write))

function Chart ({ data, place, kind }) {
  const box = useRef(null)
  const plot = useRef(null)
  const keys = hottest(place, kind).slice(0, COLOURS.length)
  const names = JSON.stringify(keys.map(key => key.key))
  const times = Array.from({ length: data.seconds }, (_, second) => data.from + second)
  const values = keys.map(key => {
    const line = new Array(data.seconds).fill(0)
    for (const [second, read, write] of key.series) line[second] = kind === 'read' ? read : write
    return line
  })
  const limit = times.map(() => LIMITS[kind])
  useEffect(() => {
    const style = getComputedStyle(document.documentElement)
    const colour = name => resolved(style.getPropertyValue(name))
    const time = (_, splits) => splits.map(second => new Date(second * 1_000).toISOString().slice(11, 19))
    const axis = { stroke: colour('--soft'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') } }
    const series = keys.map((key, at) => ({ label: key.key, stroke: colour(COLOURS[at]), width: 1.5, points: { show: false } }))
    const options = {
      width: Math.max(300, box.current.clientWidth),
      height: 320,
      scales: { y: { range: (_, __, top) => [0, Math.max(10, top * 1.1)] } },
      axes: [{ ...axis, values: time }, axis],
      legend: { show: false },
      series: [{}, ...series, { label: 'limit of a partition', stroke: colour('--bad'), dash: [6, 4], width: 1.5, show: Math.max(0, ...values.flat()) > LIMITS[kind] / 4, points: { show: false } }]
    }
    plot.current = new uPlot(options, [times, ...values, limit], box.current)
    const fit = () => { if (box.current) plot.current?.setSize({ width: Math.max(300, box.current.clientWidth), height: 320 }) }
    const resize = new ResizeObserver(fit)
    resize.observe(box.current)
    return () => { resize.disconnect(); plot.current?.destroy(); plot.current = null }
  }, [names])
  useEffect(() => plot.current?.setData([times, ...values, limit]), [data])
  return html`<div class="chart" ref=${box} role="img" aria-label=${`Units per second of ${keys.length} partition keys; the table below has the numbers`}></div>`
}

/** The colour of the current theme. A canvas does not know light-dark(). */
function resolved (colour) {
  const probe = document.createElement('span')
  probe.style.color = colour
  document.body.append(probe)
  const found = getComputedStyle(probe).color
  probe.remove()
  return found
}

function Keys ({ place, kind }) {
  const keys = hottest(place, kind)
  const most = Math.max(...keys.map(key => key[kind]))
  const [table, index = ''] = place.place.split('/')
  const rows = keys.map((key, at) => ({
    key: key.key,
    cells: [html`<span class=${at < COLOURS.length ? `t${at}` : ''}>${at < COLOURS.length ? '■ ' : ''}<a href=${collection(table, index, key.key)}>${key.key}</a></span>`, number(key[kind]), number(peak(key, kind)),
      `${(100 * peak(key, kind) / LIMITS[kind]).toFixed(1)} %`, html`<span class="bar" style=${`width: ${Math.round(160 * key[kind] / most)}px`}></span>`]
  }))
  return html`<h2>Partition keys</h2><p class="soft">${number(place.count)} in all; the hottest are shown.</p>
    <${Table} columns=${['@partition key', '#units', '#peak per second', '#of the limit', 'share']} rows=${rows} />`
}
