// The form of a route, with the sample of its function, and the answer.
import { Ask, Notation, Trouble, get, html, link, pretty, query, short, useData, useEffect, useState } from './lib.js'

const PEOPLE = [['operator', 'operator'], ['customer', 'customer (ann)'], ['employee', 'employee 123 of company 123'], ['administrator', 'administrator of company 123'], ['nobody', 'nobody']]
const ANN = 'e4ceeb59-552e-8690-9301-f64e44907c84'

/** The resources of a caller, which the caller may use. */
function own (person, service) {
  if (person === 'customer') return service === 'ledger' ? { accountId: ANN, debitAccountId: ANN, userId: 'ann' } : { accountId: 'Account1' }
  if (person === 'employee') return { companyId: '123', userId: '123' }
  return person === 'administrator' ? { companyId: '123' } : {}
}

/** What a request destroys, or nothing. */
function loss ({ form, path, body }) {
  if (form.function === 'start-erasure') return path.userId ? `All data of the employee ${path.userId} of the company ${path.companyId}.` : `The company ${path.companyId}: all its items, jobs, files and exports.`
  if (/"endMissing"\s*:\s*true/.test(body)) return `Every employee of the company ${path.companyId} whom the file does not contain, and their future registrations.`
  if (form.method !== 'DELETE') return null
  const names = Object.entries(path).map(([name, value]) => `${name} ${value}`).join(', ')
  return `${form.function.replace(/^\w+-/, '').replaceAll('-', ' ')}: ${names}.${form.function === 'remove-employee' ? ' The future registrations of the employee end.' : ''}`
}

export function Form ({ form }) {
  const { data, error } = useData(`api/forms/${form.function}?path=${encodeURIComponent(form.path)}`)
  return html`<${Trouble} error=${error} />${data && html`<${Filled} form=${form} sample=${data} />`}`
}

const names = path => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
const some = (all, given) => Object.fromEntries(all.map(name => [name, given?.[name] ?? '']))
const only = (values, names) => Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)))

/** The request of the form, as fetch sends it. */
async function request ({ form, sample, person, path, search, key, body }) {
  const filled = form.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]))
  const headers = {}
  if (body.trim()) headers['content-type'] = 'application/json'
  if (sample.headers.accept && sample.headers.accept !== '*/*') headers.accept = sample.headers.accept
  if (key) headers['idempotency-key'] = key
  const { token } = await get(`api/token/${person}`)
  headers.authorization = `Bearer ${token}`
  const rest = query(search)
  return { url: filled + (rest ? `?${rest}` : ''), method: form.method, headers, body: body.trim() ? body : undefined }
}

const quoted = text => `'${text.replaceAll("'", "'\\''")}'`

async function curl (state) {
  const { url, method, headers, body } = await request(state)
  const lines = [`curl -i ${method === 'GET' ? '' : `-X ${method} `}${quoted(location.origin + url)}`]
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (body) lines.push(`-d ${quoted(body)}`)
  return lines.join(' \\\n  ')
}

/** The claims of a token, as API Gateway passes them: each one is a text. */
function claims (token) {
  const [, payload] = token.split('.')
  const text = new TextDecoder().decode(Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), one => one.charCodeAt(0)))
  const flat = value => Array.isArray(value) ? `[${value.join(' ')}]` : String(value)
  return Object.fromEntries(Object.entries(JSON.parse(text)).map(([name, value]) => [name, flat(value)]))
}

/** The sample event with the values of the form. */
async function event (state) {
  const { form, sample, path, search, body } = state
  const { url, headers } = await request(state)
  const { authorization, ...rest } = headers
  const [rawPath, rawQueryString = ''] = url.split('?')
  const jwt = { claims: claims(authorization) }
  jwt.scopes = jwt.claims.scope.split(' ').filter(Boolean)
  const { http, ...context } = sample.event.requestContext
  const sent = { ...sample.event.headers, ...rest, authorization }
  if (body) sent['content-length'] = String(new TextEncoder().encode(body).length)
  const changed = { ...sample.event, rawPath: decodeURIComponent(rawPath), rawQueryString, headers: sent, pathParameters: path, queryStringParameters: only(search, Object.keys(search).filter(name => search[name])), requestContext: { ...context, routeKey: `${form.method} ${form.path}`, authorizer: { jwt }, http: { ...http, path: decodeURIComponent(rawPath) } }, body: body || undefined }
  for (const name of ['pathParameters', 'queryStringParameters']) if (Object.keys(changed[name]).length === 0) delete changed[name]
  return pretty(changed)
}

const sam = async state => `sam local invoke ${state.sample.function} --event - <<'EVENT'\n${await event(state)}\nEVENT`

const COPIES = [['curl', 'Copy as curl', curl], ['event', 'Copy as an event file', event], ['sam', 'Copy for sam local invoke', sam]]

