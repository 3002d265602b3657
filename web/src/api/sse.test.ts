import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventParser } from './sse.ts'

const stream = ': hello\n\nevent: open\nid: 0-0\ndata: {}\n\nid: 0-1\nevent: message\ndata: a\ndata: b\n\ndata:c\r\n\r\n'
const expected = [
  { id: '0-0', name: 'open', data: '{}' },
  { id: '0-1', name: 'message', data: 'a\nb' },
  { id: null, name: 'message', data: 'c' },
]

test('events are the same however the stream is cut', () => {
  for (let size = 1; size <= stream.length; size++) {
    const parser = new EventParser()
    const events = []
    for (let at = 0; at < stream.length; at += size) {
      events.push(...parser.push(stream.slice(at, at + size)))
    }
    assert.deepEqual(events, expected, `pieces of ${size}`)
  }
})
