import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from '../disk/files.js'

/** What an operator tells the gate from another process. */
export type Order =
  | { readonly kind: 'replay'; readonly ids: readonly string[] }
  | { readonly kind: 'enable'; readonly endpoint: string }

export type Placed = { readonly file: string; readonly order: Order | null }

const folderOf = (folder: string): string => join(folder, 'orders')

/** The running gate takes it within seconds, one that is started later at its start. */
export function placeOrder(folder: string, order: Order): void {
  mkdirSync(folderOf(folder), { recursive: true, mode: 0o700 })
  const path = join(folderOf(folder), `${randomUUID()}.json`)
  writeFileSync(`${path}.tmp`, JSON.stringify(order), { mode: 0o600 })
  renameSync(`${path}.tmp`, path)
}

/** Those that wait; `order` is null where the file is not one. */
export function placedOrders(folder: string): readonly Placed[] {
  return names(folderOf(folder))
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => ({ file: name, order: read(join(folderOf(folder), name)) }))
}

/** After it was carried out: a crash in between carries it out twice, which sends nothing twice. */
export const takeOrder = (folder: string, { file }: Placed): void =>
  rmSync(join(folderOf(folder), file), { force: true })

function names(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function read(path: string): Order | null {
  try {
    const given = JSON.parse(readFileSync(path, 'utf8')) as { [name: string]: unknown }
    const { kind, ids, endpoint } = given
    if (kind === 'replay' && Array.isArray(ids) && ids.every((id) => typeof id === 'string')) {
      return { kind, ids }
    }
    return kind === 'enable' && typeof endpoint === 'string' ? { kind, endpoint } : null
  } catch {
    return null
  }
}
