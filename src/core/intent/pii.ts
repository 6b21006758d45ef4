/**
 * Obvious marks of personal data in what an agent writes (seed intent-declaration-primitive-01 §9): e-mail
 * addresses and phone numbers. Names are not looked for. The value found never leaves this file.
 *
 * Every pattern begins at a character that its own repetitions cannot contain, or repeats a bounded number of
 * times, so that the work stays linear in the text.
 */
export type Marker = 'email' | 'phone'

export function piiMarkers(written: string): readonly Marker[] {
  const text = plain(written)
  const markers: Marker[] = []
  if (text.includes('@') && EMAIL.test(text)) markers.push('email')
  if (hasPhone(text)) markers.push('phone')
  return markers
}

/** Wide and circled characters, dashes and spaces as the plain ones; what is invisible is gone. */
function plain(written: string): string {
  if (/^[\x20-\x7e]*$/.test(written)) return written
  return written
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/\p{Pd}/gu, '-')
    .replace(/\s/gu, ' ')
}

/** The end of a local part, and a domain whose last label begins with a letter: `pkg@1.2.3` is no address. */
const EMAIL =
  /[\p{L}\p{M}\p{Nd}_.+\-"'%]@(?:(?:[\p{L}\p{M}\p{Nd}-]{1,63}\.){1,8}\p{L}[\p{L}\p{M}\p{Nd}-]|\[[0-9A-Fa-f:.]{3})/u

// ── Phone numbers ────────────────────────────────────────────────────────────
/** Stands where something was left out, so that its neighbours do not become one number. */
const GAP = ' x '
const NOT_PHONES: readonly RegExp[] = [
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi,
  /[0-9a-f]{16,}/gi,
  // 2026-07-01, 2026-07-01T12:00:00.000Z, 01.07.2026.
  /(?<!\d)\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\d)/g,
  /(?<![\d./-])\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?![./-]?\d)/g,
]
const NAMED =
  /(?<![A-Za-z])(?:tel|telephone|phone|mobile|cell|fax|whatsapp|sms)(?:[ _]?(?:no|nr|number))?[\s.:#=+(-]{0,4}\p{Nd}(?:[ \-./()]{0,3}\p{Nd}){6}/iu
const INTERNATIONAL = /(?<![A-Za-z\p{Nd}])\+\p{Nd}(?:[ \-./()]{0,3}\p{Nd}){7}/u
/** 555-123-4567, (555) 123-4567, 1-555-123-4567. */
const AMERICAN =
  /(?<!\p{Nd}[.,])(?<![A-Za-z\p{Nd}_-])(?:1[-. ])?(?:\(\p{Nd}{3}\) ?|\p{Nd}{3}[-. ])\p{Nd}{3}[-. ]\p{Nd}{4}(?![A-Za-z\p{Nd}_-])/u
/** 030/1234567, (0171) 234 5678, 01 23 45 67 89. */
const TRUNK =
  /(?<!\p{Nd}[.,])(?<![A-Za-z\p{Nd}_-])\(?0\p{Nd}{1,5}\)?[ \-./]{1,3}\p{Nd}{2,12}(?:[ \-./]\p{Nd}{2,12}){0,6}(?![A-Za-z\p{Nd}_-])/gu
const LEAST_DIGITS = 7
const MOST_DIGITS = 15

/** Fewer digits than that are no phone number of any form: most texts need no further look. */
const ENOUGH_DIGITS = /(?:\p{Nd}\P{Nd}*){7}/u

function hasPhone(text: string): boolean {
  if (!ENOUGH_DIGITS.test(text)) return false
  const left = NOT_PHONES.reduce((rest, pattern) => rest.replace(pattern, GAP), text)
  if (!ENOUGH_DIGITS.test(left)) return false
  return (
    NAMED.test(left) ||
    INTERNATIONAL.test(left) ||
    AMERICAN.test(left) ||
    (left.match(TRUNK) ?? []).some((found) => {
      const digits = found.replace(/\P{Nd}/gu, '').length
      return digits >= LEAST_DIGITS && digits <= MOST_DIGITS
    })
  )
}
