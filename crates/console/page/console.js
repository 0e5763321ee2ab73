// The page: navigation, and the component of each hash path.
import { html, render, useEffect, useState } from './lib.js'
import { Home } from './home.js'
import { Try } from './try.js'
import { Traces, Trace } from './trace.js'
import { Tables } from './tables.js'
import { Heat } from './heat.js'
import { Jobs } from './jobs.js'

const PAGES = [['', 'Home', Home], ['try', 'Try it', Try], ['trace', 'Trace', Traces], ['tables', 'Tables', Tables], ['heat', 'Heat', Heat], ['jobs', 'Jobs and lake', Jobs]]

/** The parts of the hash, such as #/tables/local-Cart?pk=1. */
function place () {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { parts: path.split('/').map(decodeURIComponent), search: Object.fromEntries(new URLSearchParams(search)) }
}

function Page () {
  const [{ parts, search }, setPlace] = useState(place())
  useEffect(() => {
    const change = () => { setPlace(place()); document.querySelector('h1')?.focus() }
    addEventListener('hashchange', change)
    return () => removeEventListener('hashchange', change)
  }, [])
  const [, title, Content] = PAGES.find(([path]) => path === parts[0]) ?? PAGES[0]
  useEffect(() => { document.title = `${title} – console` }, [title])
  const body = parts[0] === 'trace' && parts[1] ? html`<${Trace} key=${parts[1]} number=${parts[1]} />` : html`<${Content} parts=${parts.slice(1)} search=${search} />`
  return html`
    <a class="skip" href="#page" onClick=${event => { event.preventDefault(); document.querySelector('h1')?.focus() }}>Skip to the content</a>
    <header><strong>Console</strong><nav aria-label="Pages">
      ${PAGES.map(([path, name]) => html`<a key=${path} href=${`#/${path}`} aria-current=${path === parts[0] ? 'page' : undefined}>${name}</a>`)}
    </nav></header>
    <main>${body}</main>`
}

const root = document.getElementById('page')
root.replaceChildren()
render(html`<${Page} />`, root)
