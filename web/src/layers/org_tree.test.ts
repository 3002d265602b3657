import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OrgSummary } from '../api/schema.ts'
import { treeRows } from './org_tree.ts'

const org = (id: string, change: Partial<OrgSummary> = {}) => ({ id, slug: id, name: id, parent: null, platform: false, archived: false, ...change }) as OrgSummary

test('u06 organizations stand below their parents, with their business layers', () => {
  const orgs = [org('bella', { parent: 'harbour' }), org('harbour'), org('root', { platform: true }), org('gone', { archived: true }), org('alone', { parent: 'unseen' })]
  const rows = treeRows(orgs).map((one) => `${'-'.repeat(one.depth)}${one.org.id}: ${one.layers}`)
  assert.deepEqual(rows, [
    'root: platform · business layer 1',
    '-alone: client · business layers 3 and 4',
    '-harbour: agency · business layer 2',
    '--bella: client · business layers 3 and 4',
  ])
})
