import { percentDecode, readTarget } from './target.js'

/** `/v1/orders/{order}/lines`: literal segments and whole-segment parameters. */
export type Part =
  | { readonly kind: 'literal'; readonly raw: string; readonly text: string }
  | { readonly kind: 'param'; readonly name: string }
export type Template = readonly Part[]

const PARAM = /^\{([A-Za-z][A-Za-z0-9_]{0,63})\}$/

/** Null when a call could never have this path, or a parameter is not a whole segment of its own. */
export function parseTemplate(path: string): Template | null {
  if (path === '/') return []
  if (!path.startsWith('/')) return null
  const parts: Part[] = []
  const names = new Set<string>()
  for (const raw of path.slice(1).split('/')) {
    const name = PARAM.exec(raw)?.[1]
    if (name !== undefined) {
      if (names.has(name)) return null
      names.add(name)
      parts.push({ kind: 'param', name })
    } else {
      if (raw.includes('?') || !readTarget(`/${raw}`).ok) return null
      parts.push({ kind: 'literal', raw, text: percentDecode(raw) ?? raw })
    }
  }
  return parts
}

/** Some path fits both. */
export const templatesOverlap = (a: Template, b: Template): boolean =>
  a.length === b.length &&
  a.every((part, index) => {
    const other = b[index] as Part
    return part.kind === 'param' || other.kind === 'param' || part.text === other.text
  })

/** Every path that fits `inner` fits `outer`: after `outer`, `inner` is never reached. */
export const templateCovers = (outer: Template, inner: Template): boolean =>
  outer.length === inner.length &&
  outer.every((part, index) => {
    const other = inner[index] as Part
    return part.kind === 'param' || (other.kind === 'literal' && part.text === other.text)
  })
