export type JournalErrorCode =
  /** Another process holds the folder. */
  | 'locked'
  /** A newer writer took over; this one may not write any more. */
  | 'fenced'
  | 'damaged'
  | 'forked'
  /** Older than a head or snapshot that left this journal: a restored copy. */
  | 'behind'
  | 'foreign_origin'
  | 'head_file'
  /** It has lines, and nothing in its second place. */
  | 'head_missing'
  /** Written by version 1: an operator has to take it over first. */
  | 'not_adopted'
  | 'archived'
  /** The disk is full, or the reserve is not whole yet; conclusions are still taken. */
  | 'disk_full'
  | 'write_failed'
  | 'poisoned'
  | 'closed'
  | 'bad_entry'
  | 'rolled_back'

export type Place = {
  readonly file: string
  readonly line?: number
  readonly expected?: string
  readonly found?: string
}

export class JournalError extends Error {
  readonly code: JournalErrorCode
  readonly place: Place | null
  constructor(code: JournalErrorCode, message: string, place?: Place, cause?: unknown) {
    super(place === undefined ? message : `${message} (${describe(place)})`, { cause })
    this.name = 'JournalError'
    this.code = code
    this.place = place ?? null
  }
}

function describe({ file, line, expected, found }: Place): string {
  const parts = [line === undefined ? file : `${file}, line ${line}`]
  if (expected !== undefined) parts.push(`expected ${expected}`)
  if (found !== undefined) parts.push(`found ${found}`)
  return parts.join('; ')
}

export const messageOf = (error: unknown): string =>
  isObject(error) && typeof error.message === 'string' ? error.message : String(error)

const FULL = new Set(['ENOSPC', 'EDQUOT'])

/** A disk's refusal, as the caller should read it. */
export function writeFailure(error: unknown, file: string): JournalError {
  const full = FULL.has(errnoOf(error) ?? '')
  const message = full ? 'the disk is full' : `the journal cannot be written: ${messageOf(error)}`
  return new JournalError(full ? 'disk_full' : 'write_failed', message, { file }, error)
}

/** By shape: an error of Node's own may come from another realm, where `instanceof` says no. */
export const errnoOf = (error: unknown): string | null =>
  isObject(error) && typeof error.code === 'string' ? error.code : null

const isObject = (value: unknown): value is { message?: unknown; code?: unknown } =>
  typeof value === 'object' && value !== null
