/** What a task of a workflow waits for, and what people can do with it. */

import type { WorkflowTask } from '../api/schema.ts'

/** A question of a task, as its step asks it. */
export interface TaskQuestion {
  /** `question`, `approval`, `plan` or `unknown` (the outcome of a call). */
  asks: string
  text: string
  options: string[]
  arguments: unknown
}

export function questionsOf(task: WorkflowTask): TaskQuestion[] {
  return task.questions.map((one) => {
    const asked = one as Record<string, unknown>
    const words = [asked.question, asked.why, asked.plan, asked.tool].find((word) => typeof word === 'string')
    return {
      asks: String(asked.asks ?? 'question'),
      text: String(words ?? 'It waits for an answer.'),
      options: Array.isArray(asked.options) ? asked.options.map(String) : [],
      arguments: asked.arguments ?? null,
    }
  })
}

/** What a task resulted in: a text, or an object or a list that is written as JSON. */
export function valueOf(result: string): unknown {
  try {
    const value: unknown = JSON.parse(result)
    return typeof value === 'object' && value !== null ? value : result
  } catch {
    return result
  }
}

/** The step of a task: `lines` of `lines/0` and of `lines!undo`. */
export const stepOf = (task: string) => task.split(/[/!]/, 1)[0] ?? task

export type Tone = 'good' | 'warn' | 'bad' | undefined

export function toneOf(state: string): Tone {
  if (state === 'done') return 'good'
  if (state === 'failed' || state === 'cancelled') return 'bad'
  return state === 'waits' || state === 'waiting' || state === 'paused' ? 'warn' : undefined
}

/** Whether nothing more happens unless it is run again. */
export const hasEnded = (status: string) => ['done', 'failed', 'cancelled'].includes(status)
