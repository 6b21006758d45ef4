import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { textDigest } from '../../core/json/build.js'
import type { ToolDetail } from '../../mounts/admin/routes/tools.js'
import { EXIT, plain, print, printError, printResult, UsageError } from '../output/print.js'
import { difference } from './difference.js'
import { accept, oneTool, reaching, type ToolOptions } from './reach.js'

type Options = ToolOptions & { yes?: boolean }

export function registerAccept(tools: Command): void {
  const description = 'show what changed in how a tool is described, and accept it'
  reaching(tools.command('accept').description(description))
    .argument('<server>', 'as gate.yaml or wrap --name calls it')
    .argument('<tool>', "the server's own name of it")
    .option('--yes', 'do not ask')
    .action(acceptShown)
}

/** What is accepted is what was shown: the digest goes along, and the gate refuses it if it changed again. */
async function acceptShown(server: string, tool: string, options: Options): Promise<void> {
  const detail = await oneTool({ server, tool }, options)
  const { seen, documents, ...known } = detail
  if (seen === null) {
    const said = 'it is described as it was accepted: there is nothing to accept'
    printResult(options, { ...known, seen, recorded: false }, () => said)
    return
  }
  const tell = options.json === true ? printError : print
  for (const line of changeOf(detail, seen, options)) tell(line)
  if (options.yes !== true && !(await confirmed(detail))) {
    printError('nothing was accepted')
    process.exitCode = EXIT.failed
    return
  }
  const done = await accept({ server, tool }, seen, options)
  printResult(
    options,
    done,
    () => `accepted: ${nameOf(detail)} is held to ${done.definition} from now on`,
  )
}

const nameOf = ({ server, tool }: ToolDetail): string => `${plain(tool)} of ${plain(server)}`

/** A document that does not have its digest is never shown. */
function changeOf(detail: ToolDetail, seen: string, { yes }: Options): readonly string[] {
  const { definition, documents } = detail
  const pairs = [
    [documents.definition, definition],
    [documents.seen, seen],
  ] as const
  for (const [text, digest] of pairs) {
    if (text !== null && textDigest(text, nodeCrypto) !== digest) {
      throw new Error('a description that came is not the one its digest names: accept nothing')
    }
  }
  const head = [nameOf(detail), `- ${definition}`, `+ ${seen}`]
  if (documents.definition !== null && documents.seen !== null) {
    return [...head, ...difference(documents.definition, documents.seen)]
  }
  if (yes !== true) {
    throw new Error(
      `the description ${documents.seen === null ? seen : definition} is not in the data folder any more, so that nothing can be compared: put it back, or accept the digest with --yes`,
    )
  }
  return head
}

async function confirmed(detail: ToolDetail): Promise<boolean> {
  if (process.stdin.isTTY !== true) {
    throw new UsageError('nobody can be asked here: add --yes to accept what is shown above')
  }
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question(`Accept ${nameOf(detail)} as changed? (type yes) `)
  ask.close()
  return answer.trim() === 'yes'
}
