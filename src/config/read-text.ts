import { readFileSync, statSync } from '../adapters/disk/files.js'
import { fromUtf8 } from '../core/bytes/text.js'

const MAX_BYTES = 1024 * 1024

export type TextRead =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly way_out: string }

/** A file an operator wrote: strictly UTF-8, of a size a person could have written. */
export function readText(path: string): TextRead {
  const refused = (message: string, way_out: string): TextRead => ({ ok: false, message, way_out })
  try {
    const stat = statSync(path)
    if (!stat.isFile()) return refused('not a file', 'move it away')
    if (stat.size > MAX_BYTES) return refused('the file is over 1 MiB', 'split it')
    const text = fromUtf8(readFileSync(path))
    return text === null ? refused('the file is not UTF-8', 'save it as UTF-8') : { ok: true, text }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable'
    return refused(`the file cannot be read (${code})`, 'check its path and permissions')
  }
}
