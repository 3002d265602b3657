/**
 * Server-sent events from a `fetch` response. The browser's own `EventSource` can send
 * neither a key nor the id of the last event on its first request.
 */

export interface ServerEvent {
  id: string | null
  name: string
  data: string
}

/** Splits text that arrives in pieces into events. */
export class EventParser {
  #rest = ''
  #id: string | null = null
  #name = ''
  #data: string[] = []

  /** Returns the events that this piece completes. */
  push(text: string): ServerEvent[] {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/)
    this.#rest = lines.pop() ?? ''
    return lines.flatMap((line) => this.#line(line))
  }

  #line(line: string): ServerEvent[] {
    if (line === '') return this.#end()
    const colon = line.indexOf(':')
    if (colon === 0) return []
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'data') this.#data.push(value)
    else if (field === 'event') this.#name = value
    else if (field === 'id') this.#id = value
    return []
  }

  #end(): ServerEvent[] {
    const event = { id: this.#id, name: this.#name || 'message', data: this.#data.join('\n') }
    const complete = this.#data.length > 0
    this.#id = null
    this.#name = ''
    this.#data = []
    return complete ? [event] : []
  }
}
