import { type Command, Option } from 'commander'
import { readFileSync } from '../../adapters/disk/files.js'
import { type PublicKeyRecord, parseKeyring } from '../../core/statement/keys.js'
import { headsIn } from '../../core/verify/journal/given-head.js'
import type { Profile } from '../../verify.js'
import { EXIT, painter, plain, print, printJson, progress, UsageError } from '../output.js'
import { type FileReport, type Problem, type VerifySettings, verifyInput } from './file.js'
import { openSource, readInput, type Source } from './input.js'
import { renderProblem, renderReport } from './report.js'

type Options = { keys?: string; head?: string; profile: Profile; json?: boolean }

const HELP = `
Reads a capsule (JSON), a ledger (JSON array or lines), a gate's journal, a signed statement (.cose)
or a disclosure envelope; - is standard input. --json prints one object per line: problems as they
are found, then one summary per file.

A journal is valid up to its last signed head. Lines cut off behind that show only against a later head that
was seen elsewhere: --head takes the gate's second head file, log lines or webhook bodies with heads.

Exit codes: 0 valid, 1 invalid, 2 usage or unreadable, 3 incomplete (nothing wrong was found, but what
was asked for could not be checked: signatures without a keyring, a journal without its head, a missing
segment, a call without its conclusion).`

/** Shown to a person; a script reads --json, which has them all. */
const MAX_SHOWN = 50

export function register(program: Command): void {
  program
    .command('verify')
    .description('verify capsules, ledgers, journals and statements offline')
    .argument('<file...>', 'files to verify, - for standard input')
    .option('--keys <keyring>', 'keyring of pinned public keys (capsule-gate keys export)')
    .option(
      '--head <file>',
      'signed heads of the journal, seen elsewhere: it must reach the newest',
    )
    .addOption(
      new Option('--profile <profile>', 'strict: the whole text; compat: its eight checks only')
        .choices(['strict', 'compat'])
        .default('strict'),
    )
    .option('--json', 'print JSON Lines')
    .addHelpText('after', HELP)
    .action(async (files: string[], options: Options) => {
      const keys = options.keys === undefined ? null : loadKeys(options.keys)
      const held = options.head === undefined ? {} : { head: loadHeads(options.head) }
      const codes: number[] = []
      for (const file of files) {
        codes.push(await verifySource(file, () => openSource(file), { keys, ...held }, options))
      }
      process.exitCode = worst(codes)
    })
}

/** Found invalid outweighs unreadable, which outweighs incomplete. */
const worst = (codes: readonly number[]): number =>
  [EXIT.failed, EXIT.usage, EXIT.incomplete].find((code) => codes.includes(code)) ?? EXIT.ok

const EXIT_OF = { valid: EXIT.ok, invalid: EXIT.failed, incomplete: EXIT.incomplete } as const

/** Verifies, prints and answers with the exit code; what cannot be read is told, not thrown. */
export async function verifySource(
  file: string,
  open: () => Source,
  against: Pick<VerifySettings, 'keys' | 'head' | 'seals'>,
  { profile, json }: Pick<Options, 'profile' | 'json'>,
): Promise<number> {
  const problems = json ? jsonProblems(file) : shownProblems()
  try {
    const source = open()
    const bar = progress(source.name, source.size)
    const settings = { profile, ...against, onProblem: problems.add }
    const report = await verifyInput(await readInput(source), settings, bar)
    bar.clear()
    if (json) printJson({ type: 'file', file, profile, ...report })
    else show(source.name, report, profile, problems.lines())
    return EXIT_OF[report.status]
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    if (json) printJson({ type: 'file', file, status: 'unreadable', reason })
    else process.stderr.write(`capsule-gate: ${plain(reason)}\n`)
    return EXIT.usage
  }
}

type Problems = { add(problem: Problem): void; lines(): string[] }

function jsonProblems(file: string): Problems {
  return {
    add: (problem) => {
      if (problem.severity !== 'info') printJson({ type: 'problem', file, ...problem })
    },
    lines: () => [],
  }
}

function shownProblems(): Problems {
  const paint = painter(process.stdout)
  const lines: string[] = []
  let hidden = 0
  return {
    add(problem) {
      if (problem.severity === 'info') return
      if (lines.length < MAX_SHOWN) lines.push(renderProblem(problem, paint))
      else hidden++
    },
    lines: () => (hidden === 0 ? lines : [...lines, `  … and ${hidden} more (--json has all)`]),
  }
}

function show(name: string, report: FileReport, profile: Profile, problems: string[]): void {
  const paint = painter(process.stdout)
  const colour = ({ valid: 'green', invalid: 'red', incomplete: 'yellow' } as const)[report.status]
  print(`${plain(name)}  ${report.kind}  ${paint(colour, report.status.toUpperCase())}`)
  for (const line of problems) print(line)
  for (const line of renderReport(report, profile, paint)) print(line)
}

export function loadKeys(path: string): readonly PublicKeyRecord[] {
  let text: Uint8Array
  try {
    text = readFileSync(path)
  } catch (error) {
    throw new UsageError(`cannot read keyring ${path}: ${(error as Error).message}`)
  }
  const read = parseKeyring(text)
  if (!read.ok) throw new UsageError(`keyring ${path}: ${read.path} ${read.detail}`)
  return read.keys
}

/** A file without any head is the wrong file; whether one in it holds is the verifier's to say. */
function loadHeads(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read head ${path}: ${(error as Error).message}`)
  }
  if (headsIn(text).length === 0)
    throw new UsageError(`there is no signed head in ${path} (--head)`)
  return text
}
