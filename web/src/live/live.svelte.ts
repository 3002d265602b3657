/** The event stream: keeps what is on screen up to date, and resumes after a break. */

import type { QueryClient } from '@tanstack/svelte-query'
import { SvelteMap } from 'svelte/reactivity'
import type { Client } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { EventParser, type ServerEvent } from '../api/sse.ts'
import type { Delta } from '../api/types.ts'
import { applyDelta, type Draft } from './drafts.ts'
import { type Topic, topicsOf } from './topics.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000
/** Events that arrive together cause one reload. */
const GATHER_MS = 120

export type LiveState = 'live' | 'connecting'

export class Live {
  state = $state<LiveState>('connecting')
  /** What agents are writing, by session. */
  readonly drafts = new SvelteMap<string, Draft>()
  readonly #queries: QueryClient
  readonly #pending = new Set<Topic>()
  #stop: AbortController | null = null
  #last: string | null = null
  #path = ''
  #timer: ReturnType<typeof setTimeout> | undefined
  #onRefused: () => void

  constructor(queries: QueryClient, onRefused: () => void) {
    this.#queries = queries
    this.#onRefused = onRefused
  }

  start(client: Client, org: string): void {
    this.stop()
    this.#stop = new AbortController()
    this.#path = `events?deltas=true&org=${org}`
    void this.#run(client, this.#stop.signal)
  }

  stop(): void {
    this.#stop?.abort()
    this.#stop = null
    this.#last = null
    this.drafts.clear()
  }

  async #run(client: Client, signal: AbortSignal): Promise<void> {
    let wait = FIRST_WAIT_MS
    while (!signal.aborted) {
      try {
        await this.#follow(client, signal, () => (wait = FIRST_WAIT_MS))
      } catch (error) {
        if (error instanceof Problem && error.status === 401) return this.#onRefused()
      }
      if (signal.aborted) return
      this.state = 'connecting'
      await pause(wait * (0.75 + Math.random() / 2), signal)
      wait = Math.min(wait * 2, LONGEST_WAIT_MS)
    }
  }

  async #follow(client: Client, signal: AbortSignal, onOpen: () => void): Promise<void> {
    const body = await client.stream(this.#path, this.#last, signal)
    const reader = body.pipeThrough(new TextDecoderStream()).getReader()
    const parser = new EventParser()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const event of parser.push(value)) {
        if (event.name === 'open') onOpen()
        this.#receive(event)
      }
    }
  }

  #receive(event: ServerEvent): void {
    if (event.id) this.#last = event.id
    if (event.name === 'open') {
      this.state = 'live'
      // What happened before the first event is known from nowhere else.
      this.drafts.clear()
    } else if (event.name === 'delta') {
      this.#applyDelta(JSON.parse(event.data) as Delta)
    } else {
      for (const topic of topicsOf(event.name)) this.#pending.add(topic)
      this.#timer ??= setTimeout(() => this.#reload(), GATHER_MS)
    }
  }

  #applyDelta(delta: Delta): void {
    const draft = applyDelta(this.drafts.get(delta.session) ?? null, delta)
    if (draft) this.drafts.set(delta.session, draft)
    else this.drafts.delete(delta.session)
  }

  #reload(): void {
    this.#timer = undefined
    const topics = [...this.#pending]
    this.#pending.clear()
    for (const topic of topics) void this.#queries.invalidateQueries({ queryKey: [topic] })
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
}
