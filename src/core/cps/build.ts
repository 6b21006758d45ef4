import { isObject, type JsonObject, type JsonValue } from '../json/value.js'
import { canonicalText, type No } from './canonical.js'
import type { AUTHORITIES, STATUSES, TRIGGERS, TYPES } from './model.js'
import { float, NotJson, treeOf } from './tree.js'

type Word<T extends readonly string[]> = T[number]
type Any = unknown

/** What a capsule is made from; what is left out has the default of CPS's references. */
export type CpsParts = {
  readonly id: string
  readonly type: Word<typeof TYPES>
  readonly domain?: string
  readonly parent_id?: string | null
  readonly sequence: number
  readonly previous_hash: string | null
  readonly trigger: {
    readonly type: Word<typeof TRIGGERS>
    readonly source?: string
    /** RFC 3339 in UTC, or as CPS has it. */
    readonly timestamp: string
    readonly request?: string
    readonly correlation_id?: string | null
    readonly user_id?: string | null
  }
  readonly context?: {
    readonly agent_id?: string
    readonly session_id?: string | null
    readonly environment?: { readonly [name: string]: Any }
  }
  readonly reasoning?: {
    readonly analysis?: string
    readonly options?: readonly CpsOption[]
    readonly selected_option?: string
    readonly reasoning?: string
    readonly confidence?: number
    readonly model?: string | null
    readonly prompt_hash?: string | null
  }
  readonly authority?: {
    readonly type?: Word<typeof AUTHORITIES>
    readonly approver?: string | null
    readonly policy_reference?: string | null
    readonly chain?: readonly { readonly [name: string]: Any }[]
    readonly escalation_reason?: string | null
  }
  readonly execution?: {
    readonly tool_calls?: readonly CpsToolCall[]
    readonly duration_ms?: number
    readonly resources_used?: { readonly [name: string]: Any }
  }
  readonly outcome?: {
    readonly status?: Word<typeof STATUSES>
    readonly result?: Any
    readonly summary?: string
    readonly error?: string | null
    readonly side_effects?: readonly string[]
    readonly metrics?: { readonly [name: string]: Any }
  }
}
export type CpsOption = {
  readonly id: string
  readonly description: string
  readonly pros?: readonly string[]
  readonly cons?: readonly string[]
  readonly estimated_impact?: { readonly [name: string]: Any }
  readonly feasibility?: number
  readonly risks?: readonly string[]
  readonly selected?: boolean
  readonly rejection_reason?: string
}
export type CpsToolCall = {
  readonly tool: string
  readonly arguments?: { readonly [name: string]: Any }
  readonly result?: Any
  readonly success: boolean
  readonly duration_ms?: number
  readonly error?: string | null
}

export type Built = { readonly ok: true; readonly canonical: string }
/** `field`: the member that cannot stand in a capsule. */
export type NotBuilt = No & { readonly field: string }

/** Every member of every section (CPS, sections), so that readers which fill in defaults hash the same text. */
export function build(parts: CpsParts): Built | NotBuilt {
  try {
    const canonical = canonicalText(contentTree(parts))
    return canonical === null
      ? { ok: false, code: 'number_without_form', field: '' }
      : { ok: true, canonical }
  } catch (error) {
    if (error instanceof NotJson) return { ok: false, code: 'not_json', field: error.path }
    throw error
  }
}

function contentTree(parts: CpsParts): JsonObject {
  const { trigger, context, reasoning, authority, execution, outcome } = parts
  const options = reasoning?.options ?? []
  const tree = treeOf({
    id: parts.id,
    type: parts.type,
    domain: parts.domain ?? 'agents',
    parent_id: parts.parent_id ?? null,
    sequence: parts.sequence,
    previous_hash: parts.previous_hash,
    spec_version: '1.0',
    trigger: {
      type: trigger.type,
      source: trigger.source ?? '',
      timestamp: cpsTime(trigger.timestamp),
      request: trigger.request ?? '',
      correlation_id: trigger.correlation_id ?? null,
      user_id: trigger.user_id ?? null,
    },
    context: {
      agent_id: context?.agent_id ?? '',
      session_id: context?.session_id ?? null,
      environment: context?.environment ?? {},
    },
    reasoning: {
      analysis: reasoning?.analysis ?? '',
      options: options.map(optionTree),
      // Python derives the one from the other, so they have to agree.
      options_considered: options.map(({ description }) => description),
      selected_option: reasoning?.selected_option ?? '',
      reasoning: reasoning?.reasoning ?? '',
      confidence: float(reasoning?.confidence ?? 0, 'reasoning.confidence'),
      model: reasoning?.model ?? null,
      prompt_hash: reasoning?.prompt_hash ?? null,
    },
    authority: {
      type: authority?.type ?? 'autonomous',
      approver: authority?.approver ?? null,
      policy_reference: authority?.policy_reference ?? null,
      chain: authority?.chain ?? [],
      escalation_reason: authority?.escalation_reason ?? null,
    },
    execution: {
      tool_calls: (execution?.tool_calls ?? []).map(toolCallTree),
      duration_ms: execution?.duration_ms ?? 0,
      resources_used: execution?.resources_used ?? {},
    },
    outcome: {
      status: outcome?.status ?? 'pending',
      result: outcome?.result ?? null,
      summary: outcome?.summary ?? '',
      error: outcome?.error ?? null,
      side_effects: outcome?.side_effects ?? [],
      metrics: outcome?.metrics ?? {},
    },
  })
  if (!isObject(tree)) throw new NotJson('')
  return tree
}

const optionTree = (option: CpsOption): { readonly [name: string]: JsonValue | Any } => ({
  id: option.id,
  description: option.description,
  pros: option.pros ?? [],
  cons: option.cons ?? [],
  estimated_impact: option.estimated_impact ?? {},
  feasibility: float(option.feasibility ?? 0, 'reasoning.options.feasibility'),
  risks: option.risks ?? [],
  selected: option.selected ?? false,
  rejection_reason: option.rejection_reason ?? '',
})

const toolCallTree = (call: CpsToolCall) => ({
  tool: call.tool,
  arguments: call.arguments ?? {},
  result: call.result ?? null,
  success: call.success,
  duration_ms: call.duration_ms ?? 0,
  error: call.error ?? null,
})

/** As Python's `isoformat()` prints UTC: `+00:00`, and six digits of a fraction or none (CPS, date and time). */
export function cpsTime(time: string): string {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|\+00:00)$/.exec(time)
  if (match === null) throw new NotJson('trigger.timestamp')
  const [, seconds = '', fraction = ''] = match
  const digits = fraction.slice(0, 6).padEnd(6, '0')
  return /^0+$/.test(digits) ? `${seconds}+00:00` : `${seconds}.${digits}+00:00`
}
