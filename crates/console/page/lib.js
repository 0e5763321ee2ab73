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

/** An item as rows of its attributes, next to its older image if there is one. */
export function Item ({ item, old = null, isCompared = false }) {
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(item ?? {})])].sort()
  const text = value => value === undefined ? '' : typeof plain(value) === 'object' ? JSON.stringify(plain(value)) : String(plain(value))
  return html`<div class="scroll"><table>
    <thead><tr><th scope="col">attribute</th>${isCompared && html`<th scope="col">before</th>`}<th scope="col">${isCompared ? 'after' : 'value'}</th></tr></thead>
    <tbody>${names.map(name => {
      const [before, after] = [text(old?.[name]), text(item?.[name])]
      return html`<tr key=${name} class=${isCompared && before !== after ? 'changed' : ''}><td class="key">${name}</td>
        ${isCompared && html`<td class="key">${before}</td>`}<td class="key">${after}</td></tr>`
    })}</tbody>
  </table></div>`
}
