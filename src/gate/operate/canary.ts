import type { FunctionCall } from '../../core/call/call.js'
import type { Manifest } from '../../core/manifest/model.js'

/**
 * A tool that exists only to be denied. It is in every router and every policy schema. No policy that names
 * its actions permits it, so a set that permits it permits every action.
 */
export const CANARY = 'dev.capsulegate.canary'

export const CANARY_MANIFEST: Manifest = {
  manifest: 'gate.constraints/v1',
  id: CANARY,
  version: '1.0.0',
  mode: 'enforce',
  default: { no_match: 'deny' },
  upstream: CANARY,
  rules: [
    {
      tool: CANARY,
      match: null,
      action: CANARY,
      resource: CANARY,
      args: {},
      effect: { type: CANARY, irreversibility_class: 'one_way_terminal' },
      success: { status: ['200-299'], unless: [] },
      deadlines: { connect_ms: 1, first_byte_ms: 1, total_ms: 1 },
      connection: 'fresh',
      close_delimited: 'refuse',
      hold_response: true,
      capture: 'digest',
      digest_salt: 'none',
      bind_headers: [],
      forward_headers: [],
      response_location: 'rewrite',
      constraints: [],
    },
  ],
  constraints: {},
  tests: [],
}

export const canaryCall = (argumentsJson: Uint8Array): FunctionCall => ({
  kind: 'function',
  tool: CANARY,
  argumentsJson,
  caller: { bearer: null, certificate: null, asserted: CANARY, source: 'gate' },
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
})
