/** Who uses the dashboard, and the client with their credentials. */

import { Client } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import type { Me } from '../api/types.ts'

/** For this tab only: a key is gone when the tab is closed. */
const STORED_KEY = 'ostler.key'

export class Account {
  me = $state<Me | null>(null)
  /** Whether it is known who the user is. */
  ready = $state(false)
  client = $state.raw(new Client({ key: sessionStorage.getItem(STORED_KEY) }))

  /** Finds out whether the stored key or the cookie still holds. */
  async resume(): Promise<void> {
    try {
      this.me = await this.client.get<Me>('me')
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 401) this.forget()
      else throw error
    } finally {
      this.ready = true
    }
  }

  async useKey(key: string): Promise<void> {
    const client = new Client({ key })
    this.me = await client.get<Me>('me')
    this.client = client
    sessionStorage.setItem(STORED_KEY, key)
  }

  forget(): void {
    sessionStorage.removeItem(STORED_KEY)
    this.me = null
    this.client = new Client({ key: null })
  }

  /** The user id under which conversations and approvals store what this caller does. */
  get user(): string | null {
    return this.me ? this.me.key.replace(/^key_/, 'usr_') : null
  }

  get mayOperate(): boolean {
    return this.me !== null && this.me.role !== 'viewer'
  }

  get mayConfigure(): boolean {
    return this.mayOperate && this.me?.role !== 'operator'
  }

  /** A path below the org. */
  path(rest: string): string {
    return `orgs/${this.me?.org ?? ''}/${rest}`
  }
}

export const account = new Account()
