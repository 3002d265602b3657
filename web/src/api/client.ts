/** Requests to the API of the server that the dashboard came from. */

import { changed, Problem, problemOf, unreachable } from './problem.ts'

const TIMEOUT_MS = 65_000

export interface Credentials {
  /** An API key; without one, the cookie of a log-in is used. */
  key: string | null
}

export interface RequestOptions {
  body?: unknown
  /** Sent as `Idempotency-Key`: a repeat with the same key does not act twice. */
  once?: string
  /** The version that a change is based on (`ETag`); another one is refused with 412. */
  match?: string | null
  signal?: AbortSignal
}

export interface UnchangedOptions<T, R> {
  at?: string
  part?: (found: T) => R
  body?: unknown
}

/** An object with the version that was read. */
export interface Versioned<T> {
  value: T
  version: string | null
}

export class Client {
  readonly #credentials: Credentials

  constructor(credentials: Credentials) {
    this.#credentials = credentials
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.request('GET', path, { signal })
  }

  async getVersioned<T>(path: string, signal?: AbortSignal): Promise<Versioned<T>> {
    const response = await this.#request('GET', path, { signal })
    return { value: (await response.json()) as T, version: response.headers.get('ETag') }
  }

  post<T>(path: string, body: unknown = {}, once: string = crypto.randomUUID()): Promise<T> {
    return this.request('POST', path, { body, once })
  }

  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.#request(method, path, options)
    return (response.status === 204 ? undefined : await response.json()) as T
  }

  /**
   * Changes or removes an object only if it still is what the page shows. `at` is where it is
   * read, if that is another path, and `part` is what of it the page shows.
   */
  async requestUnchanged<T, R = T>(method: string, path: string, shown: R, options: UnchangedOptions<T, R> = {}): Promise<void> {
    const { at = path, part = (found: T) => found as unknown as R, body } = options
    const { value, version } = await this.getVersioned<T>(at)
    if (JSON.stringify(part(value)) !== JSON.stringify(shown)) throw changed()
    await this.request(method, path, { body, match: version })
  }

  async #request(method: string, path: string, options: RequestOptions): Promise<Response> {
    const limit = AbortSignal.timeout(TIMEOUT_MS)
    const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit
    const response = await this.#send(method, path, options, signal)
    if (!response.ok) throw await problemOf(response)
    return response
  }

  /** Opens an event stream, which has no time limit. */
  async stream(path: string, after: string | null, signal: AbortSignal): Promise<ReadableStream> {
    const headers = this.#headers()
    headers.set('Accept', 'text/event-stream')
    if (after) headers.set('Last-Event-ID', after)
    const response = await fetch(address(path), { headers, signal }).catch((error: unknown) => {
      throw signal.aborted ? error : unreachable()
    })
    if (!response.ok) throw await problemOf(response)
    if (!response.body) throw new Problem(response.status, 'no_stream', 'the stream is empty')
    return response.body
  }

  async #send(method: string, path: string, options: RequestOptions, signal: AbortSignal) {
    const headers = this.#headers()
    if (options.once) headers.set('Idempotency-Key', options.once)
    if (options.match) headers.set('If-Match', options.match)
    // No page of another site can send it, so a cookie alone changes nothing.
    if (method !== 'GET') headers.set('Ostler-Csrf', '1')
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    if (body !== undefined) headers.set('Content-Type', 'application/json')
    try {
      return await fetch(address(path), { method, headers, body, signal })
    } catch (error) {
      if (options.signal?.aborted) throw error
      throw unreachable()
    }
  }

  #headers(): Headers {
    const headers = new Headers()
    if (this.#credentials.key) headers.set('Authorization', `Bearer ${this.#credentials.key}`)
    return headers
  }
}

/** The dashboard and the API have the same prefix. */
function address(path: string): URL {
  return new URL(`v1/${path}`, document.baseURI)
}
