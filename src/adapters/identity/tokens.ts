import { createHash, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Tokens this gate issued itself: the file holds hashes only, the token is printed once. Agent tokens
 * work on the data plane only, every other role on the admin plane only (DESIGN §7).
 */
export const ROLES = [
  'agent',
  'viewer',
  'auditor',
  'external_auditor',
  'approver',
  'operator',
] as const
export type Role = (typeof ROLES)[number]
export type AdminRole = Exclude<Role, 'agent'>

export type TokenRecord = {
  readonly sha256: string
  readonly role: Role
  readonly name: string
  /** What capsules name as developer; agents only. */
  readonly developer?: string
  /** Cedar roles of an agent; approver roles of an approver. */
  readonly groups: readonly string[]
  readonly created_at: string
}

export const hashToken = (token: string): string =>
  createHash('sha256').update(token, 'utf8').digest('hex')

const fileOf = (dir: string): string => join(dir, 'tokens.json')

/** An absent file is an empty list; a damaged one is an error that names it. */
export function readTokens(dir: string): readonly TokenRecord[] {
  let text: string
  try {
    text = readFileSync(fileOf(dir), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const parsed: unknown = JSON.parse(text)
  const tokens = (parsed as { tokens?: unknown }).tokens
  if (!Array.isArray(tokens)) throw new Error(`${fileOf(dir)}: no list of tokens`)
  return tokens.map((entry, index) => checked(entry, `${fileOf(dir)}: token ${index + 1}`))
}

function checked(entry: unknown, where: string): TokenRecord {
  const record = entry as TokenRecord
  if (!/^[0-9a-f]{64}$/.test(record.sha256 ?? '')) throw new Error(`${where}: sha256 is not 64 hex`)
  if (!ROLES.includes(record.role)) throw new Error(`${where}: unknown role ${String(record.role)}`)
  if (typeof record.name !== 'string' || record.name === '') throw new Error(`${where}: no name`)
  if (!Array.isArray(record.groups)) throw new Error(`${where}: groups is not a list`)
  return record
}

/** Makes a token of 256 bits and stores its hash; the caller shows the token and forgets it. */
export function createToken(
  dir: string,
  request: Pick<TokenRecord, 'role' | 'name' | 'groups'> & { developer?: string; now: Date },
): { token: string; record: TokenRecord } {
  const token = `cg_${request.role}_${randomBytes(32).toString('base64url')}`
  const { now, ...rest } = request
  const record: TokenRecord = { sha256: hashToken(token), ...rest, created_at: now.toISOString() }
  writeTokens(dir, [...readTokens(dir), record])
  return { token, record }
}

/** Every token of that name goes; how many is returned. */
export function revokeTokens(dir: string, name: string): number {
  const before = readTokens(dir)
  const kept = before.filter((token) => token.name !== name)
  if (kept.length < before.length) writeTokens(dir, kept)
  return before.length - kept.length
}

function writeTokens(dir: string, tokens: readonly TokenRecord[]): void {
  const temporary = `${fileOf(dir)}.tmp`
  const file = openSync(temporary, 'w', 0o600)
  try {
    writeSync(file, `${JSON.stringify({ tokens }, null, 2)}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, fileOf(dir))
  const folder = openSync(dirname(fileOf(dir)), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
