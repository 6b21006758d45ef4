import type { DetailedError, ValidationError } from '@cedar-policy/cedar-wasm/nodejs'
import type { CedarWasm } from '../evaluate/wasm.js'
import { type Finding, type FindingCode, fault, warning } from '../findings.js'
import type { Inspected } from './inspect.js'
import type { PolicyText } from './split.js'

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
  const placed = (code: FindingCode, { policyId, error }: ValidationError): Finding =>
    fromCedar(code, sources.get(policyId) ?? null, error)
  return [
    ...answer.validationErrors.map((error) => placed('policy_invalid', error)),
    ...answer.validationWarnings
      .filter(({ policyId }) => !broken.has(policyId))
      .map((found) => {
        const { message } = found.error
        if (!/mixed scripts|confusable|BIDI/i.test(message))
          return placed('policy_impossible', found)
        const suspicious = placed('policy_suspicious_text', found)
        return /contains mixed scripts/.test(message)
          ? warning(suspicious.code, placeOf(suspicious), suspicious.message, suspicious.help)
          : suspicious
      }),
    ...answer.otherWarnings.map((error) => fromCedar('policy_invalid', null, error)),
  ]
}

/** Cedar's offsets are bytes of the policy's own text. */
export function fromCedar(
  code: FindingCode,
  source: PolicyText | null,
  error: DetailedError,
): Finding {
  const start = error.sourceLocations?.[0]?.start ?? 0
  const before = source === null ? '' : Buffer.from(source.text).subarray(0, start).toString()
  const place =
    source === null
      ? null
      : { file: source.file, line: source.line + before.split('\n').length - 1 }
  const message = error.message
    .replace(/^for policy `[^`]*`, /, '')
    .replace(/^failed to parse policy from string: /, '')
  return fault(code, place, message, error.help ?? 'compare it with the schema of the manifests')
}

/** A trap or a dead worker: the text is refused, whatever it meant. */
export function crash(
  answer: Extract<Inspected<unknown>, { ok: false }>,
  sources: readonly PolicyText[],
): Finding {
  const source = answer.at === null ? undefined : sources[answer.at]
  const help = 'simplify the policies: shorter conditions, less nesting, fewer alternatives'
  return fault('policy_crashes', source ?? null, `Cedar gave up: ${answer.detail}`, help)
}

const placeOf = ({ file, line }: Finding) =>
  file === null || line === null ? null : { file, line }