function Filled ({ form, sample }) {
  const hasKey = 'idempotency-key' in sample.headers
  const hasBody = form.method !== 'GET' && (Boolean(sample.body) || form.method !== 'DELETE')
  const text = sample.body && hasBody ? indented(sample.body) : ''
  const given = { path: some(names(form.path), sample.path), search: some(sample.parameters.map(one => one.name), sample.query) }
  const [state, setState] = useState({ ...given, person: 'operator', key: hasKey ? crypto.randomUUID() : '', body: text })
  const [answer, setAnswer] = useState(null)
  const [isAsked, ask] = useState(false)
  const change = values => setState({ ...state, ...values })
  const whole = { ...state, form, sample }
  /** The account, user and company follow the caller. */
  const call = person => {
    const mine = own(person, form.service)
    change({ person, body: text.replace(/"(\w+)": "[^"]*"/g, (all, name) => mine[name] ? `"${name}": "${mine[name]}"` : all), path: { ...given.path, ...only(mine, names(form.path)) }, search: { ...given.search, ...only(mine, ['companyId'].filter(name => name in given.search)) } })
  }
  const send = async () => {
    ask(false)
    setAnswer({ isWaiting: true })
    setAnswer(await sent(whole))
  }
  const submit = event => { event.preventDefault(); loss(whole) ? ask(true) : send() }
  return html`<form onSubmit=${submit}>
    <h2>${sample.summary ?? form.summary ?? form.function}</h2>
    <p class="key">${form.method} ${form.path}</p>
    <p class="soft">${form.id} <a href=${link(`docs/access-patterns/${form.service}.md`, { at: form.function })}>${form.function}</a>. Scopes: ${form.scopes.join(' or ')}.</p>
    <div class="row"><label>Caller <select name="person" value=${state.person} onChange=${event => call(event.target.value)}>
      ${PEOPLE.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}</select></label>
      <${Fields} values=${state.path} set=${path => change({ path })} />
      <${Fields} values=${state.search} set=${search => change({ search })} about=${sample.parameters} />
      ${hasKey && html`<label>Idempotency-Key <input name="key" size="38" value=${state.key} onInput=${event => change({ key: event.target.value })} /></label>
        <button type="button" onClick=${() => change({ key: crypto.randomUUID() })}>New key</button>`}</div>
    ${hasBody && html`<label>Body <textarea name="body" spellcheck=${false} value=${state.body} onInput=${event => change({ body: event.target.value })}></textarea></label>`}
    <div class="row"><button class="main">Send</button><${Copies} state=${whole} /></div>
    ${isAsked && html`<${Ask} title="Send the request?" action=${`Send ${form.method}`} yes=${send} no=${() => ask(false)}><p>It removes:</p><p class="key">${loss(whole)}</p><p>The sample data comes back with “Reset the sample data” on the page Home.</p><//>`}
    <${Answer} answer=${answer} form=${form} />
  </form>`
}

async function sent (state) {
  try {
    const { url, ...options } = await request(state)
    const response = await fetch(url, options)
    const text = await response.text()
    return { status: `${response.status} ${response.statusText}`, isGood: response.ok, text: indented(text), location: response.headers.get('location'), consumed: consumed(response) }
  } catch (error) {
    return { status: error.message || 'The stack does not answer.', isGood: false, text: '' }
  }
}

function Copies ({ state }) {
  const [copied, setCopied] = useState(null)
  const copy = async (kind, make) => {
    const text = await make(state).catch(error => error.message)
    setCopied({ kind, text })
    await navigator.clipboard?.writeText(text).catch(() => {})
  }
  return html`${COPIES.map(([kind, label, make]) => html`<button key=${kind} type="button" onClick=${() => copy(kind, make)}>${label}</button>`)}
    ${copied && html`<pre class=${`copied ${copied.kind}`} tabindex="0">${copied.text}</pre>`}`
}

function Fields ({ values, set, about = [] }) {
  return Object.entries(values).map(([name, value]) => html`<label key=${name} title=${about.find(one => one.name === name)?.description}>${name}
    <input name=${name} size=${Math.max(14, Math.min(40, value.length + 2))} value=${value} onInput=${event => set({ ...values, [name]: event.target.value })} /></label>`)
}

/** The newest trace of the function. */
function useTrace (answer, name) {
  const [trace, setTrace] = useState(null)
  useEffect(() => {
    if (!answer?.status) return
    const timer = setTimeout(async () => {
      const traces = await get(`api/traces?${query({ function: name })}`).catch(() => [])
      setTrace(traces.find(one => one.function === name) ?? null)
    }, 300)
    return () => clearTimeout(timer)
  }, [answer])
  return trace
}

function Answer ({ answer, form }) {
  const trace = useTrace(answer, form.function)
  if (!answer) return null
  if (answer.isWaiting) return html`<p role="status">Waiting for the answer …</p>`
  return html`<div role="status"><h2 class=${answer.isGood ? 'good' : 'bad'}>${answer.status}</h2></div>
    ${answer.location && html`<p>Location: <code>${answer.location}</code></p>`}
    ${answer.consumed && html`<p>Consumed: ${answer.consumed}</p><${Notation} />`}
    ${trace && html`<p><a href=${`#/trace/${trace.number}`}>Trace of the last request</a></p>`}
    <pre class="answer" tabindex="0">${answer.text}</pre>`
}

function consumed (response) {
  const rows = JSON.parse(response.headers.get('x-local-consumed') ?? '[]')
  return rows.map(({ table, index, read, write }) => `${short(table)}${index ? `/${index}` : ''} ${read ? `${read} R` : `${write} W`}`).join(', ')
}

function indented (text) {
  try {
    return pretty(JSON.parse(text))
  } catch {
    return text
  }
}
