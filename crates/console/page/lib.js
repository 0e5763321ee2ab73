// Helpers that all pages share: requests to the stack, formats and small components.
import { h, render, Fragment } from './vendor/preact.js'
import { useEffect, useMemo, useRef, useState } from './vendor/hooks.js'
import htm from './vendor/htm.js'

export const html = htm.bind(h)
export { render, Fragment, useEffect, useMemo, useRef, useState }

const TOKEN = 'console-token'
export const token = () => sessionStorage.getItem(TOKEN) ?? ''
export const setToken = text => sessionStorage.setItem(TOKEN, text.trim().replace(/^Bearer /i, ''))

export class Failure extends Error {
  constructor (status, message) {
    super(message)
    this.status = status
  }
}

const withToken = headers => token() ? { ...headers, authorization: `Bearer ${token()}` } : headers

/** Requests JSON from a path below /_local/. */
export async function get (path, options = {}) {
  const response = await fetch(`/_local/${path}`, { ...options, headers: withToken(options.headers ?? {}) })
  const body = await response.json().catch(() => ({}))
  if (!response.ok) throw new Failure(response.status, body.detail ?? body.title ?? body.message ?? response.statusText)
  return body
}

export const post = (path, body = {}) => get(path, { method: 'POST', body: JSON.stringify(body) })

/** Loads a path, again each `every` milliseconds. Keeps the last data while the stack is stopped. */
export function useData (path, every = 0) {
  const [state, setState] = useState({ data: null, error: null })
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (path === null) return
    let isCurrent = true
    let timer = 0
    const load = async () => {
      try {
        const data = await get(path)
        if (isCurrent) setState({ data, error: null })
      } catch (error) {
        if (isCurrent) setState(({ data }) => ({ data, error }))
      }
      if (isCurrent && every > 0) timer = setTimeout(load, every)
    }
    load()
    return () => { isCurrent = false; clearTimeout(timer) }
  }, [path, every, turn])
  return { ...state, reload: () => setTurn(turn => turn + 1) }
}

/** Asks for a token, or says that the stack cannot be reached. */
export function Trouble ({ error, retry }) {
  const [text, setText] = useState('')
  if (!error) return null
  if (error.status !== 401 && error.status !== 403) {
    const why = error.status ? error.message : 'The stack does not answer. Is `make run` still running?'
    return html`<p class="notice" role="status">${why}</p>`
  }
  const save = event => { event.preventDefault(); setToken(text); retry?.() }
  return html`<form class="notice" onSubmit=${save}>
    <p>This stack requires a token with the scopes of an operator. To create one:</p>
    <pre>make token ARGS='--scope bank:operate --scope cart:operate --scope wellness:operate --scope ledger:operate'</pre>
    <div class="row">
      <label>Token <input name="token" autocomplete="off" value=${text} onInput=${event => setText(event.target.value)} /></label>
      <button class="main">Use the token</button>
    </div>
  </form>`
}

/** Says how many invocations were not recorded, and why. */
export function Losses ({ losses }) {
  if (!losses) return null
  const { tooMany, failed, lastFailed } = losses
  return html`${tooMany > 0 && html` <span class="bad">${number(tooMany)} were not recorded, because too many came at once.</span>`}
    ${failed > 0 && html` <span class="bad">${number(failed)} could not be recorded, the last one of ${lastFailed}. The log of the stack has the cause.</span>`}`
}

export const number = value => value === null || value === undefined ? '' : Number(value).toLocaleString('en', { maximumFractionDigits: 1 })
export const units = value => value ? number(value) : ''
export const millis = micros => (micros / 1000).toFixed(micros < 100_000 ? 1 : 0)
export const clock = milliseconds => new Date(milliseconds).toISOString().slice(11, 23)
export const bytes = size => size < 1024 ? `${size} B` : size < 1024 ** 2 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1024 ** 2).toFixed(1)} MB`
export const pretty = value => JSON.stringify(value, null, 2)
export const short = name => name.replace(/^local-/, '')
export const query = values => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== '' && value !== null && value !== undefined)).toString()

/** A DynamoDB attribute value as plain JSON. */
export function plain (value) {
  if (value === null || typeof value !== 'object') return value
  const [kind, content] = Object.entries(value)[0] ?? []
  switch (kind) {
    case 'S': return content
    case 'N': return Number.isSafeInteger(Number(content)) ? Number(content) : content
    case 'L': return content.map(plain)
    case 'M': return Object.fromEntries(Object.entries(content).map(([name, part]) => [name, plain(part)]))
    case 'NULL': return null
    default: return content
  }
}

/** The address of a page of the console, such as #/tables/local-Cart?pk=1. */
export const link = (path, values = {}) => {
  const search = query(values)
  return `#/${path}${search ? `?${search}` : ''}`
}

