import { type Command, Option } from 'commander'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import type { Crypto } from '../../core/crypto/crypto.js'
import { nobleCrypto } from '../../core/crypto/noble.js'
import { EXIT, painter, plain, print, printJson, table } from '../output.js'
import { capsuleCases } from './capsule.js'
import { coseCases } from './cose.js'

/** One public vector: what its makers, or our stated policy, expect, and what the verifier said. */
export type Case = {
  readonly suite: string
  readonly name: string
  readonly expected: string
  readonly actual: string
  /** Where the expectation is not the vector's own: which rule of ours, or which draft, it follows. */
  readonly note: string | null
}

const ENGINES: Readonly<Record<string, Crypto>> = { node: nodeCrypto, noble: nobleCrypto }
type Options = { engine: string; json?: boolean; allowMissing?: boolean }

export function register(program: Command): void {
  program
    .command('conformance')
    .description('run public test vectors and compare every result')
    .argument('<directory>', 'vectors laid out as aac/class1, aac/disclosure-envelope, cose/…')
    .addOption(
      new Option('--engine <engine>', 'cryptographic engine')
        .choices(Object.keys(ENGINES))
        .default('node'),
    )
    .option('--json', 'print JSON')
    .option('--allow-missing', 'exit 0 when the directory holds no vectors')
    .action((directory: string, options: Options) => {
      const crypto = ENGINES[options.engine] ?? nodeCrypto
      const cases = existsSync(directory)
        ? [...capsuleCases(directory, crypto), ...coseCases(directory, crypto)]
        : []
      const differing = cases.filter((one) => one.expected !== one.actual)
      if (options.json) {
        printJson({
          engine: crypto.name,
          run: cases.length,
          disagreements: differing.length,
          cases,
        })
      } else if (cases.length > 0) show(cases)
      if (!options.json) {
        print(cases.length === 0 ? 'vectors: not present' : `vectors: ${cases.length} run`)
      }
      process.exitCode = exitCode(cases.length, differing.length, options.allowMissing === true)
    })
}

/** Nothing run is nothing shown: a pass needs at least one vector, or the caller's word. */
function exitCode(run: number, differing: number, allowMissing: boolean): number {
  if (run === 0) return allowMissing ? EXIT.ok : EXIT.failed
  return differing === 0 ? EXIT.ok : EXIT.failed
}

function show(cases: readonly Case[]): void {
  const paint = painter(process.stdout)
  const rows = cases.map((one) => {
    const agrees = one.expected === one.actual
    const said = agrees ? one.actual : `${one.actual}, expected ${one.expected}`
    const note = one.note === null ? '' : `(${one.note})`
    return [agrees ? 'agrees' : 'DIFFERS', one.suite, one.name, plain(`${said} ${note}`.trimEnd())]
  })
  for (const line of table(rows, (cell, column) => {
    if (column !== 0) return cell
    return paint(cell === 'agrees' ? 'green' : 'red', cell)
  })) {
    print(line)
  }
  const differing = rows.filter(([state]) => state === 'DIFFERS').length
  print(`${cases.length - differing} agree, ${differing} differ`)
}
