import { cedarRequest } from '../evaluate/request.js'
import { sampleRequest } from '../evaluate/warm-up.js'
import { type Finding, fault } from '../findings.js'
import { type PolicySet, policiesFor, textsOf } from '../policy-set.js'
import { schemaFor } from '../schema.js'
import { crash } from './validation.js'
import type { CedarWorker } from './worker.js'

/**
 * Evaluates each action's slice once in the worker: evaluation needs more stack than validation does,
 * and it is better to run out of it here.
 */
export async function rehearse(worker: CedarWorker, set: PolicySet): Promise<readonly Finding[]> {
  for (const shape of set.schema.actions) {
    const sample = cedarRequest(shape, sampleRequest(shape))
    if (!sample.ok) {
      const help = 'declare fewer or shorter arguments'
      return [fault('action_args_differ', null, `${shape.action}: ${sample.detail}`, help)]
    }
    const staticPolicies = textsOf(policiesFor(set, shape))
    const names = { preparsedSchemaName: 'rehearsal', preparsedPolicySetId: 'rehearsal' }
    const call = { ...sample.request, ...names, validateRequest: true }
    const results = [
      await worker.call('preparseSchema', [['rehearsal', schemaFor([shape])]]),
      await worker.call('preparsePolicySet', [['rehearsal', { staticPolicies }]]),
      await worker.call('statefulIsAuthorized', [[call]]),
    ]
    for (const result of results) if (!result.ok) return [crash({ ...result, at: null }, [])]
  }
  return []
}
