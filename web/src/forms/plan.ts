/**
 * What saving would do besides changing the fields: the same plan that `ostler apply` shows. The
 * server checks the rules, and decides the tool calls of the last days again.
 */

import type { Client } from '../api/client.ts'
import { count, plain } from '../format/words.ts'
import type { Resource } from './changes.ts'
import { hasRoute } from './document.ts'

export interface ResourcePlan {
  changes: { resource: string; action: string; fields: { path: string; old: unknown; new: unknown }[] }[]
  drift?: { resource: string; path: string }[]
  what_if?: {
    days: number
    calls: number
    changes: { org: string; agent: string; tool: string; from: unknown; to: unknown; calls: number }[]
  } | null
  violations?: { resource: string; path: string; message: string }[]
}

const TABLES: Record<string, string> = { agents: 'agent', channels: 'channel', tools: 'tool', 'mcp-servers': 'mcp_server', integrations: 'integration' }

/** The address of the object of a form; `null` if a plan knows no such object. */
export function addressOf(path: string, org: string): string | null {
  if (path === '' || path === 'settings') return `org ${org}`
  const [table, name] = path.split('/')
  const kind = TABLES[table ?? '']
  return kind && name ? `${kind} ${org}/${name}` : null
}

/** The object as a plan takes it: settings are a part of their organization. */
export function wanted(path: string, current: Resource, changed: Resource, org: Resource | null): Resource {
  if (path !== 'settings') return { ...current, ...changed }
  return { ...org, settings: { ...current, ...changed } }
}

/** What the plan says besides the fields of the form. */
export function planLines(plan: ResourcePlan, address: string): string[] {
  const broken = (plan.violations ?? []).map((one) => `Not allowed: ${one.message}.`.replace(/\.\.$/, '.'))
  const others = plan.changes
    .filter((one) => one.resource !== address)
    .map((one) => `${one.action === 'create' ? 'New' : one.action === 'remove' ? 'Removed' : 'Changes too'}: ${one.resource}${one.fields.length > 0 ? ` (${one.fields.map((field) => plain(field.path)).join(', ')})` : ''}.`)
  const what = plan.what_if
  if (!what) return [...broken, ...others]
  const none = `None of the ${count(what.calls, 'tool call')} of the last ${what.days} days would have been decided differently.`
  const calls = what.changes.map((one) => `${plain(one.tool)} by ${one.agent}: ${verdict(one.from)} → ${verdict(one.to)}, ${count(one.calls, 'call')} of the last ${what.days} days.`)
  return [...broken, ...others, ...(calls.length > 0 ? calls : what.calls > 0 ? [none] : [])]
}

/** The word of a decision: `allow`, or the key of `{"ask": …}`. */
function verdict(value: unknown): string {
  if (typeof value === 'string') return value
  const { decision, ...rest } = (value ?? {}) as Record<string, unknown>
  return typeof decision === 'string' ? decision : (Object.keys(rest)[0] ?? 'unknown')
}

/** Asks for the plan. A server without plans shows the fields only. */
export async function readPlan(client: Client, address: string, value: Resource): Promise<ResourcePlan | null> {
  if (!(await hasRoute('/v1/resources/plan'))) return null
  return client.post<ResourcePlan>('resources/plan', { source: 'change', resources: { [address]: value } })
}
