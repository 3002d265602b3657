/** Events of a thread, as docs/HARNESS.md lists them. Kinds that are not here are ignored. */

export interface EventDetails {
  /** The number of an event that is stored. */
  id?: number
  at: number
  turnId?: string
  /** The calls that lead to the subagent that the event is about. */
  path?: string[]
  /** What `message_update` added. */
  delta?: string
  toolName?: string
  status?: string
  why?: string
  risk?: string
  always?: { toml: string; scopes: string[] }
}

export type MessagePart =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; toolCallId: string; toolName: string; args: unknown }
  | { type: 'tool_result'; toolCallId: string; result: string; isError: boolean }
  | { type: 'image' | 'audio' | 'file' }

export interface ThreadMessage {
  id: string
  role: 'user' | 'assistant' | 'tool'
  content: MessagePart[]
  createdAt: number
  partial?: boolean
}

export interface Task {
  content: string
  status: 'pending' | 'in_progress' | 'completed'
  activeForm: string
}

export interface Usage {
  promptTokens: number
  completionTokens: number
  totalTokens: number
}

type Kind =
  | { type: 'message_start' | 'message_update' | 'message_end'; message: ThreadMessage }
  | { type: 'tool_start'; toolCallId: string; toolName: string; args: unknown }
  | { type: 'tool_output'; toolCallId: string; text: string }
  | { type: 'tool_end'; toolCallId: string; result: string; isError: boolean }
  | { type: 'tool_approval_required'; toolCallId: string; toolName: string; args: unknown }
  | { type: 'ask_question'; questionId: string; question: string; options?: string[] | null }
  | { type: 'plan_approval_required'; planId: string; title?: string | null; plan: string }
  | { type: 'ask_closed'; askId: string }
  | { type: 'subagent_start'; agentType: string; task: string }
  | { type: 'subagent_text'; text: string }
  | { type: 'subagent_end'; agentType: string; durationMs: number }
  | { type: 'agent_start' | 'turn_interrupted' }
  | { type: 'agent_end'; reason: string }
  | { type: 'mode_changed'; modeId: string }
  | { type: 'model_changed'; modelId: string }
  | { type: 'task_updated'; tasks: Task[] }
  | { type: 'usage_update'; usage: Usage }
  | { type: 'follow_up_queued'; count: number }
  | { type: 'error'; error: string; retryable?: boolean | null }
  | { type: 'workspace_error'; error: string }
  | { type: 'context_compacted'; messages: number }

export type ThreadEvent = Kind & { ext: EventDetails }

export interface ThreadInfo {
  id: string
  title: string | null
  createdAt: number
  updatedAt: number
  messageCount: number
  metadata: { currentModeId?: string; tokenUsage?: Usage; creditsSpent?: number }
}

export interface ThreadSnapshot {
  thread: ThreadInfo
  heldBy?: string
  modeId?: string
  modelId?: string
  modes: { id: string; name: string }[]
  turnId?: string
  followUps: number
  tasks: Task[]
  asks: ThreadEvent[]
  draft?: ThreadEvent
}

export const textOf = (message: ThreadMessage) =>
  message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n\n')
