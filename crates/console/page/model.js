// The entities of a table with the formats of their keys, and the access patterns of each view.
import { Notation, Table, Trouble, bytes, html, link, number, plain, query, short, useData } from './lib.js'

export function Model ({ table, services }) {
  const { data, error } = useData(`api/entities?${query({ table: table.name })}`)
  return html`<${Trouble} error=${error} />
    ${data && html`<h2>Entities</h2><p class="soft">The formats are derived from stored items. A name in ⟨ ⟩ is an attribute with this value, or the kind of the text.</p>
      <${Entities} table=${table} entities=${data} />`}
    <h2>Access patterns</h2><p class="soft">By the declared units: which patterns read and write the table and each index.</p>
    <${Patterns} table=${table} services=${services} />`
}

function Entities ({ table, entities }) {
  const most = Math.max(1, ...entities.map(one => one.items))
  const views = table.indexes.filter(index => index.key)
  const rows = entities.map(({ type, items, bytes: size, samples }, at) => ({
    key: type,
    cells: [html`<strong class=${`t${at % 6}`}>■ ${type || 'without a type'}</strong>`, number(items), bytes(size),
      html`<span class="bar" style=${`width: ${Math.max(2, Math.round(90 * items / most))}px`}></span>`,
      format(samples, table.key.partition), format(samples, table.key.sort), ...views.map(({ key }) => [key.partition, key.sort].map(name => format(samples, name)).filter(Boolean).join(' / '))]
  }))
  const columns = ['entity', '#items', '#size', 'share', `@${table.key.partition}`, `@${table.key.sort}`, ...views.map(({ name }) => `@${name}`)]
  return html`<${Table} name="entities" columns=${columns} rows=${rows} />`
}

/** The format of a key: its constant parts, and names for the others. */
function format (samples, name) {
  const given = samples.filter(item => item[name]?.S !== undefined)
  if (given.length === 0) return ''
  const split = given.map(item => item[name].S.split('#'))
  return split[0].map((part, at) => {
    const isSame = split.every(parts => parts[at] === part)
    return isSame && /^[A-Z][A-Za-z_-]*$/.test(part) ? part : named(part, given[0], name)
  }).join('#')
}

const KINDS = [[/^\d{4}-\d\d-\d\dT/, 'time'], [/^\d{4}-\d\d-\d\d$/, 'date'], [/^[\da-f]{8}-?([\da-f]{4}-?){3}[\da-f]{12}$/, 'id'], [/^\d+$/, 'number'], [/^[A-Z_]+$/, 'word']]

/** A part of a key: the name of the attribute that it repeats, or the kind of its text. */
function named (part, item, key) {
  const [, prefix, rest] = /^([A-Z][a-z]\w*-)(.+)$/.exec(part) ?? [null, '', part]
  const isKey = name => name === key || /(PK|SK)$/.test(name)
  const attribute = !prefix && rest.length > 2 && Object.keys(item).find(name => !isKey(name) && name !== 'Type' && String(plain(item[name])) === rest)
  const kind = attribute || (KINDS.find(([shape]) => shape.test(rest))?.[1] ?? 'text')
  return `${prefix}⟨${kind}⟩`
}

/** The patterns whose declared units have a place, such as Cart/GSI1, by what they do there. */
function users (services, place) {
  const found = { R: [], W: [] }
  for (const service of services) {
    for (const pattern of service.patterns) {
      const parts = pattern.calls.flatMap(({ formula }) => formula.split('; ')).filter(part => part.startsWith(`${place} `))
      for (const unit of ['R', 'W']) {
        if (parts.some(part => new RegExp(` ${unit}\\b`).test(part))) found[unit].push([service.name, pattern])
      }
    }
  }
  return found
}

function Patterns ({ table, services }) {
  const name = short(table.name)
  const links = patterns => html`<span class="links">${patterns.map(([service, { id, name }]) => html`<a key=${name} href=${link(`docs/access-patterns/${service}.md`, { at: name })}>${id} ${name}</a> `)}</span>`
  const rows = ['', ...table.indexes.map(index => index.name)].map(index => {
    const { R, W } = users(services, index ? `${name}/${index}` : name)
    return { key: index, cells: [index || 'base table', links(R), links(W)] }
  })
  return html`<${Table} columns=${['view', 'read by', 'written by']} rows=${rows} /><${Notation} />`
}
