/** What a framework made of a query or a body. Maps, so that `__proto__` is a name like any other. */
export type Tree = string | number | boolean | null | readonly Tree[] | TreeMap
export type TreeMap = ReadonlyMap<string, Tree>
export type Path = readonly string[]

export const isMap = (tree: Tree | undefined): tree is TreeMap => tree instanceof Map

export function at(tree: Tree | undefined, path: Path): Tree | undefined {
  let found = tree
  for (const token of path) {
    if (isMap(found)) found = found.get(token)
    else if (Array.isArray(found)) found = (found as readonly Tree[])[Number(token)]
    else return undefined
  }
  return found
}

/** Paths of all scalars and of all containers that hold nothing. */
export function leaves(tree: Tree, below: Path = []): Path[] {
  const members = isMap(tree)
    ? [...tree]
    : Array.isArray(tree)
      ? (tree as readonly Tree[]).map((member, index) => [String(index), member] as const)
      : []
  if (members.length === 0) return below.length === 0 && typeof tree === 'object' ? [] : [below]
  return members.flatMap(([name, member]) => leaves(member, [...below, name]))
}

/** Plain objects and arrays of a JavaScript parser. */
export function fromPlain(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(fromPlain)
  if (typeof value === 'object' && value !== null) {
    return new Map(Object.entries(value).map(([name, member]) => [name, fromPlain(member)]))
  }
  return value as Tree
}

export function toPlain(tree: Tree | undefined): unknown {
  if (isMap(tree)) return Object.fromEntries([...tree].map(([name, m]) => [name, toPlain(m)]))
  return Array.isArray(tree) ? (tree as readonly Tree[]).map(toPlain) : tree
}

/** `{...under, ...over}`, as handlers and frameworks merge. */
export const merge = (under: Tree, over: Tree): TreeMap =>
  new Map([...(isMap(under) ? under : []), ...(isMap(over) ? over : [])])
