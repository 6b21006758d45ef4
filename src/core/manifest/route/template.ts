import { fold } from './pointer.js'
import { percentDecode, readTarget, type Segment } from './target.js'

/** `/v1/orders/{order}/lines`: literal segments and whole-segment parameters. */
export type Part =
  | {
      readonly kind: 'literal'
      readonly raw: string
      readonly text: string
      readonly folded: string
    }
  | { readonly kind: 'param'; readonly name: string }
export type Template = readonly Part[]

const PARAM = /^\{([A-Za-z][A-Za-z0-9_]{0,63})\}$/

/** Null when a call could never have this path, or a parameter is not a whole segment of its own. */
export function parseTemplate(path: string): Template | null {
  if (path === '/') return []
  if (!path.startsWith('/')) return null
  const parts: Part[] = []
  const names = new Set<string>()
  const segments = path.slice(1).split('/')
  for (const [index, raw] of segments.entries()) {
    const name = PARAM.exec(raw)?.[1]
    if (name !== undefined) {
      if (names.has(name)) return null
      names.add(name)
      parts.push({ kind: 'param', name })
    } else {
      if (raw.includes('?') || !readTarget(`/${raw}`).ok) return null
      const text = percentDecode(raw) ?? raw
      const folded = foldSegment(text, index === segments.length - 1)
      parts.push({ kind: 'literal', raw, text, folded })
    }
  }
  return parts
}

/**
 * What routers ignore: letter case (Express) and one suffix of the last segment (Rails' format). Two
 * spellings that fold alike may be one route to the upstream.
 */
const foldSegment = (text: string, last: boolean): string =>
  last ? fold(text).replace(/(?<=.)\.[^.]*$/, '') : fold(text)

export const foldSegments = (segments: readonly Segment[]): readonly string[] =>
  segments.map(({ text }, index) => foldSegment(text, index === segments.length - 1))

/** A router that folds would take these segments for the template's route. */
export const foldsOnto = (template: Template, folded: readonly string[]): boolean =>
  template.length === folded.length &&
  template.every((part, index) => part.kind === 'param' || part.folded === folded[index])

/** Whether segment by segment the one has a part that the other admits. */
const pairwise = (a: Template, b: Template, fits: (part: Part, other: Part) => boolean): boolean =>
  a.length === b.length && a.every((part, index) => fits(part, b[index] as Part))

/** `rival` has a literal where `template` has a parameter, and the rest can fit both. */
export const mayFoldOnto = (template: Template, rival: Template): boolean =>
  template.some((part, index) => part.kind === 'param' && rival[index]?.kind === 'literal') &&
  pairwise(
    template,
    rival,
    (a, b) => a.kind === 'param' || b.kind === 'param' || a.folded === b.folded,
  )

/** Some path fits both. */
export const templatesOverlap = (a: Template, b: Template): boolean =>
  pairwise(a, b, (x, y) => x.kind === 'param' || y.kind === 'param' || x.text === y.text)

/** Every path that fits `inner` fits `outer`: after `outer`, `inner` is never reached. */
export const templateCovers = (outer: Template, inner: Template): boolean =>
  pairwise(
    outer,
    inner,
    (a, b) => a.kind === 'param' || (b.kind === 'literal' && a.text === b.text),
  )
