import { type Command, Option } from 'commander'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync, readdirSync } from '../../adapters/disk/files.js'
import type { Crypto, Sha3 } from '../../core/crypto/crypto.js'
import { nobleCrypto } from '../../core/crypto/noble.js'
import { EXIT, painter, plain, printResult, table } from '../output/print.js'
import { capsuleCases } from './capsule.js'
import { coseCases } from './cose.js'
import { cpsCases } from './cps.js'

/** One public vector: what its makers, or our stated policy, expect, and what the verifier found. */
export type Case = {
  readonly suite: string
  readonly name: string
  readonly expected: string
  readonly actual: string
  /** Where the expectation is not the vector's own: which rule of ours, or which draft, it follows. */
  readonly note: string | null
}

export const list = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).sort() : []

const ENGINES: Readonly<Record<string, Crypto & Sha3>> = { node: nodeCrypto, noble: nobleCrypto }
type Options = { engine: string; json?: boolean; allowMissing?: boolean }

export function register(program: Command): void {
  program
    .command('conformance')
    .description('run public test vectors and compare every result')
    .argument(
      '<directory>',
      'vectors laid out as aac/class1, aac/disclosure-envelope, cose/…, cps/conformance',
    )
    .addOption(
      new Option('--engine <engine>', 'cryptographic engine')
        .choices(Object.keys(ENGINES))
        .default('node'),
    )
    .option('--json', 'print JSON')
    .option('--allow-missing', 'exit 0 when the directory holds no vectors')
    .action((directory: string, options: Options) => {
      const crypto = ENGINES[options.engine] ?? nodeCrypto
      const cases = [
        ...capsuleCases(directory, crypto),
        ...coseCases(directory, crypto),
        ...cpsCases(directory, crypto),
      ]
      const run = cases.length
      const disagreements = cases.filter(({ expected, actual }) => expected !== actual).length
      printResult(options, { engine: crypto.name, run, disagreements, cases }, () =>
        run === 0
          ? 'vectors: not present'
          : [
              ...describe(cases),
              `${run - disagreements} agree, ${disagreements} differ`,
              `vectors: ${run} run`,
            ],
      )
      // A pass needs at least one vector, or the caller's permission.
      const passed = run === 0 ? options.allowMissing === true : disagreements === 0
      process.exitCode = passed ? EXIT.ok : EXIT.failed
    })
}

function describe(cases: readonly Case[]): string[] {
  const paint = painter(process.stdout)
  const rows = cases.map(({ suite, name, expected, actual, note }) => {
    const agrees = expected === actual
    const result = agrees ? actual : `${actual}, expected ${expected}`
    const text = note === null ? result : `${result} (${note})`
    return [agrees ? 'agrees' : 'DIFFERS', suite, name, plain(text.trimEnd())]
  })
  return table(rows, (cell, column) =>
    column === 0 ? paint(cell === 'agrees' ? 'green' : 'red', cell) : cell,
  )
}
