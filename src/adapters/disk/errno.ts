import { GateError } from '../../core/error.js'

/** By shape: an error of Node's own may come from another realm, where `instanceof` says no. */
export const errnoOf = (error: unknown): string | null =>
  isObject(error) && typeof error.code === 'string' ? error.code : null

export const isMissing = (error: unknown): boolean => errnoOf(error) === 'ENOENT'

/** Null where the file is not there. */
export const ifThere = <T>(opened: Promise<T>): Promise<T | null> =>
  opened.catch((error) => {
    if (isMissing(error)) return null
    throw error
  })

export function ifThereSync<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

export const isFull = (error: unknown): boolean =>
  errnoOf(error) === 'ENOSPC' || errnoOf(error) === 'EDQUOT'

export const messageOf = (error: unknown): string =>
  isObject(error) && typeof error.message === 'string' ? error.message : String(error)

const isObject = (value: unknown): value is { message?: unknown; code?: unknown } =>
  typeof value === 'object' && value !== null

/** A disk's refusal, as the caller should read it. */
export const writeFailure = (error: unknown, file: string): GateError =>
  isFull(error)
    ? new GateError('disk_full', 'the disk is full', { file }, error)
    : new GateError(
        'write_failed',
        `the journal cannot be written: ${messageOf(error)}`,
        { file },
        error,
      )
