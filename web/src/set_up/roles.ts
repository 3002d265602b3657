import type { Role } from '../api/schema.ts'

/** The roles in an organization, and what they may do. */
export const ROLES: { role: Role; may: string }[] = [
  { role: 'viewer', may: 'reads everything' },
  { role: 'operator', may: 'answers customers, approves calls' },
  { role: 'admin', may: 'changes agents, channels and settings' },
  { role: 'owner', may: 'everything, also people and credits' },
]
