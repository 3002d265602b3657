/** Names, ids and amounts as people read them. */

/** The end of an id, as commands accept it. */
export function shortId(id: string): string {
  return `…${id.slice(-4)}`
}

/** `refund_payment` → `refund payment`. */
export function plain(name: string): string {
  return name.replaceAll('_', ' ')
}

export function count(amount: number, one: string, many = `${one}s`): string {
  return `${amount.toLocaleString('en')} ${amount === 1 ? one : many}`
}

export const credits = (amount: number) => count(amount, 'credit')

const RISKS: Record<string, string> = {
  read: 'reads only',
  write: 'changes something',
  destructive: 'cannot be undone',
}

export const riskText = (risk: string) => RISKS[risk] ?? risk

/** The reason of a question, as the gate gives it. */
export function askReason(why: unknown): string {
  if (why === 'untrusted') return 'the agent had read content from outside before'
  if (why === 'unlisted_host') return 'it calls a host that is not on the list'
  if (why === 'approval_list') return 'the tool is on the list of tools that need approval'
  if (why && typeof why === 'object' && 'autonomy' in why) {
    const { level, risk } = why.autonomy as { level: string; risk: string }
    return `a ${plain(level)} agent may not do what ${riskText(risk)} without a person`
  }
  if (why && typeof why === 'object' && 'permission' in why) return 'a permission rule asks for it'
  return 'a rule asks for it'
}

/** What a decision means for a call: `{"decision": "ask", …}`. */
export function verdictText(verdict: unknown): string {
  const { decision } = (verdict ?? {}) as { decision?: unknown }
  if (decision === 'allow') return 'runs at once'
  if (decision === 'ask') return 'asks a person first'
  return decision === 'deny' ? 'is refused' : 'is decided otherwise'
}

/**
 * The reason of a decision in words: the server's `destructive, semi_autonomous` is for people who
 * know the levels. Where the risk is shown beside it, it is left out.
 */
export function reasonText(decision: string, verdict: string, withRisk = true): string {
  const found = /^(read|write|destructive), (\w+)$/.exec(verdict)
  if (found) {
    const [, risk = '', level = ''] = found
    const may = decision === 'allow' ? 'may do that alone' : decision === 'ask' ? 'asks a person first' : 'may not do that'
    return `${withRisk ? `${riskText(risk)}; ` : ''}a ${plain(level)} agent ${may}`
  }
  return verdict === 'control tool' ? 'steers the conversation only, which every agent may' : verdict
}
