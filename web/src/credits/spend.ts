/** What was spent, as the page draws it. */

import type { SpentOnDay } from '../api/schema.ts'

const DAY_MS = 86_400_000

/** One bar for each day, also for those without costs; heights are percentages of the highest. */
export function dayBars(since: string, days: SpentOnDay[], today: Date): { day: string; credits: number; height: number }[] {
  const spent = new Map(days.map((one) => [one.day, one.credits]))
  const highest = Math.max(1, ...days.map((one) => one.credits))
  const bars = []
  for (let at = Date.parse(since); at <= today.getTime(); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10)
    const credits = spent.get(day) ?? 0
    bars.push({ day, credits, height: (100 * credits) / highest })
  }
  return bars
}
