/** The names of agents and people by id; read once for each organization. */

import { account } from '../log_in/account.svelte.ts'

interface Named {
  id: string
  name: string
}

class Names {
  #agents = $state.raw(new Map<string, string>())
  #people = $state.raw(new Map<string, string>())

  /** Reads the names again. Without them, ids are shown. */
  async load(): Promise<void> {
    const { agents, people } = await account.client.get<{ agents: Named[]; people: Named[] }>(account.path('names'))
    this.#agents = new Map(agents.map((one) => [one.id, one.name]))
    this.#people = new Map(people.map((one) => [one.id, one.name]))
  }

  agent(id: string): string | undefined {
    return this.#agents.get(id)
  }

  get people(): Named[] {
    return [...this.#people].map(([id, name]) => ({ id, name }))
  }

  person(id: string): string | undefined {
    return this.#people.get(id)
  }
}

export const names = new Names()
