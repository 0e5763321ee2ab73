// The routes by service and resource, and the form of the chosen one.
import { Form } from './form.js'
import { Trouble, formOf, html, useData, useEffect, useState } from './lib.js'

/** Segments that contain other resources, by service. */
const CONTAINERS = { bank: ['accounts'], cart: ['accounts', 'skus'], wellness: ['companies', 'users'], ledger: ['users'] }

/** The resource of a path: payments of /bank/accounts/{accountId}/payments/{paymentId}. */
function resource ({ service, path }) {
  const [first, second] = path.split('/').slice(2).filter(segment => !segment.startsWith('{'))
  return second && CONTAINERS[service]?.includes(first) ? second : first
}

const isWanted = (form, words) => words.every(word => `${form.id} ${form.function} ${form.method} ${form.path} ${form.summary ?? ''}`.toLowerCase().includes(word))

function groups (forms) {
  const found = new Map()
  for (const form of forms) found.set(resource(form), [...found.get(resource(form)) ?? [], form])
  return [...found]
}

export function Try ({ parts }) {
  const { data, error, reload } = useData('api/forms')
  const [name, path] = parts
  const forms = data ?? []
  const found = forms.find(form => form.function === name && (!path || form.path === path))
  return html`<h1 tabindex="-1">Try it</h1><${Trouble} error=${error} retry=${reload} />
    ${data && html`<div class="side"><${Routes} forms=${forms} found=${found} />
      <section aria-label="Request">${found ? html`<${Form} key=${found.method + found.path} form=${found} />`
        : html`<p class="soft">Choose a route. Its form has the sample request of its function, which succeeds on new sample data.</p>`}</section></div>`}`
}

function Routes ({ forms, found }) {
  const [text, setText] = useState('')
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const wanted = forms.filter(form => isWanted(form, words))
  useEffect(() => document.querySelector('.routes [aria-current]')?.scrollIntoView({ block: 'nearest' }), [found])
  const services = [...new Set(wanted.map(form => form.service))]
  return html`<details class="routes" open=${!found || innerWidth > 700}><summary>Routes</summary>
    <label>Search <input name="find" type="search" value=${text} onInput=${event => setText(event.target.value)} /></label>
    <p class="soft" role="status">${wanted.length} of ${forms.length} routes</p>
    <nav aria-label="Routes">${services.map(service => html`<details key=${service} open=${words.length > 0 || found?.service === service}>
      <summary>${service}</summary><${Group} forms=${wanted.filter(form => form.service === service)} found=${found} /></details>`)}</nav></details>`
}

/** A path that breaks after a slash only. */
const broken = path => path.split(/(?<=\/)/).map((part, at) => html`<wbr key=${at} />${part}`)

function Group ({ forms, found }) {
  return groups(forms).map(([name, forms]) => html`<div key=${name}><h3>${name}</h3><ul>${forms.map(form => html`<li key=${form.method + form.path}>
    <a href=${formOf(form.function, form.path)} aria-current=${form === found ? 'true' : undefined}>${form.summary ?? form.function}
      <span class="key">${form.method} ${broken(form.path.replace(`/${form.service}`, ''))}</span></a></li>`)}</ul></div>`)
}
