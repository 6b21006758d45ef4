import type { Parts } from '../context.js'

/**
 * Whose key an action's evidence is sealed under, by that evidence itself: the manifest may have changed since. What
 * is said about the action later goes under the same key, so that it goes when the subject is erased. Null where
 * there was none, where it is erased already, and for actions of 0.1.
 */
export async function subjectOf(
  actionId: string,
  { evidence }: Pick<Parts, 'evidence'>,
): Promise<string | null> {
  const found = await evidence.byAction(actionId)
  const part =
    found.state === 'present' ? found.value.find(({ kind }) => kind === 'subject') : undefined
  const value = part?.value
  return typeof value === 'object' && value !== null && 'subject' in value
    ? String(value.subject)
    : null
}
