import { cedarRequest } from '../evaluate/request.js'
import { sampleRequest } from '../evaluate/warm-up.js'
import type { CedarWasm } from '../evaluate/wasm.js'
import { type Finding, fault } from '../findings.js'
import { type PolicySet, textsOf } from '../policy-set.js'
import { schemaFor } from '../schema.js'
import type { Inspector } from './inspect.js'
import { crash } from './validation.js'

type StatefulCall = Parameters<CedarWasm['statefulIsAuthorized']>[0]

/**
 * Evaluates each action's slice once in the worker: evaluation needs more stack than validation does,
 * and it is better to run out of it here.
 */
export async function rehearse(inspector: Inspector, set: PolicySet): Promise<readonly Finding[]> {
  for (const shape of set.schema.actions) {
    const sample = cedarRequest(shape, sampleRequest(shape))
    if (!sample.ok) {
      const help = 'declare fewer or shorter arguments'
      return [fault('action_args_differ', null, `${shape.action}: ${sample.detail}`, help)]
    }
    const staticPolicies = textsOf(
      set.policies.filter(({ actions }) => actions.includes(shape.action)),
    )
    const call: StatefulCall = {
      ...sample.request,
      preparsedSchemaName: 'rehearsal',
      preparsedPolicySetId: 'rehearsal',
      validateRequest: true,
    }
    const answers = [
      await inspector.ask('preparseSchema', [['rehearsal', schemaFor([shape])]]),
      await inspector.ask('preparsePolicySet', [['rehearsal', { staticPolicies }]]),
      await inspector.ask('statefulIsAuthorized', [[call]]),
    ]
    for (const answer of answers) if (!answer.ok) return [crash({ ...answer, at: null }, [])]
  }
  return []
}
