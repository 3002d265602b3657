/** Short messages about what the user has just done. */

import { sentence } from '../api/problem.ts'

export interface Toast {
  id: number
  text: string
  tone: 'good' | 'bad'
}

const SHOWN_MS = 6_000

class Toasts {
  list = $state<Toast[]>([])
  #next = 1

  good(text: string): void {
    this.#show(text, 'good')
  }

  bad(error: unknown): void {
    this.#show(sentence(error), 'bad')
  }

  dismiss(id: number): void {
    this.list = this.list.filter((one) => one.id !== id)
  }

  #show(text: string, tone: Toast['tone']): void {
    const id = this.#next++
    this.list = [...this.list.slice(-3), { id, text, tone }]
    if (tone === 'good') setTimeout(() => this.dismiss(id), SHOWN_MS)
  }
}

export const toasts = new Toasts()
