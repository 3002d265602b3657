/** Times in the zone of the reader. All values are milliseconds since 1970. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How long something lasts: `5 min`. */
export function duration(ms: number): string {
  const past = Math.max(0, ms)
  if (past < MINUTE) return `${Math.floor(past / 1000)} s`
  if (past < HOUR) return `${Math.floor(past / MINUTE)} min`
  if (past < DAY) return `${Math.floor(past / HOUR)} h`
  return `${Math.floor(past / DAY)} d`
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })

/** The clock for today, else the date. */
export function shortTime(at: number, now: number): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return isToday ? clock.format(at) : date.format(at)
}

export const clockTime = (at: number) => clock.format(at)
export const dayName = (at: number) => date.format(at)
export const wholeTime = (at: number) => whole.format(at)
