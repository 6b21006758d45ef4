import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { firstLine } from '../adapters/journal/segments.js'
import { createErasures } from '../core/journal/erasures.js'
import type { EvidenceDigest } from '../core/journal/evidence-digests.js'
import { readLine } from '../core/journal/vocabulary.js'
import {
  type AbsentEvidence,
  absentEvidence,
  describeAbsent,
  dueIn,
  findEvidence,
} from '../gate/evidence/find.js'
import { type ErasureScope, eraseEvidence } from '../gate/operate/erase.js'
import { shown } from '../mounts/admin/routes/evidence.js'
import { type AdminTarget, adminOptions, callAdmin, namesGate } from './access/admin-client.js'
import { type Folder, folderOptions, type OpenedFolder, withData } from './access/data-folder.js'
import { EXIT, plain, printError, printResult, UsageError } from './output/print.js'

type Options = AdminTarget & Folder
const MASTER_KEY = 'evidence key (default: as in gate.yaml, or in the data folder)'
const ASK = 'ask it with --url and --token-file'
type Shown = {
  action_id: string
  parts: readonly ReturnType<typeof shown>[]
  absent: readonly AbsentEvidence[]
}

const HELP = `
With --url, --token-file or their variables the running gate is asked (roles: auditor or operator to
show, operator to erase); otherwise the data folder is opened, which a running gate does not allow.`

export function register(program: Command): void {
  const evidence = program.command('evidence').description('the private side of the record')
  const add = (name: string, description: string): Command =>
    folderOptions(adminOptions(evidence.command(name).description(description)))
      .option(
        '--head <file>',
        'second head of the journal (default: as in gate.yaml, or DATA.head)',
      )
      .option('--master-key <file>', MASTER_KEY)
      .option('--json', 'print JSON')
      .addHelpText('after', HELP)

  add('show', 'decrypt the private record of an action')
    .argument('<id>', 'an action_id, or the evidence_digest of a line')
    .option('--external-auditor', 'also what restricted declarations say; not with --url')
    .action(async (id: string, options: Options & { externalAuditor?: boolean }) => {
      const { externalAuditor = false } = options
      if (externalAuditor && namesGate(options)) {
        throw new UsageError('--external-auditor reads the folder; a running gate has /v1/intents')
      }
      const path = `/v1/evidence/${encodeURIComponent(id)}`
      const found = namesGate(options)
        ? await callAdmin<Shown>(options, 'GET', path)
        : await withData(options, ASK, (data) =>
            fromFolder(data, options.data, id, externalAuditor),
          )
      printResult(options, found, () => describe(found))
    })

  add('erase', 'destroy the key of private records, for good')
    .option('--subject <name>', 'everything sealed for this subject')
    .option('--operator <name>', 'with --day: what was sealed for an operator on a day')
    .option('--day <date>', 'YYYY-MM-DD, UTC')
    .option('--yes', 'do not ask')
    .action(async (options: Options & Scope & { yes?: boolean }) => {
      const scope = scopeOf(options)
      if (options.yes !== true && !(await confirmed(scope))) {
        printError('nothing was erased')
        process.exitCode = EXIT.failed
        return
      }
      const by = `cli:${userInfo().username}`
      const done = namesGate(options)
        ? await callAdmin<{ records: number }>(options, 'POST', '/v1/evidence/erase', scope)
        : await withData(options, ASK, (data) => eraseEvidence(scope, by, data))
      const { records } = done
      printResult(
        options,
        done,
        () => `${records} records went dark; their digests stay and verify`,
      )
    })
}

type Scope = { subject?: string; operator?: string; day?: string }

function scopeOf({ subject, operator, day }: Scope): ErasureScope {
  if (subject !== undefined && operator === undefined && day === undefined) return { subject }
  if (subject !== undefined || operator === undefined || day === undefined) {
    throw new UsageError('say --subject NAME, or --operator NAME with --day YYYY-MM-DD')
  }
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || Number.isNaN(Date.parse(day))) {
    throw new UsageError(`${day} is not a day: YYYY-MM-DD`)
  }
  return { operator, day }
}

async function confirmed(scope: ErasureScope): Promise<boolean> {
  if (process.stdin.isTTY !== true) {
    throw new UsageError('erasing cannot be undone: add --yes where nobody can be asked')
  }
  const what = 'subject' in scope ? `subject ${scope.subject}` : `${scope.operator}, ${scope.day}`
  const ask = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await ask.question(`Erase the evidence of ${plain(what)} for good? (type yes) `)
  ask.close()
  return answer.trim() === 'yes'
}

async function fromFolder(
  data: OpenedFolder,
  folder: string,
  action_id: string,
  all: boolean,
): Promise<Shown> {
  const found = await findEvidence(action_id, data.evidence)
  if (found.state === 'damaged') throw new Error(`the evidence is damaged: ${found.detail}`)
  const erasures = createErasures()
  const due: EvidenceDigest[] = []
  const from = await firstLine(join(folder, 'journal'))
  for await (const raw of data.journal.lines(from)) {
    const line = readLine(raw)
    if (line === null) continue
    erasures.add(line)
    due.push(...dueIn(line, action_id))
  }
  const absent = await absentEvidence(due, data.evidence, erasures.of)
  if (found.state !== 'present') throw new Error(describeAbsent(action_id, absent))
  return { action_id, parts: found.value.map((part) => shown(part, all)), absent }
}

const describe = ({ action_id, parts, absent }: Shown): string[] => [
  plain(action_id),
  ...parts.flatMap(({ kind, name, digest, value, bytes, withheld }) => {
    const text = bytes === undefined ? JSON.stringify(value ?? null, null, 2) : `base64 ${bytes}`
    const less =
      withheld === undefined ? [] : [`  withheld (restricted): ${plain(withheld.join(', '))}`]
    return [
      `${plain(kind)}${name === null ? '' : ` ${plain(name)}`}  ${digest}`,
      ...text.split('\n').map((line) => `  ${plain(line)}`),
      ...less,
    ]
  }),
  ...absent.map(({ member, digest, state, line }) => {
    const by = line === null ? '' : ` by line ${line.seq} of ${plain(line.at)}`
    return `${state}${by}  ${plain(member)}  ${digest}`
  }),
]
