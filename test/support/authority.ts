import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A throw-away authority, made with openssl: certificates with whatever subject a test needs. */
export type Authority = {
  readonly cert: string
  issue(subject: string, more?: { days?: number; args?: readonly string[] }): Issued
  close(): void
}
export type Issued = { readonly cert: string; readonly key: string }

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const

export function makeAuthority(name: string): Authority {
  const dir = mkdtempSync(join(tmpdir(), 'authority-'))
  const run = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' })
  }
  const text = (file: string): string => readFileSync(join(dir, file), 'utf8')
  run(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '30',
    '-subj',
    `/CN=${name}`,
  )
  return {
    cert: text('ca.pem'),
    issue(subject, { days = 30, args = [] } = {}) {
      run('req', ...KEY, '-keyout', 'c.key', '-out', 'c.csr', '-utf8', '-subj', subject, ...args)
      run(
        'x509',
        '-req',
        '-in',
        'c.csr',
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        String(days),
        '-out',
        'c.pem',
      )
      return { cert: text('c.pem'), key: text('c.key') }
    },
    close: () => rmSync(dir, { recursive: true }),
  }
}
