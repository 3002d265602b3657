/** Organizations as a tree, each with the business layer of its agents. */

import type { OrgSummary } from '../api/schema.ts'

export interface TreeRow {
  org: OrgSummary
  depth: number
  /** Business layers of its agents, in words. */
  layers: string
}

/** Rows in the order in which a tree is read. Organizations whose parent is not visible are roots. */
export function treeRows(orgs: OrgSummary[]): TreeRow[] {
  const open = orgs.filter((one) => !one.archived)
  const known = new Set(open.map((one) => one.id))
  const platform = open.find((one) => one.platform)
  const parentOf = (org: OrgSummary) => {
    if (org.platform) return null
    if (org.parent && known.has(org.parent)) return org.parent
    return platform?.id ?? null
  }
  const below = (parent: string | null, depth: number): TreeRow[] =>
    open
      .filter((one) => parentOf(one) === parent)
      .sort((one, other) => one.name.localeCompare(other.name))
      .flatMap((org) => [{ org, depth, layers: layersOf(org) }, ...below(org.id, depth + 1)])
  return below(null, 0)
}

function layersOf(org: OrgSummary): string {
  if (org.platform) return 'platform · business layer 1'
  return org.parent ? 'client · business layers 3 and 4' : 'agency · business layer 2'
}
