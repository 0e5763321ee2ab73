// Pages of docs/, such as the access patterns: the Markdown that these pages use.
import { Notation, Trouble, html, useData } from './lib.js'

export function Docs ({ parts, search }) {
  const name = parts.join('/')
  const { data, error, reload } = useData(`api/docs/${name}`)
  const text = data && search.at ? section(data.text, search.at) : data?.text
  return html`<h1 tabindex="-1">${search.at ?? name}</h1><${Trouble} error=${error} retry=${reload} />
    ${search.at && html`<p><a href=${`#/docs/${name}`}>All of ${name}</a></p><${Notation} />`}
    ${text === '' && html`<p class="soft">${name} has no section ${search.at}.</p>`}
    ${text && html`<article><${Markdown} text=${text} folder=${parts.slice(0, -1)} /></article>`}`
}

/** The part of a page below the heading that ends with a name. */
function section (text, name) {
  return text.split(/^(?=## )/m).find(part => part.split('\n')[0].split(' ').at(-1) === name) ?? ''
}

function Markdown ({ text, folder }) {
  const inline = line => inlined(line, folder)
  return blocks(text).map((block, at) => html`<${Block} key=${at} block=${block} inline=${inline} />`)
}

/** Blocks are separated by empty lines, except in code. */
const blocks = text => text.replace(/^# .*\n/, '').split(/(^```[^]*?^```$)/m)
  .flatMap(part => part.startsWith('```') ? [part] : part.split(/\n{2,}/)).map(part => part.replace(/^\n+|\n+$/g, '')).filter(Boolean)

function Block ({ block, inline }) {
  if (block.startsWith('```')) return html`<pre tabindex="0">${block.split('\n').slice(1, -1).join('\n')}</pre>`
  const heading = /^(##+) (.*)/.exec(block)
  if (heading) return heading[1] === '##' ? html`<h2>${inline(heading[2])}</h2>` : html`<h3>${inline(heading[2])}</h3>`
  if (/^\|/.test(block)) return html`<${Rows} lines=${block.split('\n')} inline=${inline} />`
  const items = block.split(/^(?=(?:[-*]|\d+\.) )/m)
  if (/^[-*] /.test(block)) return html`<ul>${items.map((item, at) => html`<li key=${at}>${inline(item.slice(2))}</li>`)}</ul>`
  if (/^\d+\. /.test(block)) return html`<ol>${items.map((item, at) => html`<li key=${at}>${inline(item.replace(/^\d+\. /, ''))}</li>`)}</ol>`
  return html`<p>${inline(block)}</p>`
}

function Rows ({ lines, inline }) {
  const [head, , ...rows] = lines.map(line => line.replace(/^\||\|$/g, '').split(' | ').map(cell => cell.replace(/^ *\| ?|\|$/g, '').trim()))
  return html`<div class="scroll"><table><thead><tr>${head.map((cell, at) => html`<th key=${at} scope="col">${inline(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((cells, row) => html`<tr key=${row}>${cells.map((cell, at) => html`<td key=${at} data-label=${head[at]}>${inline(cell)}</td>`)}</tr>`)}</tbody></table></div>`
}

/** Code, bold text and links. A link outside of docs/ names its file, because the console has no other files. */
function inlined (line, folder) {
  return line.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map(part => {
    const [, text, target] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) ?? []
    if (target) return linked(text, target, folder)
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    return part.startsWith('**') ? html`<strong>${part.slice(2, -2)}</strong>` : part
  })
}

function linked (text, target, folder) {
  if (/^\w+:/.test(target)) return html`<a href=${target} rel="noreferrer">${text}</a>`
  const [file] = target.split('#')
  const path = []
  for (const part of [...folder, ...file.split('/')]) part === '..' ? path.length > 0 ? path.pop() : path.push('..') : path.push(part)
  return path[0] === '..' || !file.endsWith('.md') ? html`${text} (<code>${target.replace(/^(\.\.\/)+/, '')}</code>)` : html`<a href=${`#/docs/${path.join('/')}`}>${text}</a>`
}
