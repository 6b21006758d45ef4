/** Seed §9.1: what we name is namespaced by reverse DNS; lower-case (seed §8.1). */
export const NAMESPACED = /^[a-z][a-z0-9-]{0,62}(?:\.[a-z0-9][a-z0-9_-]{0,62})+$/
const BARE = /^[a-z][a-z0-9_]{0,62}$/
/** The gate's own records, such as Cedar's decision. */
const OURS = 'dev.capsulegate.'

export const isOurs = (id: string): boolean => `${id}.`.startsWith(OURS)

/** A bare id goes under the manifest's; null for what is neither bare nor namespaced, or is ours. */
export function qualify(name: string, manifestId: string): string | null {
  if (BARE.test(name)) return `${manifestId}.${name}`
  return NAMESPACED.test(name) && !name.startsWith(OURS) ? name : null
}

export const ARG_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
export const TOOL_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/
