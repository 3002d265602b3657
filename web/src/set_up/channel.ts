/** The kinds of channels, with what each needs: the form of the guided set-up, and what it sends. */

import type { Resource } from '../forms/changes.ts'

export interface ChannelField {
  name: string
  label: string
  help: string
  /** `secret` is where the secret is, never the secret itself. */
  type: 'text' | 'lines' | 'color' | 'choice' | 'secret'
  options?: string[]
  required?: boolean
}

export interface ChannelKind {
  id: string
  name: string
  about: string
  /** What to do elsewhere before. */
  steps: string[]
  fields: ChannelField[]
  /** What a test message is sent to. */
  address: string | null
}

const SECRET_HELP = 'Where the server finds it: env:NAME or file:PATH. The secret itself is never typed here and never stored in the database.'

export const CHANNEL_KINDS: ChannelKind[] = [
  {
    id: 'webchat',
    name: 'Web chat',
    about: 'A chat on your own pages. It needs nothing else.',
    steps: [],
    fields: [
      { name: 'greeting', label: 'Greeting', help: 'What visitors read before they write.', type: 'text' },
      { name: 'color', label: 'Colour', help: 'The colour of the button and of the visitor’s messages.', type: 'color' },
      { name: 'origins', label: 'Pages that may show it', help: 'One origin in a line, such as https://bella.example; empty for every page.', type: 'lines' },
    ],
    address: null,
  },
  {
    id: 'telegram',
    name: 'Telegram',
    about: 'A bot that customers write to.',
    steps: [
      'Write /newbot to @BotFather in Telegram. It asks for a name and gives you a token.',
      'Put the token into a file or a variable on the server.',
    ],
    fields: [{ name: 'secret', label: 'Place of the bot’s token', help: SECRET_HELP, type: 'secret', required: true }],
    address: 'The number of a chat in which somebody has written to the bot',
  },
  {
    id: 'email',
    name: 'E-mail',
    about: 'A mailbox that agents answer from.',
    steps: ['Have your mail server post incoming mail to the address that you see after adding the channel.'],
    fields: [
      { name: 'from', label: 'Sender', help: 'Such as Bella Pizza <ciao@bella.example>.', type: 'text', required: true },
      { name: 'smtp.host', label: 'Mail server', help: 'The server that sends your mail.', type: 'text', required: true },
      { name: 'smtp.security', label: 'Encryption', help: '', type: 'choice', options: ['tls', 'starttls', 'none'] },
      { name: 'smtp.username', label: 'User name', help: 'Empty if the server asks for none.', type: 'text' },
      { name: 'secret', label: 'Place of the password', help: SECRET_HELP, type: 'secret' },
      { name: 'inbound_secret', label: 'Place of the key that signs incoming mail', help: SECRET_HELP, type: 'secret' },
    ],
    address: 'A mail address of yours',
  },
  {
    id: 'webhook',
    name: 'Webhook',
    about: 'Your own gateway, for example to SMS or WhatsApp.',
    steps: ['Have the gateway post messages to the address that you see after adding the channel, signed by Standard Webhooks.'],
    fields: [
      { name: 'url', label: 'Address of the gateway', help: 'Where answers are posted.', type: 'text', required: true },
      { name: 'secret', label: 'Place of the signing key', help: `${SECRET_HELP} Without one, a new key is made on the server.`, type: 'secret' },
    ],
    address: 'An address that the gateway knows, such as a telephone number',
  },
]

/** The body that creates a channel. Fields that are empty are left to the server. */
export function channelBody(kind: ChannelKind, name: string, agent: string, values: Record<string, string>): Resource {
  const settings: Resource = {}
  for (const field of kind.fields) {
    const value = (values[field.name] ?? '').trim()
    if (!value || field.name === 'secret') continue
    const [outer, inner] = field.name.split('.') as [string, string | undefined]
    const typed = field.type === 'lines' ? value.split('\n').map((line) => line.trim()).filter(Boolean) : value
    if (inner) settings[outer] = { ...((settings[outer] as Resource) ?? {}), [inner]: typed }
    else settings[outer] = typed
  }
  const secret = (values.secret ?? '').trim()
  return { name: name.trim(), kind: kind.id, agent, settings, ...(secret ? { secret } : {}) }
}

/** The lines that show a web chat on a page. */
export function snippet(address: string, title: string): string {
  const at = address.lastIndexOf('/chat/')
  const [server, binding] = [address.slice(0, at), address.slice(at + '/chat/'.length)]
  return `<script src="${server}/widget.js" data-binding="${binding}" data-title="${escapeHtml(title)}" defer></script>`
}

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
