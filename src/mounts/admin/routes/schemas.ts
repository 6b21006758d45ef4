import { z } from 'zod'
import { VERDICT_CLASSES } from '../../../core/capsule/registries.js'
import { isPathName } from '../../../core/http/path-name.js'

/** Shapes that several routes share. */
export const actionId = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/)
/** Canonical lower-case text of any UUID, as declarations have it. */
export const uuid = actionId
export const digest = z.string().regex(/^[0-9a-f]{64}$/)
export const time = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/)
/** Stands in lines and paths: text that UTF-8 can hold, and no step of a path. */
export const name = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => !/\p{Surrogate}/u.test(text) && isPathName(text))
export const verdict = z.enum(VERDICT_CLASSES)

const wholeNumber = (digits: number) => z.string().regex(new RegExp(`^[1-9]\\d{0,${digits - 1}}$`))
/** Of lists that are read page by page; the cursor is the last page's `next_cursor`. */
export const paging = (limitDigits: number) => ({
  cursor: wholeNumber(16).optional(),
  limit: wholeNumber(limitDigits).optional(),
})

/** The members lists and filters stand on; a capsule has more, and all of it is passed on. */
export const capsule = z.looseObject({
  spec_version: z.string(),
  format_version: z.string(),
  capsule_id: digest,
  action_id: actionId,
  action_type: z.enum(['fyi', 'decide']),
  operator: z.string(),
  developer: z.string(),
  timestamp: time,
  assurance: z.looseObject({}),
  disposition: z.looseObject({
    decision: z.string(),
    approver: z.enum(['human', 'policy']),
    human_disposed: z.boolean(),
    verdict_class: verdict,
  }),
})

export const problem = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
})
