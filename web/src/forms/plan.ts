/**
 * What saving would do besides changing the fields: the same plan that `ostler apply` shows. The
 * server checks the rules, and decides the tool calls of the last days again.
 */

import type { Client } from '../api/client.ts'
import type { ResourcePlan, VerdictChange } from '../api/schema.ts'
import { count, plain, verdictText } from '../format/words.ts'
import type { Resource } from './changes.ts'

const TABLES: Record<string, string> = { agents: 'agent', channels: 'channel', tools: 'tool', 'mcp-servers': 'mcp_server', integrations: 'integration' }

/** What a person reads of a plan. */
export interface Consequences {
  /** The rules that the change breaks. It cannot be saved. */
  broken: string[]
  /** What else changes, and what will not work. */
  others: string[]
  /** Recorded calls that would have been decided differently. */
  calls: { text: string; session: string }[]
  /** What was looked at; empty if the change concerns no calls. */
  looked: string
}

/** The address of the object of a form; `null` if a plan knows no such object. */
export function addressOf(path: string, org: string, name: unknown = null): string | null {
  if (path === '' || path === 'settings' || path === 'sharing') return `org ${org}`
  const [table, key] = path.split('/')
  const kind = TABLES[table ?? '']
  const of = key ?? name
  return kind && typeof of === 'string' && of !== '' ? `${kind} ${org}/${of}` : null
}

/** The object as a plan takes it: settings and sharing are parts of their organization. */
export const wanted = (path: string, edited: Resource, org: Resource | null): Resource =>
  path === 'settings' || path === 'sharing' ? { ...org, [path]: edited } : edited

export function consequencesOf({ changes, notes = [], violations = [], what_if }: ResourcePlan, address: string): Consequences {
  const others = changes.filter((one) => one.resource !== address).map((one) => `${ACTIONS[one.action]}: ${one.resource}${fieldsText(one.fields)}.`)
  return {
    broken: violations.map((one) => sentenceOf(one.message)),
    others: [...others, ...notes.map(sentenceOf)],
    calls: (what_if?.changes ?? []).map((one) => ({ text: callText(one), session: one.example.session })),
    looked: what_if ? lookedText(what_if.days, what_if.calls, what_if.changes.length === 0) : '',
  }
}

const ACTIONS = { create: 'New', change: 'Changes too', remove: 'Removed' }

const fieldsText = (fields: { path: string }[]) => (fields.length > 0 ? ` (${fields.map((field) => plain(field.path)).join(', ')})` : '')

/** A message of the server as a sentence. */
const sentenceOf = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`

const callText = ({ tool, agent, from, to, calls }: VerdictChange) =>
  `${count(calls, 'call')} of ${plain(tool)} by ${agent}: ${verdictText(from)} now, ${verdictText(to)} then`

function lookedText(days: number, calls: number, none: boolean): string {
  if (calls === 0) return `No tool calls in the last ${days} days to compare with.`
  const looked = `${count(calls, 'tool call')} of the last ${days} days`
  return none ? `None of the ${looked} would have been decided differently.` : `Of the ${looked}, these would have been decided differently:`
}

/** Asks for the plan of a change, or of something new. */
export async function readPlan(client: Client, address: string, value: Resource, isNew = false): Promise<Consequences> {
  const plan = await client.post<ResourcePlan>('resources/plan', { source: 'change', resources: { [address]: value } })
  const found = consequencesOf(plan, address)
  return isNew && existsAlready(plan, address) ? { ...found, broken: [`There is already ${address}; choose another name.`] } : found
}

/** Whether a plan for something new would change what is there. */
export const existsAlready = ({ changes, violations = [] }: ResourcePlan, address: string) =>
  violations.length === 0 && !changes.some((one) => one.resource === address && one.action === 'create')
