// Copies a conversation of a demo's SQLite database many times, while no server runs on it.
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

const LETTERS = '0123456789abcdefghjkmnpqrstvwxyz'

/** Returns the text of an id of 16 bytes, without its prefix. */
function idText(bytes) {
  let number = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let at = 0; at < 26; at++, number >>= 5n) text = LETTERS[Number(number & 31n)] + text
  return text
}

/** An id of the time before `at`, so that the demo's own conversations are the newest. */
function idAt(at) {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  return bytes
}

export function addSessions(file, name, count) {
  const db = new DatabaseSync(file)
  const found = db.prepare("SELECT org, conversation, thread, data FROM sessions WHERE json_extract(data, '$.name') = ?").get(name)
  const { key } = db.prepare('SELECT key FROM conversations WHERE id = ?').get(found.conversation)
  const first = db.prepare('SELECT data FROM messages WHERE thread = ? ORDER BY seq LIMIT 1').get(found.thread)
  const [conversation, session, message] = [
    'INSERT INTO conversations (org, id, key) VALUES (?, ?, ?)',
    'INSERT INTO sessions (org, id, conversation, thread, status, data) VALUES (?, ?, ?, ?, ?, ?)',
    'INSERT INTO messages (org, thread, seq, id, data) VALUES (?, ?, ?, ?, ?)',
  ].map((sql) => db.prepare(sql))
  const template = JSON.parse(found.data)
  const peer = template.peer.person
  db.exec('BEGIN')
  for (let number = 1; number <= count; number++) {
    const at = template.opened_at - number * 1_000
    const ids = { session: idAt(at), conversation: idAt(at), thread: idAt(at) }
    const person = `customer-${number}`
    const data = {
      ...template,
      id: `ses_${idText(ids.session)}`,
      conversation: `cnv_${idText(ids.conversation)}`,
      thread: `thr_${idText(ids.thread)}`,
      peer: { person },
      name: `Customer ${number}`,
      opened_at: at,
      messages: 1,
    }
    conversation.run(found.org, ids.conversation, key.replace(peer, person))
    session.run(found.org, ids.session, ids.conversation, ids.thread, 'active', JSON.stringify(data))
    const said = { ...JSON.parse(first.data), at, run: null, parts: [{ type: 'text', text: `I am customer ${number}.` }] }
    message.run(found.org, ids.thread, 1, idAt(at), JSON.stringify(said))
  }
  db.exec('COMMIT')
  db.close()
}
