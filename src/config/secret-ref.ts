import { readFileSync } from '../adapters/disk/files.js'
import type { SecretRef } from './model.js'

const MAX_SECRET = 64 * 1024

/** The secret itself, without the line end that editors add; or why it is not to be had. */
export function readSecret(
  ref: SecretRef,
  env: Readonly<Record<string, string | undefined>>,
): { readonly ok: true; readonly value: string } | { readonly ok: false; readonly why: string } {
  const found = ref.kind === 'env' ? fromEnv(ref.name, env) : fromFile(ref.path)
  if (!found.ok) return found
  const value = found.value.replace(/\r?\n$/, '')
  if (value === '') return { ok: false, why: `${say(ref)} is empty` }
  if (value.length > MAX_SECRET) return { ok: false, why: `${say(ref)} is over 64 KiB` }
  // It becomes a header's value: a line end in it would start another header.
  if (/[^\t\u0020-\u007e]/.test(value)) {
    return { ok: false, why: `${say(ref)} holds a character that no header may have` }
  }
  return { ok: true, value }
}

export const say = (ref: SecretRef): string =>
  ref.kind === 'env' ? `the variable ${ref.name}` : `the file ${ref.path}`

type Found =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly why: string }

function fromEnv(name: string, env: Readonly<Record<string, string | undefined>>): Found {
  const value = env[name]
  return value === undefined
    ? { ok: false, why: `the variable ${name} is not set` }
    : { ok: true, value }
}

function fromFile(path: string): Found {
  try {
    return { ok: true, value: readFileSync(path, 'utf8') }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    return { ok: false, why: `the file ${path} cannot be read (${code})` }
  }
}
