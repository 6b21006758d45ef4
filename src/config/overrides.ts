import type { JsonValue } from '../core/json/value.js'
import type { ConfigProblem } from './model.js'
import { readYaml } from './yaml.js'

const PREFIX = 'GATE_'
/** Read by commands that talk to a running gate; they configure none. */
const CLIENT = new Set(['GATE_ADMIN_TOKEN', 'GATE_ADMIN_URL'])

export type Overridden = {
  readonly value: JsonValue
  /** JSON pointer → the variable that set it. */
  readonly from: ReadonlyMap<string, string>
  readonly problems: readonly ConfigProblem[]
}

/**
 * `GATE_LISTENERS__DATA__PORT=9090` sets listeners.data.port. A misspelt one is an unknown key and
 * therefore an error; a variable that the file itself names as the place of a secret is none of ours.
 */
export function applyOverrides(
  root: JsonValue,
  env: Readonly<Record<string, string | undefined>>,
): Overridden {
  const problems: ConfigProblem[] = []
  const from = new Map<string, string>()
  const secrets = namedVariables(root)
  let value = root
  for (const variable of Object.keys(env).sort()) {
    const text = env[variable]
    if (!variable.startsWith(PREFIX) || CLIENT.has(variable)) continue
    if (text === undefined || secrets.has(variable)) continue
    const fault = (message: string, wayOut: string): void => {
      problems.push({ file: `env ${variable}`, line: null, column: null, message, way_out: wayOut })
    }
    const keys = variable.slice(PREFIX.length).toLowerCase().split('__')
    if (keys[0] === 'mode') {
      // DESIGN §6: whoever sets the environment must not be able to switch enforcement off.
      fault('no variable sets the mode', 'write mode in the file')
      continue
    }
    const read = readYaml(text)
    if (!read.ok) {
      fault(read.problems[0]?.message ?? 'not readable', 'write a plain value')
      continue
    }
    const next = set(value, keys, read.tree.value)
    if (next === null) fault('it goes through a value that has no keys', 'unset it')
    else {
      value = next
      from.set(`/${keys.join('/')}`, variable)
    }
  }
  return { value, from, problems }
}

function set(root: JsonValue, keys: readonly string[], value: JsonValue): JsonValue | null {
  const [key, ...rest] = keys
  if (key === undefined) return value
  if (root !== null && !(root instanceof Map)) return null
  const members = new Map<string, JsonValue>(root ?? [])
  const inner = set(members.get(key) ?? null, rest, value)
  return inner === null && rest.length > 0 ? null : members.set(key, inner)
}

function namedVariables(value: JsonValue): Set<string> {
  if (!(value instanceof Map)) return new Set()
  return new Set(
    [...(value as ReadonlyMap<string, JsonValue>)].flatMap(([key, member]) =>
      /(?:^|_)env$/.test(key) && typeof member === 'string'
        ? [member]
        : [...namedVariables(member)],
    ),
  )
}
