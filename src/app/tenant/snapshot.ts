import type { Plain } from '../../core/json/value.js'
import type { TenantKeys } from '../../ports/tenant.js'

type Secrets = Pick<TenantKeys, 'snapshot' | 'budgetScope'>
type Members = { readonly [name: string]: Plain | undefined }
const CONTEXT = 'windows'

const isObject = (value: Plain): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A dump as a snapshot may hold it: what calls took from budgets is encrypted, as it is in their lines. */
export function encryptedDump(dump: Plain, { snapshot }: Secrets): Plain {
  if (!isObject(dump) || dump.windows === undefined) return dump
  const { windows, ...rest } = dump
  return { ...rest, sealed_windows: snapshot.encrypt(JSON.stringify(windows), CONTEXT) }
}

/** The dump itself. One that cannot be decrypted is left without its windows, which the state refuses. */
export function decryptedDump(stored: Plain, { snapshot, budgetScope }: Secrets): Plain {
  if (!isObject(stored)) return stored
  const { sealed_windows, ...dump } = stored
  if (sealed_windows === undefined) {
    return Array.isArray(dump.windows)
      ? { ...dump, windows: dump.windows.map((window) => converted(window, budgetScope)) }
      : dump
  }
  const { windows, ...rest } = dump
  const text = typeof sealed_windows === 'string' ? snapshot.decrypt(sealed_windows, CONTEXT) : null
  return text === null ? rest : { ...rest, windows: JSON.parse(text) }
}

/** A snapshot of before amounts were encrypted names scopes by their plain digests. */
function converted(window: Plain, budgetScope: TenantKeys['budgetScope']): Plain {
  if (!Array.isArray(window)) return window
  const [constraint, scope, ...rest] = window
  return typeof scope === 'string' ? [constraint, budgetScope(scope), ...rest] : window
}
