/** The things of an organization that are created, changed and removed as one form each. */

import type { Resource } from '../forms/changes.ts'

export interface Kind {
  /** Its part of the address, below the org and in the dashboard. */
  path: string
  name: string
  one: string
  /** Its schema; with `Input` behind it for a new one. */
  schema: string
  /** The field that names it. */
  key: string
  about: string
  empty: string
  removable: boolean
  summary: (item: Resource) => string
  /** Values of a new one, other than the usual. */
  values?: Resource
}

const text = (value: unknown) => (typeof value === 'string' ? value : '')

export const KINDS: Kind[] = [
  {
    path: 'channels',
    name: 'Channels',
    one: 'a channel',
    schema: 'ChannelDefinition',
    key: 'name',
    about: 'Where customers write, and which agent answers there.',
    empty: 'Add a web chat, a Telegram bot, a mail address or a webhook.',
    removable: false,
    summary: (one) => `${text(one.kind)} · ${text(one.agent)} answers${one.enabled ? '' : ' · switched off'}`,
    values: { kind: 'webchat' },
  },
  {
    path: 'tools',
    name: 'HTTP tools',
    one: 'an HTTP tool',
    schema: 'HttpToolDefinition',
    key: 'name',
    about: 'Your own systems as tools of the agents. Every call passes the same rules as the built-in ones.',
    empty: 'Add one for each thing that agents may look up or do in your systems.',
    removable: true,
    summary: (one) => `${text(one.method)} ${text(one.url)}`,
    values: { risk: 'read' },
  },
  {
    path: 'mcp-servers',
    name: 'MCP servers',
    one: 'an MCP server',
    schema: 'McpServerDefinition',
    key: 'name',
    about: 'Servers of the Model Context Protocol whose tools agents may have.',
    empty: 'Add the address of one, or the program to start.',
    removable: true,
    summary: (one) => text(one.url) || text(one.command),
  },
  {
    path: 'integrations',
    name: 'Integrations',
    one: 'an integration',
    schema: 'IntegrationDefinition',
    key: 'service',
    about: 'Services that tools need. A tool is absent until its service is connected.',
    empty: 'Connect a payment provider, for example.',
    removable: false,
    summary: (one) => (one.connected ? 'connected' : 'not connected'),
  },
]
