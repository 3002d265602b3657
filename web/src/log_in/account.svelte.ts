/** Who uses the dashboard, in which organization, and the client with their credentials. */

import { Client } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import type { OrgSummary } from '../api/schema.ts'
import type { Me, OrgAccess, Page } from '../api/types.ts'

/** For this tab only: a key is gone when the tab is closed. */
const STORED_KEY = 'ostler.key'
const STORED_ORG = 'ostler.org'

export class Account {
  me = $state.raw<Me | null>(null)
  #reached: OrgAccess[] = []
  /** The organization that the pages show; `null` if the caller works in none. */
  org = $state.raw<OrgAccess | null>(null)
  /** Whether it is known who the user is. */
  ready = $state(false)
  client = $state.raw(new Client({ key: sessionStorage.getItem(STORED_KEY) }))

  /** Finds out whether the stored key or the cookie still holds. */
  async resume(): Promise<void> {
    try {
      await this.#enter(await this.client.get<Me>('me'))
    } catch (error) {
      if (!(error instanceof Problem) || error.status === 401) this.forget()
      else throw error
    } finally {
      this.ready = true
    }
  }

  async useKey(key: string): Promise<void> {
    const client = new Client({ key })
    const me = await client.get<Me>('me')
    this.client = client
    sessionStorage.setItem(STORED_KEY, key)
    await this.#enter(me)
  }

  async usePassword(email: string, password: string): Promise<void> {
    this.client = new Client({ key: null })
    await this.#enter(await this.client.post<Me>('login', { email, password }))
  }

  choose(org: OrgAccess): void {
    localStorage.setItem(STORED_ORG, org.org)
    this.org = org
  }

  async logOut(): Promise<void> {
    if (this.me?.kind === 'user') await this.client.post('logout')
    this.forget()
  }

  forget(): void {
    sessionStorage.removeItem(STORED_KEY)
    this.me = null
    this.org = null
    this.client = new Client({ key: null })
  }

  async #enter(me: Me): Promise<void> {
    if (me.kind === 'key') this.#reached = await this.#clientsOf(me)
    this.me = me
    const orgs = this.orgs
    this.org = orgs.find((one) => one.org === localStorage.getItem(STORED_ORG)) ?? orgs[0] ?? null
  }

  /** The organization of a key, and the clients that the key of an agency works in. */
  async #clientsOf({ org, role }: Extract<Me, { kind: 'key' }>): Promise<OrgAccess[]> {
    const { items } = await this.client.get<Page<OrgSummary>>('orgs').catch((error: unknown): Page<OrgSummary> => {
      // A key whose scopes do not include the list works in its own organization.
      if (error instanceof Problem && error.status === 403) return { items: [] }
      throw error
    })
    return items.map(({ id, slug, name }) => ({ org: id, slug, name, role, relation: id === org ? 'own' : 'child' }))
  }

  /** Enters the organization that an address names: `#/o/SLUG/…`. Returns the rest of the address. */
  followAddress(hash: string): string | null {
    const [, slug, rest] = /^#\/o\/([^/]+)(\/.*)?$/.exec(hash) ?? []
    if (!slug) return null
    const org = this.orgs.find((one) => one.slug === slug)
    if (org) this.choose(org)
    return `#${rest ?? '/'}`
  }

  get orgs(): OrgAccess[] {
    if (this.me?.kind === 'user') return this.me.orgs
    if (!this.me) return []
    const { org, slug, role } = this.me
    const own = this.#reached.filter((one) => one.org === org)
    const others = this.#reached.filter((one) => one.org !== org)
    return own.length > 0 ? [...own, ...others] : [{ org, slug, name: slug, role, relation: 'own' }, ...others]
  }

  /** Whether the caller administers an installation that has no organization besides the platform. */
  get isFirstRun(): boolean {
    return this.orgs.length === 1 && this.org?.role === 'platform_admin'
  }

  get name(): string {
    return this.me?.name ?? ''
  }

  /** The user id under which conversations and approvals store what this caller does. */
  get user(): string | null {
    if (this.me?.kind === 'user') return this.me.user
    return this.me ? this.me.key.replace(/^key_/, 'usr_') : null
  }

  get mayOperate(): boolean {
    return this.org !== null && this.org.role !== 'viewer'
  }

  get mayConfigure(): boolean {
    const own = this.org?.relation === 'own' && (this.org.role === 'admin' || this.org.role === 'owner')
    return own || this.org?.role === 'platform_admin'
  }

  /** The path of the org, or one below it. */
  path(rest: string): string {
    return rest ? `orgs/${this.org?.org ?? ''}/${rest}` : `orgs/${this.org?.org ?? ''}`
  }
}

export const account = new Account()
