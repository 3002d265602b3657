/** An error of the API (RFC 9457), or of the way to it. */
export class Problem extends Error {
  readonly status: number
  /** A stable word such as `not_found`; `unreachable` if there was no answer. */
  readonly code: string

  constructor(status: number, code: string, detail: string) {
    super(detail)
    this.status = status
    this.code = code
  }
}

export async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => null)
  const { code, detail, title } = (body ?? {}) as Record<string, string | undefined>
  const text = detail ?? title ?? `the server answered ${response.status}`
  return new Problem(response.status, code ?? `http_${response.status}`, text)
}

export const unreachable = () =>
  new Problem(0, 'unreachable', 'the server cannot be reached; your connection or the server is down')

/** The answer of the server to a change that is based on an old version. */
export const changed = () => new Problem(412, 'changed', 'somebody else changed it meanwhile; look at it again')

/** A sentence for people. */
export function sentence(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const first = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}
