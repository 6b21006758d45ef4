import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { ADMIN_ROLES } from '../../ports/admin.js'
import { errnoOf, ifThereSync } from '../disk/errno.js'
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from '../disk/files.js'
import { makeFolder, syncFolder } from '../disk/folder.js'
import { TEMPORARY } from '../disk/replace-file.js'

/**
 * Tokens this gate issued itself: the file holds hashes only, the token is printed once. Agent tokens
 * work on the data plane only, every other role on the admin plane only (DESIGN §7).
 */
export const ROLES = ['agent', ...ADMIN_ROLES] as const
export type Role = (typeof ROLES)[number]

export type TokenRecord = {
  readonly sha256: string
  readonly role: Role
  readonly name: string
  /** What capsules name as developer; agents only. */
  readonly developer?: string
  /** Cedar roles of an agent; approver roles of an approver. */
  readonly groups: readonly string[]
  /** Held by a program: what it decides is policy's word, never a human's (promise 4). */
  readonly machine?: true
  readonly created_at: string
}

export const hashToken = (token: string): string =>
  createHash('sha256').update(token, 'utf8').digest('hex')

export const tokensFile = (dir: string): string => join(dir, 'tokens.json')

/** An absent file is an empty list; a damaged one is an error that names it. */
export function readTokens(dir: string): readonly TokenRecord[] {
  const text = ifThereSync(() => readFileSync(tokensFile(dir), 'utf8'))
  if (text === null) return []
  const parsed: unknown = JSON.parse(text)
  const tokens = (parsed as { tokens?: unknown }).tokens
  if (!Array.isArray(tokens)) throw new Error(`${tokensFile(dir)}: no list of tokens`)
  return tokens.map((entry, index) => checked(entry, `${tokensFile(dir)}: token ${index + 1}`))
}

function checked(entry: unknown, where: string): TokenRecord {
  if (typeof entry !== 'object' || entry === null) throw new Error(`${where}: not an object`)
  const record = entry as TokenRecord
  if (!/^[0-9a-f]{64}$/.test(record.sha256 ?? '')) throw new Error(`${where}: sha256 is not 64 hex`)
  if (!ROLES.includes(record.role)) throw new Error(`${where}: unknown role ${String(record.role)}`)
  if (typeof record.name !== 'string' || record.name === '') throw new Error(`${where}: no name`)
  if (!Array.isArray(record.groups)) throw new Error(`${where}: groups is not a list`)
  // Taken for a person's by mistake, a program's word would be a human's.
  if (record.machine !== undefined && record.machine !== true) {
    throw new Error(`${where}: machine is not true`)
  }
  return record
}

/** Makes a token of 256 bits and stores its hash; the caller shows the token and forgets it. */
export function createToken(
  dir: string,
  request: Pick<TokenRecord, 'role' | 'name' | 'groups' | 'machine' | 'developer'> & { now: Date },
): { token: string; record: TokenRecord } {
  const token = `cg_${request.role}_${randomBytes(32).toString('base64url')}`
  const { now, ...rest } = request
  const record: TokenRecord = { sha256: hashToken(token), ...rest, created_at: now.toISOString() }
  changeTokens(dir, (tokens) => [...tokens, record])
  return { token, record }
}

/** Every token of that name goes; how many is returned. */
export function revokeTokens(dir: string, name: string): number {
  let revoked = 0
  changeTokens(dir, (tokens) => {
    const kept = tokens.filter((token) => token.name !== name)
    revoked = tokens.length - kept.length
    return kept
  })
  return revoked
}

/** The new file is opened before the old one is read: of two writers at once, one is refused. */
function changeTokens(
  dir: string,
  change: (tokens: readonly TokenRecord[]) => readonly TokenRecord[],
): void {
  makeFolder(dir)
  const temporary = `${tokensFile(dir)}${TEMPORARY}`
  const file = openNew(temporary)
  try {
    const tokens = change(readTokens(dir))
    writeSync(file, `${JSON.stringify({ tokens }, null, 2)}\n`)
    fsyncSync(file)
    renameSync(temporary, tokensFile(dir))
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  syncFolder(dir)
}

function openNew(path: string): number {
  try {
    return openSync(path, 'wx', 0o600)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    throw new Error(`${path} is there: another change is under way, or one was interrupted`)
  }
}
