import type { DetailedError, ValidationError } from '@cedar-policy/cedar-wasm/nodejs'
import type { CedarWasm } from '../evaluate/wasm.js'
import { COMPARE, type Finding, type FindingCode, fault, warning } from '../findings.js'
import { newlinesIn, type PolicyText } from './split.js'
import type { WorkerResult } from './worker.js'

/**
 * Cedar's verdict on the set as findings. Its warnings are errors here: a policy that can never apply
 * is a guard that is not there. Only mixed scripts in a string stay a warning; some languages need it.
 */
export function validationFindings(
  answer: ReturnType<CedarWasm['validate']>,
  sources: ReadonlyMap<string, PolicyText>,
): Finding[] {
  if (answer.type === 'failure') {
    return answer.errors.map((error) => fromCedar('policy_invalid', null, error))
  }
  const broken = new Set(answer.validationErrors.map(({ policyId }) => policyId))
  const located = (code: FindingCode, { policyId, error }: ValidationError, as = fault): Finding =>
    fromCedar(code, sources.get(policyId) ?? null, error, as)
  return [
    ...answer.validationErrors.map((error) => located('policy_invalid', error)),
    ...answer.validationWarnings
      .filter(({ policyId }) => !broken.has(policyId))
      .map((found) => {
        const { message } = found.error
        if (/contains mixed scripts/.test(message))
          return located('policy_suspicious_text', found, warning)
        return /mixed scripts|confusable|BIDI/i.test(message)
          ? located('policy_suspicious_text', found)
          : located('policy_impossible', found)
      }),
    ...answer.otherWarnings.map((error) => fromCedar('policy_invalid', null, error)),
  ]
}

/** Cedar's offsets are bytes of the policy's own text. */
export function fromCedar(
  code: FindingCode,
  source: PolicyText | null,
  error: DetailedError,
  as = fault,
): Finding {
  const start = error.sourceLocations?.[0]?.start ?? 0
  const before = source === null ? '' : Buffer.from(source.text).subarray(0, start).toString()
  const location =
    source === null ? null : { file: source.file, line: source.line + newlinesIn(before) }
  const message = error.message
    .replace(/^for policy `[^`]*`, /, '')
    .replace(/^failed to parse policy from string: /, '')
  return as(code, location, message, error.help ?? COMPARE)
}

/** A trap or a dead worker: the text is refused. */
export function crash(
  answer: Extract<WorkerResult<unknown>, { ok: false }>,
  sources: readonly PolicyText[],
): Finding {
  const source = answer.at === null ? undefined : sources[answer.at]
  return fault('policy_crashes', source ?? null, `Cedar gave up: ${answer.detail}`)
}
