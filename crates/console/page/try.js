// A form for each route, with the sample of its function.
import { Trouble, get, html, pretty, query, useData, useEffect, useState } from './lib.js'

const PEOPLE = [['operator', 'operator'], ['customer', 'customer (ann)'], ['employee', 'employee 456 of company 123'], ['administrator', 'administrator of company 123'], ['nobody', 'nobody']]

export function Try ({ parts }) {
  const { data, error, reload } = useData('api/forms')
  const [name, path] = parts
  const forms = data ?? []
  const found = forms.find(form => form.function === name && (!path || form.path === path)) ?? forms[0]
  const choose = event => {
    const form = forms[Number(event.target.value)]
    location.hash = `#/try/${form.function}/${encodeURIComponent(form.path)}`
  }
  return html`<h1 tabindex="-1">Try it</h1><${Trouble} error=${error} retry=${reload} />
    ${found && html`
      <label>Route <select name="route" onChange=${choose} value=${String(forms.indexOf(found))}>
        ${forms.map((form, index) => html`<option key=${index} value=${String(index)}>${form.method} ${form.path}</option>`)}
      </select></label>
      <${Form} key=${found.method + found.path} form=${found} />`}`
}

function Form ({ form }) {
  const { data, error } = useData(`api/forms/${form.function}?path=${encodeURIComponent(form.path)}`)
  return html`<${Trouble} error=${error} />${data && html`<${Filled} form=${form} sample=${data} />`}`
}

const names = path => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)

function Filled ({ form, sample }) {
  const of = (all, given) => Object.fromEntries(all.map(name => [name, given?.[name] ?? '']))
  const [person, setPerson] = useState('operator')
  const [path, setPath] = useState(of(names(form.path), sample.path))
  const [search, setSearch] = useState(of(sample.parameters.map(one => one.name), sample.query))
  const hasKey = 'idempotency-key' in sample.headers
  const [key, setKey] = useState(hasKey ? crypto.randomUUID() : '')
  const [body, setBody] = useState(sample.body ? indented(sample.body) : '')
  const [answer, setAnswer] = useState(null)
  const hasBody = form.method !== 'GET' && (Boolean(sample.body) || form.method !== 'DELETE')

  const request = async () => {
    const filled = form.path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]))
    const rest = query(search)
    const headers = {}
    if (hasBody && body.trim()) headers['content-type'] = 'application/json'
    if (sample.headers.accept && sample.headers.accept !== '*/*') headers.accept = sample.headers.accept
    if (key) headers['idempotency-key'] = key
    const { token } = await get(`api/token/${person}`)
    headers.authorization = `Bearer ${token}`
    return { url: filled + (rest ? `?${rest}` : ''), method: form.method, headers, body: hasBody && body.trim() ? body : undefined }
  }
  const send = async event => {
    event.preventDefault()
    setAnswer({ isWaiting: true })
    try {
      const { url, ...options } = await request()
      const response = await fetch(url, options)
      const text = await response.text()
      setAnswer({ status: `${response.status} ${response.statusText}`, isGood: response.ok, text: indented(text), location: response.headers.get('location'), consumed: consumed(response) })
    } catch (error) {
      setAnswer({ status: error.message || 'The stack does not answer.', isGood: false, text: '' })
    }
  }
  const [copied, setCopied] = useState('')
  const copy = async () => {
    const { url, method, headers, body } = await request()
    const quoted = text => `'${text.replaceAll("'", "'\\''")}'`
    const lines = [`curl -i ${method === 'GET' ? '' : `-X ${method} `}${quoted(location.origin + url)}`]
    for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
    if (body) lines.push(`-d ${quoted(body)}`)
    const text = lines.join(' \\\n  ')
    setCopied(text)
    await navigator.clipboard?.writeText(text).catch(() => {})
  }
  return html`<form onSubmit=${send}>
    <p>${sample.summary} <span class="soft">${form.id}, ${form.function}. Scopes: ${form.scopes.join(' or ')}.</span></p>
    <div class="row"><label>Caller <select name="person" value=${person} onChange=${event => setPerson(event.target.value)}>
      ${PEOPLE.map(([id, text]) => html`<option key=${id} value=${id}>${text}</option>`)}</select></label>
      <${Fields} values=${path} set=${setPath} /><${Fields} values=${search} set=${setSearch} />
      ${hasKey && html`<label>Idempotency-Key <input name="key" size="38" value=${key} onInput=${event => setKey(event.target.value)} /></label>
        <button type="button" onClick=${() => setKey(crypto.randomUUID())}>New key</button>`}</div>
    ${hasBody && html`<label>Body <textarea name="body" spellcheck="false" value=${body} onInput=${event => setBody(event.target.value)}></textarea></label>`}
    <div class="row"><button class="main">Send</button><button type="button" onClick=${copy}>Copy as curl</button></div>
    ${copied && html`<pre class="curl">${copied}</pre>`}
    <${Answer} answer=${answer} />
  </form>`
}

function Fields ({ values, set }) {
  return Object.entries(values).map(([name, value]) => html`<label key=${name}>${name}
    <input name=${name} size=${Math.max(14, Math.min(40, value.length + 2))} value=${value} onInput=${event => set({ ...values, [name]: event.target.value })} /></label>`)
}

function Answer ({ answer }) {
  const [trace, setTrace] = useState(null)
  useEffect(() => {
    if (!answer?.status) return
    let isCurrent = true
    setTimeout(async () => {
      const [newest] = await get('api/traces').catch(() => [])
      if (isCurrent) setTrace(newest ?? null)
    }, 300)
    return () => { isCurrent = false }
  }, [answer])
  if (!answer) return null
  if (answer.isWaiting) return html`<p role="status">Waiting for the answer …</p>`
  return html`<div role="status"><h2 class=${answer.isGood ? 'good' : 'bad'}>${answer.status}</h2></div>
    ${answer.location && html`<p>Location: <code>${answer.location}</code></p>`}
    ${answer.consumed && html`<p>Consumed: ${answer.consumed}</p>`}
    ${trace && html`<p><a href=${`#/trace/${trace.number}`}>Trace of the last request</a></p>`}
    <pre class="answer">${answer.text}</pre>`
}

function consumed (response) {
  const rows = JSON.parse(response.headers.get('x-local-consumed') ?? '[]')
  return rows.map(({ table, index, read, write }) => `${table.replace(/^local-/, '')}${index ? `/${index}` : ''} ${read ? `${read} R` : `${write} W`}`).join(', ')
}

function indented (text) {
  try {
    return pretty(JSON.parse(text))
  } catch {
    return text
  }
}
