/** The members of a capsule in their order (CPS, sections; `spec_version` as Anatomy and every golden vector have it). */
export const CONTENT_KEYS = [
  'id',
  'type',
  'domain',
  'parent_id',
  'sequence',
  'previous_hash',
  'spec_version',
  'trigger',
  'context',
  'reasoning',
  'authority',
  'execution',
  'outcome',
] as const

export const TYPES = [
  'agent',
  'tool',
  'system',
  'kill',
  'workflow',
  'chat',
  'vault',
  'auth',
] as const
export const TRIGGERS = ['user_request', 'scheduled', 'system', 'agent'] as const
export const AUTHORITIES = ['autonomous', 'human_approved', 'policy', 'escalated'] as const
export const STATUSES = ['pending', 'success', 'failure', 'partial', 'blocked'] as const

/** What a member has to be. `float`: a number from 0 to 1 that is written with a point. */
export type Kind =
  | {
      readonly is:
        | 'text'
        | 'text?'
        | 'time'
        | 'count'
        | 'float'
        | 'flag'
        | 'object'
        | 'any'
        | 'list'
        | 'texts'
    }
  | { readonly is: 'word'; readonly of: readonly string[] }
  | { readonly is: 'each'; readonly of: Members }
export type Members = { readonly [name: string]: Kind }

const text = { is: 'text' } as const
const orNull = { is: 'text?' } as const
const object = { is: 'object' } as const
const list = { is: 'list' } as const
const count = { is: 'count' } as const
const float = { is: 'float' } as const

const OPTION: Members = {
  id: text,
  description: text,
  pros: list,
  cons: list,
  estimated_impact: object,
  feasibility: float,
  risks: list,
  selected: { is: 'flag' },
  rejection_reason: text,
}
const TOOL_CALL: Members = {
  tool: text,
  arguments: object,
  result: { is: 'any' },
  success: { is: 'flag' },
  duration_ms: count,
  error: orNull,
}

export const SECTIONS = {
  trigger: {
    type: { is: 'word', of: TRIGGERS },
    source: text,
    timestamp: { is: 'time' },
    request: text,
    correlation_id: orNull,
    user_id: orNull,
  },
  context: { agent_id: text, session_id: orNull, environment: object },
  reasoning: {
    analysis: text,
    options: { is: 'each', of: OPTION },
    options_considered: { is: 'texts' },
    selected_option: text,
    reasoning: text,
    confidence: float,
    model: orNull,
    prompt_hash: orNull,
  },
  authority: {
    type: { is: 'word', of: AUTHORITIES },
    approver: orNull,
    policy_reference: orNull,
    chain: { is: 'each', of: {} },
    escalation_reason: orNull,
  },
  execution: {
    tool_calls: { is: 'each', of: TOOL_CALL },
    duration_ms: count,
    resources_used: object,
  },
  outcome: {
    status: { is: 'word', of: STATUSES },
    result: { is: 'any' },
    summary: text,
    error: orNull,
    side_effects: list,
    metrics: object,
  },
} as const satisfies { readonly [section: string]: Members }
export type Section = keyof typeof SECTIONS
export const SECTION_NAMES = Object.keys(SECTIONS) as Section[]
