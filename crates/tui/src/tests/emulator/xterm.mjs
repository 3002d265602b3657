// A terminal for tests. Reads requests as JSON, one in a line: {"open": [columns, rows]},
// {"write": "text"}, {"resize": [columns, rows]}, and {"text": true}, which is answered with
// scrollback and screen as a JSON string. The argument is the package.json beside which
// @xterm/headless is installed.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const { Terminal } = createRequire(process.argv[2])('@xterm/headless')

let terminal

for await (const line of createInterface({ input: process.stdin })) {
  const { open, write, resize, text } = JSON.parse(line)
  if (open) {
    terminal?.dispose()
    terminal = new Terminal({ cols: open[0], rows: open[1], scrollback: 100_000, allowProposedApi: true })
  }
  if (write !== undefined) await new Promise((done) => terminal.write(write, done))
  if (resize) terminal.resize(resize[0], resize[1])
  if (text) process.stdout.write(`${JSON.stringify(contents())}\n`)
}

function contents() {
  const buffer = terminal.buffer.active
  const rows = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row).translateToString(true))
  return rows.join('\n')
}
