import { fromBase64url } from '../../core/bytes/base64url.js'
import { utf8 } from '../../core/bytes/text.js'
import { GateError } from '../../core/error.js'
import type { LineOf } from '../../core/journal/vocabulary.js'
import { canonicalOf } from '../../core/json/build.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import { toCose } from '../../core/statement/sign1.js'
import { verifyStatement } from '../../core/verify/statement.js'
import type { Answer } from '../answer/answer.js'
import type { Parts } from '../context.js'
import { govern } from '../govern/govern.js'
import { canaryCall } from './canary.js'

/**
 * Proves at start that the gate denies (promise 6): a forbidden call goes through the whole pipeline against
 * the loaded policies, up to dispatch; its capsule is read back from the journal and verified. The canary is
 * always judged as if enforcing.
 */
export async function prove(parts: Parts, keys: readonly PublicKeyRecord[]): Promise<string> {
  if (parts.world().policy.policyIds.length === 0) {
    throw new GateError('policy_set_empty', 'no policy is loaded')
  }
  let dispatched = false
  const answer = await govern(
    canaryCall(utf8('{}')),
    async () => {
      dispatched = true
      return { observation: { kind: 'not_sent', cause: 'canary', deadline: false }, held: null }
    },
    { ...parts, halts: () => [], world: () => ({ ...parts.world(), mode: 'enforce' }) },
  )
  if (dispatched) throw new GateError('canary_not_denied', 'the forbidden call reached dispatch')
  const actionId = deniedAction(answer, parts)
  await verifyRecord(actionId, parts, keys)
  return actionId
}

function deniedAction(answer: Answer, { journal, evidence }: Parts): string {
  if (answer.kind === 'unrecorded') {
    const why = journal.health().reason ?? evidence.health().reason
    const because = why === null ? '' : `: ${why}`
    throw new GateError('journal_unwritable', `no capsule could be written at start${because}`)
  }
  if (answer.kind !== 'refused' || answer.code !== 'policy_denied') {
    const got = answer.kind === 'replayed' ? 'replayed' : answer.code
    throw new GateError('canary_not_denied', `the forbidden call ended as ${got}`)
  }
  return answer.actionId
}

async function verifyRecord(
  actionId: string,
  { journal, crypto }: Parts,
  keys: readonly PublicKeyRecord[],
): Promise<void> {
  const line = (await journal.find(actionId)).find((found) => found.type === 'CAPSULE')
  if (line === undefined) {
    throw new GateError('canary_record_invalid', `the journal has no capsule of ${actionId}`)
  }
  const result = await verifyStatement(statementOf(line), {
    keys: [...keys],
    profile: 'strict',
    crypto,
  })
  if (!result.ok) {
    const codes = result.class1?.findings.map(({ code }) => code).join(', ') ?? ''
    throw new GateError('canary_record_invalid', `signature ${result.signature}; ${codes}`)
  }
}

/** The COSE statement of a CAPSULE line, bit-exact (DESIGN §5). */
export function statementOf(line: LineOf<'CAPSULE'>): Uint8Array {
  const protectedBytes = fromBase64url(line.protected)
  const signatureBytes = fromBase64url(line.signature)
  if (protectedBytes === null || signatureBytes === null) {
    throw new GateError('canary_record_invalid', 'the capsule line is not base64url')
  }
  return toCose(utf8(canonicalOf(line.capsule)), protectedBytes, signatureBytes)
}
