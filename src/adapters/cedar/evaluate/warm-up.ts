import type { PolicyArgType } from '../../../core/manifest/model.js'
import type {
  CedarValue,
  PolicyIntent,
  PolicyMandate,
  PolicyRequest,
} from '../../../ports/policy.js'
import type { ActionShape } from '../schema.js'
import type { CedarEngine } from './engine.js'

/**
 * The first evaluation costs some fifty milliseconds: spend them before listening. Returns what the
 * operator should know: actions whose sample request already ends in an error value.
 */
export function warmUp(engine: CedarEngine): readonly string[] {
  return engine.actions.flatMap((shape) => {
    const decision = engine.decide(sampleRequest(shape))
    return decision.kind === 'error' ? [`${shape.action}: ${decision.detail}`] : []
  })
}

/** Well-typed and meaningless: every argument and attribute present, at its type's plainest value. */
export const sampleRequest = (shape: ActionShape): PolicyRequest => ({
  principal: 'warm-up',
  roles: [],
  developer: 'warm-up',
  action: shape.action,
  resource: 'warm-up',
  irreversibility: 'two_way',
  args: Object.fromEntries(shape.args.map(({ name, type }) => [name, SAMPLES[type]])),
  approval: { granted: false },
  ...(shape.intent === undefined ? {} : { idp: SAMPLE_IDP, mandate: SAMPLE_MANDATE }),
})

const SAMPLE_IDP: PolicyIntent = {
  profile: 'IDP_STANDARD',
  reasoning_type: 'sample',
  confidence_level: '0.5',
  hem_urgency: 'NONE',
  goal_id: 'sample',
  mission_ref: 'sample',
}
const SAMPLE_MANDATE: PolicyMandate = {
  id: 'sample',
  issuer: 'sample',
  mission_ref: 'sample',
  depth: 1,
}

const SAMPLES: Readonly<Record<PolicyArgType, CedarValue>> = {
  string: 'sample',
  integer: 1,
  decimal: '1.0',
  boolean: false,
  strings: ['sample'],
}
