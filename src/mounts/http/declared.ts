import type { Header } from '../../core/call/call.js'

/** What the head of one request carries of intent and mandate, each in received order. */
export type DeclaredHeaders = {
  readonly intents: readonly string[]
  readonly mandates: readonly string[]
}

export const declaredHeaders = (headers: readonly Header[]): DeclaredHeaders => ({
  intents: valuesOf(headers, 'agent-intent'),
  mandates: valuesOf(headers, 'agent-mandate'),
})

export const NONE_DECLARED: DeclaredHeaders = { intents: [], mandates: [] }

const valuesOf = (headers: readonly Header[], wanted: string): readonly string[] =>
  headers.filter(([name]) => name === wanted).map(([, value]) => value)