/** The parts of the address. */
export function place () {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { parts: path.split('/').map(part => { try { return decodeURIComponent(part) } catch { return part } }), search: Object.fromEntries(new URLSearchParams(search)) }
}

export const go = (path, values) => { location.hash = link(path, values) }

/** The address of an item collection, or of one item in it. */
export const collection = (table, index, pk, sk = '') => link(`tables/${table}${index ? `/${index}` : ''}`, { pk, from: sk, to: sk })

/** The address of the form of a route. */
export const formOf = (name, path) => `#/try/${name}/${encodeURIComponent(path)}`

/**
 * A table whose rows become blocks in a small window. A column that starts with # has numbers, and
 * one that starts with @ has keys.
 */
export function Table ({ columns, rows, name }) {
  const kinds = columns.map(column => ({ '#': 'n', '@': 'key' })[column[0]] ?? '')
  const labels = columns.map(column => column.replace(/^[#@]/, ''))
  return html`<div class="scroll"><table class=${name}>
    <thead><tr>${labels.map((label, at) => html`<th key=${at} scope="col" class=${kinds[at] === 'n' ? 'n' : undefined}>${label}</th>`)}</tr></thead>
    <tbody>${rows.map(({ key, cells, ...rest }) => html`<tr key=${key} ...${rest}>
      ${cells.map((cell, at) => html`<td key=${at} class=${kinds[at]} data-label=${at > 0 ? labels[at] : undefined}>${cell}</td>`)}</tr>`)}</tbody></table></div>`
}

/** Asks before something is lost. */
export function Ask ({ title, action, yes, no, children }) {
  const box = useRef(null)
  useEffect(() => box.current.showModal(), [])
  return html`<dialog ref=${box} onClose=${no} aria-labelledby="ask"><h2 id="ask">${title}</h2>${children}
    <div class="row"><button type="button" class="danger" onClick=${yes}>${action}</button><button type="button" autofocus onClick=${() => box.current.close()}>Cancel</button></div></dialog>`
}

/** Says what the units and the formulas mean. */
export function Notation () {
  return html`<details class="notation"><summary>What do R, W, ⌈item⌉ and ALL mean?</summary><dl>
    <dt>R, W</dt><dd>Read and write request units of DynamoDB. On-demand tables are billed by these units.</dd>
    <dt>⌈item⌉</dt><dd>The size of the item in whole units: 4 KB for a read, 1 KB for a write. An item of 300 bytes costs 1 unit.</dd>
    <dt>½ ⌈item⌉</dt><dd>An eventually consistent read. It costs half as much.</dd>
    <dt>⌈entry⌉</dt><dd>The size of the item's entry in an index, in whole units.</dd>
    <dt>Cart/GSI1</dt><dd>The index GSI1 of the table Cart.</dd>
    <dt>KEYS_ONLY, ALL</dt><dd>The projection of the index: its entries have only keys, or the whole item. The template's parameter IndexProjection selects it.</dd>
  </dl></details>`
}

/** An item as rows of its attributes, next to its older image if there is one. */
export function Item ({ item, old = null, isCompared = false }) {
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(item ?? {})])].sort()
  const rows = names.map(name => {
    const [before, after] = [shown(old?.[name]), shown(item?.[name])]
    return { key: name, class: isCompared && before !== after ? 'changed' : '', cells: isCompared ? [name, before, after] : [name, after] }
  })
  return html`<${Table} columns=${isCompared ? ['@attribute', '@before', '@after'] : ['@attribute', '@value']} rows=${rows} />`
}

/** An attribute value as text. */
export const shown = value => value === undefined ? '' : typeof plain(value) === 'object' ? JSON.stringify(plain(value)) : String(plain(value))
