import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from '@jest/globals'

/** Null where it is here; else why tests that need it do not run. */
export type Missing = string | null

type Declare = (name: string, body: () => void | Promise<void>, timeout?: number) => void

/**
 * `describe` and `it` for tests that need something the machine may lack. Where it is missing they are skipped in a
 * group named after the reason, which scripts/test/summary.mjs reads. Skipped in any other way, a test fails CI.
 */
export function needs(missing: Missing): {
  readonly describe: (name: string, body: () => void) => void
  readonly it: Declare
} {
  if (missing === null) return { describe, it }
  const group = `not run: ${missing}`
  return {
    describe: (name, body) => describe.skip(group, () => describe(name, body)),
    it: (name, body, timeout) => describe.skip(group, () => it(name, body, timeout)),
  }
}

const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0
const unless = (here: boolean, reason: string): Missing => (here ? null : reason)

export const missingPython = (): Missing =>
  unless(
    runs('python3', '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'),
    'python3 is missing or older than 3.9',
  )

export const missingOpenssl = (): Missing => {
  const { stdout } = spawnSync('openssl', ['version'], { encoding: 'utf8' })
  return unless(/^OpenSSL ([3-9]|\d\d)\./.test(stdout ?? ''), 'openssl is missing or older than 3')
}

export const missingCommand = (command: string): Missing =>
  unless(runs('sh', '-c', `command -v ${command}`), `${command} is missing`)

/** Installed, and not forbidden to trace, as in some containers. */
export const missingStrace = (): Missing =>
  missingCommand('strace') ?? unless(runs('strace', '-f', 'true'), 'strace may not trace here')

export const missingMount = (mounted: boolean): Missing =>
  unless(mounted, 'mounting is not permitted here')

export const missingNetworkNamespaces = (): Missing =>
  unless(runs('unshare', '--net', 'true'), 'network namespaces are not permitted here')

/** Third-party vectors, which are no part of the repository. */
export const VECTORS = join(import.meta.dirname, '..', '..', '..', 'shared', 'vectors')
export const missingVectors = (): Missing =>
  unless(existsSync(VECTORS), '../shared/vectors is not here')
