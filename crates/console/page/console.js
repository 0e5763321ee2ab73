// The page: navigation, and the component of each hash path.
import { html, place, render, useEffect, useRef, useState } from './lib.js'
import { Home } from './home.js'
import { Try } from './try.js'
import { Traces, Trace } from './trace.js'
import { Tables } from './tables.js'
import { Heat } from './heat.js'
import { Jobs } from './jobs.js'
import { Events } from './events.js'
import { Docs } from './docs.js'

const PAGES = [['', 'Home', Home], ['try', 'Try it', Try], ['trace', 'Trace', Traces], ['tables', 'Tables', Tables], ['heat', 'Heat', Heat], ['events', 'Events', Events], ['jobs', 'Jobs and lake', Jobs]]

function Page () {
  const [{ parts, search }, setPlace] = useState(place())
  const address = parts.join('/')
  useEffect(() => {
    const change = () => setPlace(place())
    addEventListener('hashchange', change)
    return () => removeEventListener('hashchange', change)
  }, [])
  // A filter of a page also changes the address, and must keep the focus.
  const opened = useRef(address)
  useEffect(() => {
    if (opened.current !== address) document.querySelector('h1')?.focus()
    opened.current = address
  }, [address])
  const [, title, Content] = [...PAGES, ['docs', 'Docs', Docs]].find(([path]) => path === parts[0]) ?? PAGES[0]
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
