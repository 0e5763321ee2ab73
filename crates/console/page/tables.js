// Item collections of a table or an index, and their items in the order of the sort key.
import { Item, Trouble, bytes, html, number, plain, query, short, useData, useEffect, useState } from './lib.js'

const COLOURS = 6

export function Tables ({ parts, search }) {
  const { data, error, reload } = useData('api/home')
  const tables = data?.tables ?? []
  const table = tables.find(one => one.name === parts[0]) ?? tables[0]
  return html`<h1 tabindex="-1">Tables</h1><${Trouble} error=${error} retry=${reload} />
    ${table && html`<${View} key=${table.name + (parts[1] ?? '')} tables=${tables} table=${table} index=${parts[1] ?? ''} pk=${search.pk ?? ''} />`}`
}

function View ({ tables, table, index, pk: first }) {
  const key = index ? table.indexes.find(one => one.name === index)?.key ?? table.key : table.key
  const go = (name, index) => { location.hash = `#/tables/${name}${index ? `/${index}` : ''}` }
  const [wanted, setWanted] = useState({ pk: first, from: '', to: '' })
  return html`<div class="row">
      <label>Table <select name="table" value=${table.name} onChange=${event => go(event.target.value, '')}>
        ${tables.map(one => html`<option key=${one.name} value=${one.name}>${short(one.name)}</option>`)}</select></label>
      <label>View <select name="index" value=${index} onChange=${event => go(table.name, event.target.value)}>
        <option value="">base table</option>${table.indexes.map(one => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}</select></label>
    </div>
    <p class="soft">Partition key ${key?.partition}, sort key ${key?.sort}. ${number(table.items)}${table.isMore ? '+' : ''} items in the table, ${bytes(table.bytes)}.
      ${table.expiresBy && ` Items expire by ${table.expiresBy}.`}</p>
    <${Search} wanted=${wanted} set=${setWanted} keyOf=${key} />
    ${wanted.pk ? html`<${Collection} key=${JSON.stringify(wanted)} table=${table} index=${index} wanted=${wanted} keyOf=${key} />`
      : html`<${Collections} table=${table} index=${index} open=${pk => setWanted({ pk, from: '', to: '' })} />`}`
}

function Search ({ wanted, set, keyOf }) {
  const [text, setText] = useState(wanted)
  useEffect(() => setText(wanted), [wanted])
  const field = (name, label) => html`<label>${label} <input name=${name} size="34" value=${text[name]} onInput=${event => setText({ ...text, [name]: event.target.value })} /></label>`
  const find = event => { event.preventDefault(); set(text) }
  return html`<form class="row" onSubmit=${find}>${field('pk', keyOf?.partition ?? 'PK')}${field('from', `${keyOf?.sort ?? 'SK'} from`)}${field('to', 'to')}
    <button class="main">Query</button>${wanted.pk && html`<button type="button" onClick=${() => set({ pk: '', from: '', to: '' })}>All item collections</button>`}</form>`
}

/** Loads pages, each behind the previous one. */
function usePages (path) {
  const [after, setAfter] = useState(null)
  const [items, setItems] = useState([])
  const { data, error } = useData(`${path}${after === null ? '' : `&after=${encodeURIComponent(after)}`}`)
  useEffect(() => { if (data) setItems(known => after === null ? data.items : [...known, ...data.items]) }, [data])
  return { items, next: data?.next ?? null, error, isLoaded: data !== null, more: position => setAfter(position) }
}

function Collections ({ table, index, open }) {
  const { items, next, error, isLoaded, more } = usePages(`api/collections?${query({ table: table.name, index })}`)
  return html`<${Trouble} error=${error} />
    ${isLoaded && items.length === 0 && html`<p class="soft">${index ? 'No item has the keys of this index.' : html`The table is empty. <a href="#/try">Send a request</a> that writes to it.`}</p>`}
    <div class="scroll"><table><thead><tr><th scope="col">item collection</th><th scope="col" class="n">items</th><th scope="col" class="n">size</th></tr></thead>
      <tbody>${items.map(one => html`<tr key=${one.key}><td class="key"><a href="#" onClick=${event => { event.preventDefault(); open(one.key) }}>${one.key}</a></td>
        <td class="n">${number(one.items)}${one.isMore ? '+' : ''}</td><td class="n">${bytes(one.bytes)}${one.isMore ? '+' : ''}</td></tr>`)}</tbody></table></div>
    ${next && html`<p><button onClick=${() => more(next)}>More</button></p>`}`
}

function Collection ({ table, index, wanted, keyOf }) {
  const { items, next, error, isLoaded, more } = usePages(`api/items?${query({ table: table.name, index, ...wanted })}`)
  const types = [...new Set(items.map(one => plain(one.item.Type) ?? ''))]
  const colour = item => `t${types.indexOf(plain(item.Type) ?? '') % COLOURS}`
  return html`<h2 class="key">${wanted.pk}</h2><${Trouble} error=${error} />
    ${isLoaded && items.length === 0 && html`<p class="soft">No item has this partition key and a sort key in the range.</p>`}
    <p>${types.map((type, at) => html`<span key=${type} class=${`t${at % COLOURS}`}>■ ${type || 'without a type'} </span>`)}</p>
    <div class="scroll"><table><thead><tr><th scope="col">${keyOf?.sort ?? 'SK'}</th><th scope="col">type</th><th scope="col" class="n">size</th><th scope="col" class="n">a write costs</th><th scope="col">item</th></tr></thead>
      <tbody>${items.map(({ item, bytes: size }) => html`<tr key=${`${plain(item.PK)} ${plain(item.SK)}`}>
        <td class="key">${plain(item[keyOf?.sort ?? 'SK'])}</td><td class=${colour(item)}>■ ${plain(item.Type) ?? ''}</td>
        <td class="n">${bytes(size)}</td><td class="n">${cost(table, item, size)}</td>
        <td><details><summary>${summary(item)}</summary><${Item} item=${item} /></details></td></tr>`)}</tbody></table></div>
    ${next && html`<p><button onClick=${() => more(JSON.stringify(next))}>More</button></p>`}`
}

/** The write units of the item: one per started KB, in the table and in each index that has it. */
function cost (table, item, size) {
  const whole = Math.ceil(size / 1024)
  const indexes = table.indexes.filter(index => index.key && item[index.key.partition] !== undefined)
  return `${whole + indexes.reduce((sum, index) => sum + (index.projection === 'ALL' ? whole : 1), 0)} W`
}

function summary (item) {
  const hidden = /^(PK|SK|GSI\dPK|GSI\dSK|Type)$/
  const text = Object.entries(item).filter(([name]) => !hidden.test(name)).map(([name, value]) => `${name}: ${JSON.stringify(plain(value))}`).join(', ')
  return text.length > 90 ? `${text.slice(0, 90)}…` : text || 'keys only'
}
