import type { Literal, View } from './view.js'

/** A rule of a manifest as the application behind the gate has it: a route of its own. */
export type AppRoute = { readonly tool: string; readonly method: string; readonly path: string }
export type Routed = {
  readonly tool: string
  readonly params: ReadonlyMap<string, string>
}

const PARAM = /^\{(.+)\}$/

/** Routes as applications order them: as declared, or what is literal before what is a parameter. */
export const ORDERS = {
  declared: (routes: readonly AppRoute[]) => routes,
  literal_first: (routes: readonly AppRoute[]) =>
    routes.toSorted((a, b) => rank(a.path).localeCompare(rank(b.path))),
} as const

const rank = (path: string): string =>
  path
    .split('/')
    .map((part) => (PARAM.test(part) ? '1' : '0'))
    .join('')

export function routeOf(
  { method, segments }: View,
  literal: Literal,
  routes: readonly AppRoute[],
): Routed | null {
  for (const route of routes) {
    if (route.method !== method) continue
    const parts = route.path.split('/').slice(1)
    if (parts.length !== segments.length) continue
    const params = new Map<string, string>()
    const fits = parts.every((part, index) => {
      const segment = segments[index] ?? ''
      const name = PARAM.exec(part)?.[1]
      if (name === undefined) return literal(part, segment, index === parts.length - 1)
      params.set(name, segment)
      return segment !== ''
    })
    if (fits) return { tool: route.tool, params }
  }
  return null
}
