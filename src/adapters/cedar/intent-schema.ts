import type { Type, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs'
import type { ToolRule } from '../../core/manifest/model.js'

/** Whether calls of an action carry a declaration and a mandate. */
export type IntentMode = NonNullable<ToolRule['intent']>

type Attributes = Record<string, TypeOfAttribute<string>>

export const record = (attributes: Attributes) => ({ type: 'Record' as const, attributes })

const optional = (type: Type<string>): TypeOfAttribute<string> => ({ ...type, required: false })

const TEXT: Type<string> = { type: 'String' }

/** What policies see of a declaration and of its mandate (seed intent-declaration-primitive-01 §5.4). */
const RECORDS = {
  idp: record({
    profile: TEXT,
    reasoning_basis: optional(record({ type: TEXT })),
    confidence_level: optional({ type: 'Extension', name: 'decimal' }),
    hem_urgency: optional(TEXT),
    goal_id: optional(TEXT),
    mission_ref: optional(TEXT),
  }),
  mandate: record({
    id: TEXT,
    issuer: TEXT,
    mission_ref: optional(TEXT),
    depth: { type: 'Long' },
  }),
}

/** The attributes of `context` beside `args` and `approval`. */
export const intentAttributes = (mode: IntentMode): Attributes =>
  Object.fromEntries(
    Object.entries(RECORDS).map(([name, type]) => [
      name,
      { ...type, required: mode === 'required' },
    ]),
  )

/** What a call may leave out, as paths below `context`: `idp.confidence_level`. */
export const optionalIntent = (mode: IntentMode): readonly string[] =>
  Object.entries(RECORDS).flatMap(([name, { attributes }]) => [
    ...(mode === 'optional' ? [name] : []),
    ...Object.entries(attributes)
      .filter(([, { required }]) => required === false)
      .map(([attribute]) => `${name}.${attribute}`),
  ])
