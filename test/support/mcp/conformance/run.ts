import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const SUITE = join(ROOT, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
const ON_NODE_20 = join(import.meta.dirname, 'on-node-20.mjs')

const Checks = z.array(
  z.looseObject({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }),
)

/** What came of each check of each scenario: `SUCCESS`, or else a status and why. */
export type Report = ReadonlyMap<string, ReadonlyMap<string, string>>

/** Runs the suite's server scenarios against an address; rejects where it gives no results or takes too long. */
export async function conformance(
  url: string,
  selection: readonly string[],
  longestMs: number,
): Promise<Report> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    const said = await run(
      ['server', '--url', url, ...selection, '--output-dir', results],
      longestMs,
    )
    const report = new Map<string, Map<string, string>>()
    for (const folder of readdirSync(results)) {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)?.[1] ?? folder
      const text = readFileSync(join(results, folder, 'checks.json'), 'utf8')
      report.set(scenario, checksOf(Checks.parse(JSON.parse(text))))
    }
    if (report.size === 0) throw new Error(`the suite left no results; it said: ${said}`)
    return report
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}

/** Some checks are made several times; each time counts. What only informs is left out. */
function checksOf(checks: z.infer<typeof Checks>): Map<string, string> {
  const outcomes = new Map<string, string>()
  const times = new Map<string, number>()
  for (const { id, status, errorMessage } of checks) {
    if (status === 'INFO') continue
    const nth = (times.get(id) ?? 0) + 1
    times.set(id, nth)
    const outcome =
      status === 'SUCCESS' ? status : `${status}: ${errorMessage ?? 'no reason given'}`
    outcomes.set(nth === 1 ? id : `${id} (${nth})`, outcome)
  }
  return outcomes
}

/** The exit code says only that some check failed, which the results say better. */
function run(args: readonly string[], longestMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', ON_NODE_20, SUITE, ...args], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    const hear = (piece: Buffer): void => {
      said = (said + String(piece)).slice(-4096)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    const late = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the suite did not end in ${longestMs} ms; it said: ${said}`))
    }, longestMs)
    child.once('close', () => {
      clearTimeout(late)
      resolve(said)
    })
  })
}
