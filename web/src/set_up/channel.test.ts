import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHANNEL_KINDS, channelBody, snippet } from './channel.ts'

const kind = (id: string) => CHANNEL_KINDS.find((one) => one.id === id)!

test('u12 the guided set-up sends what a channel needs, and no empty fields', () => {
  const mail = channelBody(kind('email'), ' mail ', 'gia', { from: 'Bella <ciao@bella.example>', 'smtp.host': 'mail.bella.example', 'smtp.security': 'tls', 'smtp.username': '', secret: 'env:X' })
  assert.deepEqual(mail, {
    name: 'mail', kind: 'email', agent: 'gia', secret: 'env:X',
    settings: { from: 'Bella <ciao@bella.example>', smtp: { host: 'mail.bella.example', security: 'tls' } },
  })
  const chat = channelBody(kind('webchat'), 'shop', 'gia', { origins: 'https://a.example\n\n https://b.example ' })
  assert.deepEqual(chat, { name: 'shop', kind: 'webchat', agent: 'gia', settings: { origins: ['https://a.example', 'https://b.example'] } })
})

test('u12 the snippet names the server and the chat, and its title is escaped', () => {
  assert.equal(
    snippet('https://desk.example/x/chat/bnd_1', 'Bella "Pizza"'),
    '<script src="https://desk.example/x/widget.js" data-binding="bnd_1" data-title="Bella &quot;Pizza&quot;" defer></script>',
  )
})
