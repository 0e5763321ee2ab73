// Item collections of a table or an index, and their items in the order of the sort key.
import { Model } from './model.js'
import { Item, Table, Trouble, bytes, collection, go, html, number, plain, query, short, shown, useData, useEffect, useState } from './lib.js'

const COLOURS = 6
/** Maximum number of attributes that have a column. */
const COLUMNS = 5
const LONGEST = 60
const MODEL = 'model'

export function Tables ({ parts, search }) {
  const { data, error, reload } = useData('api/home')
  const tables = data?.tables ?? []
  const table = tables.find(one => one.name === parts[0]) ?? tables[0]
  return html`<h1 tabindex="-1">Tables</h1><${Trouble} error=${error} retry=${reload} />
    ${data && parts[0] && table.name !== parts[0] && html`<p class="notice">There is no table ${parts[0]}.</p>`}
    ${table && html`<${View} key=${table.name} data=${data} table=${table} index=${parts[1] ?? ''} search=${search} />`}`
}

function View ({ data, table, index, search }) {
  const key = table.indexes.find(one => one.name === index)?.key ?? table.key
  const open = (name, index) => go(`tables/${name}${index ? `/${index}` : ''}`)
  const wanted = { pk: '', start: '', begins: '', from: '', to: '', ...search }
  return html`<div class="row">
      <label>Table <select name="table" value=${table.name} onChange=${event => open(event.target.value, '')}>
        ${data.tables.map(one => html`<option key=${one.name} value=${one.name}>${short(one.name)}</option>`)}</select></label>
      <label>View <select name="index" value=${index} onChange=${event => open(table.name, event.target.value)}>
        <option value="">base table</option>${table.indexes.map(one => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
        <option value=${MODEL}>entities and key formats</option></select></label>
    </div>
    <p class="soft">Partition key ${key?.partition}, sort key ${key?.sort}. ${number(table.items)}${table.isMore ? '+' : ''} items in the table, ${bytes(table.bytes)}.
      ${table.expiresBy && ` Items expire by ${table.expiresBy}.`}</p>
    ${index === MODEL ? html`<${Model} table=${table} services=${data.services} />` : html`<${Search} table=${table} index=${index} wanted=${wanted} keyOf=${key} />
      ${wanted.pk ? html`<${Collection} key=${index + JSON.stringify(wanted)} table=${table} index=${index} wanted=${wanted} keyOf=${key} />`
        : html`<${Collections} key=${index + wanted.start} table=${table} index=${index} start=${wanted.start} />`}`}`
}

/** A search by the partition key or its beginning, and by the beginning or the range of the sort key. */
function Search ({ table, index, wanted, keyOf }) {
  const place = `tables/${table.name}${index ? `/${index}` : ''}`
  const [text, setText] = useState(entered(wanted))
  useEffect(() => setText(entered(wanted)), [JSON.stringify(wanted)])
  const change = values => setText({ ...text, ...values })
  const field = (name, label) => html`<label>${label} <input name=${name} size="30" value=${text[name]} onInput=${event => change({ [name]: event.target.value })} /></label>`
  const choice = (name, label, options) => html`<label>${label} <select name=${name} value=${text[name]} onChange=${event => change({ [name]: event.target.value })}>
    ${options.map(([id, words]) => html`<option key=${id} value=${id}>${words}</option>`)}</select></label>`
  const [partition, sort] = [keyOf?.partition ?? 'PK', keyOf?.sort ?? 'SK']
  const find = event => { event.preventDefault(); go(place, searched(text)) }
  return html`<form class="row" onSubmit=${find}>${choice('how', partition, [['start', 'begins with'], ['pk', 'is']])}${field('key', 'value')}
    ${text.how === 'pk' && html`${choice('range', sort, [['begins', 'begins with'], ['between', 'is between']])}${text.range === 'begins' ? field('begins', 'value') : html`${field('from', 'from')}${field('to', 'to')}`}`}
    <button class="main">Query</button>${(wanted.pk || wanted.start) && html`<a href=${`#/${place}`}>All item collections</a>`}</form>`
}

const entered = ({ pk, start, begins, from, to }) => ({ how: pk ? 'pk' : 'start', key: pk || start, range: from || to ? 'between' : 'begins', begins, from, to })

