import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isMissing } from '../disk/errno.js'
import { readdirSync, readFileSync, rmSync } from '../disk/files.js'
import { makeFolder } from '../disk/folder.js'
import { replaceFileSync } from '../disk/replace-file.js'

/** What an operator asks of the gate from another process: a file that the gate removes when it is done. */
export type OperatorRequest =
  | { readonly kind: 'replay'; readonly ids: readonly string[] }
  | { readonly kind: 'enable'; readonly endpoint: string }

const folderOf = (folder: string): string => join(folder, 'orders')

/** A running gate reads it within seconds, another at its next start. */
export function submitRequest(folder: string, request: OperatorRequest): void {
  makeFolder(folderOf(folder))
  replaceFileSync(join(folderOf(folder), `${randomUUID()}.json`), JSON.stringify(request))
}

/** The names of the files that wait. */
export function requestFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folderOf(folder))
      .filter((name) => name.endsWith('.json'))
      .sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Null where the file is no request. */
export function readRequest(folder: string, file: string): OperatorRequest | null {
  try {
    const text = readFileSync(join(folderOf(folder), file), 'utf8')
    const { kind, ids, endpoint } = JSON.parse(text) as { [name: string]: unknown }
    if (kind === 'replay' && Array.isArray(ids) && ids.every((id) => typeof id === 'string')) {
      return { kind, ids }
    }
    return kind === 'enable' && typeof endpoint === 'string' ? { kind, endpoint } : null
  } catch {
    return null
  }
}

/** Once it was carried out: a crash before this repeats it, which sends nothing twice. */
export const removeRequest = (folder: string, file: string): void =>
  rmSync(join(folderOf(folder), file), { force: true })
