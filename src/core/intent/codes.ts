/**
 * What is answered where a declaration or its mandate stops a call (seed intent-declaration-primitive-01 §5.2,
 * §6.2, §7, §11). REJECT: the declaration cannot be used; DENY: it was read, and the answer is an Enriched DENY.
 */
type Meant = { readonly answer: 'REJECT' | 'DENY'; readonly meaning: string }
const reject = (meaning: string) => ({ answer: 'REJECT', meaning }) as const
const deny = (meaning: string) => ({ answer: 'DENY', meaning }) as const

/** The registry of §11. */
export const REGISTERED = {
  POLICY_DENY: deny('The policies deny the action.'),
  MANDATE_SCOPE: deny('The action is outside what the mandate allows.'),
  SO_STATE_INVALID: deny('The action is not possible in the current state of the object.'),
  HEM_PENDING: deny('The session waits for the decision of a human.'),
  MANDATE_REVOKED: deny('The mandate has been revoked.'),
  CROSS_PRINCIPAL_UNRESOLVED: deny("Another principal's change of the object comes first."),
  MISSION_INVALID: deny('The mission has been suspended, has failed or was abandoned.'),
  IDP_MISSION_REF_MISMATCH: deny('The mission declared is not the mission of the mandate.'),
  IDP_MISSING: reject('The call declares no intent.'),
  IDP_MALFORMED: reject('The declaration of intent is not as the specification has it.'),
  IDP_DUPLICATE: reject('The idp_id was used for this object before.'),
  IDP_SO_MISMATCH: reject('The object declared is not the object of the mandate.'),
  IDP_MANDATE_MISMATCH: reject('The mandate declared is not the mandate presented.'),
  IDP_THIN_NOT_ACCEPTED: reject('The action takes no thin declarations.'),
} as const satisfies Readonly<Record<string, Meant>>

/** The seed registers no code for these, so none of them is on the wire: a URN of the verdict table is. */
export const OWN = {
  MANDATE_MISSING: reject('The call presents no mandate.'),
  MANDATE_INVALID: reject('The mandate presented cannot be accepted.'),
  IDP_SESSION_MISMATCH: reject('The session declared is not the session of the mandate.'),
} as const satisfies Readonly<Record<string, Meant>>

export type RegisteredCode = keyof typeof REGISTERED
export type OwnCode = keyof typeof OWN
export type IntentCode = RegisteredCode | OwnCode
export const CODES: { readonly [code in IntentCode]: Meant } = { ...REGISTERED, ...OWN }

export const isRegistered = (code: string): code is RegisteredCode =>
  Object.hasOwn(REGISTERED, code)
