import type { Segment } from '../../../core/manifest/route/target.js'

/** Segments that name one thing among many; everything else is taken for a part of the API. */
const IDS: readonly RegExp[] = [
  /^\d+$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  /^[0-9a-f]{16,}$/i,
  // cus_9s6XKzkN, ord_17: a short prefix, then something with a digit in it.
  /^[A-Za-z]{1,12}_(?:\d+|(?=[A-Za-z]*\d)[A-Za-z0-9]{4,})$/,
  // OPS-1041
  /^[A-Z]{2,10}-\d+$/,
  // ULIDs and other long tokens of letters and digits
  /^(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}$/,
  /^\d{4}-\d{2}-\d{2}$/,
]

export const looksLikeId = (text: string): boolean => IDS.some((form) => form.test(text))

/** A path with its ids taken out: null stands for one. */
export type Shape = readonly (string | null)[]

export const shapeOf = (segments: readonly Segment[]): Shape =>
  segments.map(({ raw, text }) => (looksLikeId(text) ? null : raw))

/** `/` cannot be in a segment, and no literal segment is empty. */
export const shapeKey = (method: string, shape: Shape): string =>
  `${method} /${shape.map((part) => part ?? '').join('/')}`

/** `orders` before an id says what the id is of. */
export function paramNames(shape: Shape): readonly string[] {
  return shape.flatMap((part, index) => {
    if (part !== null) return []
    const before = index === 0 ? null : (shape[index - 1] ?? null)
    if (before === null || !/^[A-Za-z][A-Za-z0-9_-]{0,40}$/.test(before)) return ['id']
    const one = before.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
    return [`${one}_id`]
  })
}
