import { type Command, Option } from 'commander'
import { readCpsKeys } from '../../core/cps/read-keys.js'
import { type PublicKeyRecord, parseKeyring } from '../../core/statement/keys.js'
import { headsIn } from '../../core/verify/journal/given-head.js'
import type { Profile } from '../../verify.js'
import { readGiven } from '../access/given-file.js'
import {
  EXIT,
  messageOf,
  painter,
  plain,
  print,
  printError,
  printJson,
  UsageError,
  worst,
} from '../output/print.js'
import { progress } from '../output/progress.js'
import { type Problem, type VerifySettings, verifyInput } from './file.js'
import { openSource, readInput, type Source } from './input.js'
import type { OtherSettings } from './other.js'
import { renderProblem, renderReport } from './report.js'

type Level = OtherSettings['level']
type Options = { keys?: string; head?: string; profile: Profile; level: Level; json?: boolean }

const HELP = `
Reads a capsule (JSON), a ledger (JSON array or lines), a gate's journal, a signed statement (.cose)
or a disclosure envelope; and of other makers a capsule of the Capsule Protocol, a chain of them (array,
lines or file), the folder of an export, or receipts of CapSeal (actions.jsonl). - is standard input. --json prints one object per line: problems as they
are found, then one summary per file.

A journal is valid up to its last signed head. Lines cut off behind that show only against a later head that
was seen elsewhere: --head takes the gate's second head file, log lines or webhook bodies with heads.

Exit codes: 0 valid, 1 invalid, 2 usage or unreadable, 3 incomplete (nothing wrong was found, but what
was asked for could not be checked: signatures without a keyring, a journal without its head, a missing
segment, a call without its conclusion).`

/** Shown to a person; a script reads --json, which has them all. */
export const MAX_SHOWN = 50

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
    .addOption(
      new Option(
        '--level <level>',
        'of Capsule Protocol chains: with hashes and signatures, or links alone',
      )
        .choices(['structural', 'cryptographic'])
        .default('cryptographic'),
    )
    .option('--json', 'print JSON Lines')
    .addHelpText('after', HELP)
    .action(async (files: string[], options: Options) => {
      const against = keysFor(options)
      const held = options.head === undefined ? {} : { head: loadHeads(options.head) }
      const codes: number[] = []
      for (const file of files) {
        codes.push(
          await verifySource(file, () => openSource(file), { ...against, ...held }, options),
        )
      }
      process.exitCode = worst(codes)
    })
}

const EXIT_OF = { valid: EXIT.ok, invalid: EXIT.failed, incomplete: EXIT.incomplete } as const
const COLOUR = { valid: 'green', invalid: 'red', incomplete: 'yellow' } as const

/** Verifies, prints and returns the exit code; what cannot be read is printed, not thrown. */
export async function verifySource(
  file: string,
  open: () => Source,
  against: Pick<VerifySettings, 'keys' | 'other' | 'head' | 'seals'>,
  { profile, json }: Pick<Options, 'profile' | 'json'>,
): Promise<number> {
  const paint = painter(process.stdout)
  const problems: string[] = []
  let hidden = 0
  const onProblem = (problem: Problem): void => {
    if (problem.severity === 'info') return
    if (json) printJson({ type: 'problem', file, ...problem })
    else if (problems.length < MAX_SHOWN) problems.push(renderProblem(problem, paint))
    else hidden++
  }
  try {
    const source = open()
    const bar = progress(source.name, source.size)
    const settings = { profile, ...against, onProblem, onRead: bar.update }
    const report = await verifyInput(await readInput(source), settings)
    bar.clear()
    const { kind, status } = report
    if (json) printJson({ type: 'file', file, profile, ...report })
    else {
      print(`${plain(source.name)}  ${kind}  ${paint(COLOUR[status], status.toUpperCase())}`)
      if (hidden > 0) problems.push(`  … and ${hidden} more (--json has all)`)
      for (const line of [...problems, ...renderReport(report, profile, paint)]) print(line)
    }
    return EXIT_OF[status]
  } catch (error) {
    const reason = messageOf(error)
    if (json) printJson({ type: 'file', file, status: 'unreadable', reason })
    else printError(`capsule-gate: ${reason}`)
    return EXIT.usage
  }
}

/** One file for both: a gate's keyring, or keys of the Capsule Protocol alone. */
function keysFor({ keys: path, level, profile }: Options): Pick<VerifySettings, 'keys' | 'other'> {
  if (path === undefined) return { keys: null, other: { keys: null, level } }
  const text = readGiven(path, 'keyring ')
  const others = readCpsKeys(text)
  // What is no keyring of either kind is told as what a gate's keyring has to be.
  const keys = !others.ok || parseKeyring(text).ok ? loadKeys(path) : null
  if (!others.ok) return { keys, other: { keys: null, level } }
  const { keys: known, active } = others
  // Under `compat` a capsule by an unknown signer is checked with the active key (CPS, key management).
  const fallback = profile === 'compat' && active !== null ? { fallback: active } : {}
  return { keys, other: { keys: known.length === 0 ? null : known, level, ...fallback } }
}

export function loadKeys(path: string): readonly PublicKeyRecord[] {
  const read = parseKeyring(readGiven(path, 'keyring '))
  if (!read.ok) throw new UsageError(`keyring ${path}: ${read.path} ${read.detail}`)
  return read.keys
}

/** A file without any head is the wrong file; whether one in it holds is for the verifier to say. */
function loadHeads(path: string): string {
  const text = String(readGiven(path, 'head '))
  if (headsIn(text).length === 0)
    throw new UsageError(`there is no signed head in ${path} (--head)`)
  return text
}