function searched ({ how, key, range, begins, from, to }) {
  if (how === 'start') return { start: key }
  return range === 'begins' ? { pk: key, begins } : { pk: key, from, to }
}

/** Loads pages, each behind the previous one. */
function usePages (path) {
  const [after, setAfter] = useState(null)
  const [items, setItems] = useState([])
  const { data, error } = useData(`${path}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`)
  useEffect(() => { if (data) setItems(known => after === null ? data.items : [...known, ...data.items]) }, [data])
  return { items, next: data?.next ?? null, error, isLoaded: data !== null, more: position => setAfter(position) }
}

function Collections ({ table, index, start }) {
  const { items, next, error, isLoaded, more } = usePages(`api/collections?${query({ table: table.name, index, start })}`)
  const rows = items.map(one => ({
    key: one.key,
    cells: [html`<a href=${collection(table.name, index, one.key)}>${one.key}</a>`, `${number(one.items)}${one.isMore ? '+' : ''}`, `${bytes(one.bytes)}${one.isMore ? '+' : ''}`]
  }))
  const empty = start ? 'No partition key begins with this text.' : index ? 'No item has the keys of this index.' : html`The table is empty. <a href="#/try">Send a request</a> that writes to it.`
  return html`<${Trouble} error=${error} />
    ${isLoaded && items.length === 0 && html`<p class="soft">${empty}</p>`}
    ${rows.length > 0 && html`<${Table} columns=${['@item collection', '#items', '#size']} rows=${rows} />`}
    ${next && html`<p><button onClick=${() => more(next)}>More</button></p>`}`
}

/** The sort keys of a search. The beginning of a key is a range up to the last character. */
const range = ({ begins, from, to }) => begins ? { from: begins, to: `${begins}\uffff` } : { from, to }

function Collection ({ table, index, wanted, keyOf }) {
  const { items, next, error, isLoaded, more } = usePages(`api/items?${query({ table: table.name, index, pk: wanted.pk, ...range(wanted) })}`)
  const types = [...new Set(items.map(one => plain(one.item.Type) ?? ''))]
  const colour = item => `t${types.indexOf(plain(item.Type) ?? '') % COLOURS}`
  const names = common(items, table)
  const sort = keyOf?.sort ?? 'SK'
  const rows = items.map(({ item, bytes: size }) => ({
    key: `${plain(item.PK)} ${plain(item.SK)}`,
    cells: [plain(item[sort]), html`<span class=${colour(item)}>■ ${plain(item.Type) ?? ''}</span>`, ...names.map(name => cut(shown(item[name]))), bytes(size), cost(table, item, size),
      html`<details><summary>${Object.keys(item).length} attributes</summary>${index && html`<p><a href=${collection(table.name, '', plain(item.PK), plain(item.SK))}>The item in the table</a></p>`}<${Item} item=${item} /></details>`]
  }))
  return html`<h2 class="key">${wanted.pk}</h2><${Trouble} error=${error} />
    ${isLoaded && items.length === 0 && html`<p class="soft">No item has this partition key and a sort key in the range.</p>`}
    <p>${types.map((type, at) => html`<span key=${type} class=${`t${at % COLOURS}`}>■ ${type || 'without a type'} </span>`)}</p>
    ${rows.length > 0 && html`<${Table} columns=${[`@${sort}`, 'type', ...names.map(name => `@${name}`), '#size', '#a write costs', 'item']} rows=${rows} />`}
    ${next && html`<p><button onClick=${() => more(JSON.stringify(next))}>More</button></p>`}`
}

const cut = text => text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text

/** The attributes that most items have, except keys. */
function common (items, table) {
  const keys = new Set(['Type', ...[table, ...table.indexes].flatMap(one => [one.key?.partition, one.key?.sort])])
  const counts = new Map()
  for (const name of items.flatMap(({ item }) => Object.keys(item))) if (!keys.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  const most = [...counts].filter(([, count]) => 2 * count > items.length)
  return most.sort(([, one], [, other]) => other - one).slice(0, COLUMNS).map(([name]) => name)
}

/** The write units of the item: one per started KB, in the table and in each index that has it. */
function cost (table, item, size) {
  const whole = Math.ceil(size / 1024)
  const indexes = table.indexes.filter(index => index.key && item[index.key.partition] !== undefined)
  return `${whole + indexes.reduce((sum, index) => sum + (index.projection === 'ALL' ? whole : 1), 0)} W`
}
