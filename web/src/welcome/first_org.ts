/** The first organization of an installation: its resources, as `ostler apply` takes them. */

import type { Resource } from '../forms/changes.ts'

export interface FirstOrg {
  name: string
  timeZone: string
  /** The agent that answers customers. */
  agent: string
}

/** `Bella Pizza!` → `bella-pizza`. */
export function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/[\u0300-\u036f]/g, '').toLowerCase()
  return plain.replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40)
}

const STARTING_CREDITS = 1_000

/** By address: an organization with a PM for its owner, customer service, and a web chat. */
export function firstResources({ name, timeZone, agent }: FirstOrg): Record<string, Resource> {
  const slug = slugOf(name)
  const service = slugOf(agent) === 'pm' ? 'service' : slugOf(agent) || 'service'
  return {
    [`org ${slug}`]: { slug, name: name.trim(), time_zone: timeZone, starting_credits: STARTING_CREDITS },
    [`agent ${slug}/pm`]: { org: slug, slug: 'pm', name: 'PM', subtype: 'pm', autonomy: 'semi_autonomous' },
    [`agent ${slug}/${service}`]: { org: slug, slug: service, name: agent.trim(), subtype: 'customer_service', autonomy: 'semi_autonomous' },
    [`channel ${slug}/webchat`]: { org: slug, name: 'webchat', kind: 'webchat', agent: service },
  }
}
