import { userInfo } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { firstLine } from '../adapters/journal/segments.js'
import type { Data } from '../app/data/open.js'
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
import { type AdminTarget, adminOptions, callAdmin, namesGate } from './admin-client.js'
import { type Folder, folderOptions, withData } from './data-folder.js'
import { EXIT, plain, print, printJson, UsageError } from './output.js'

type Options = AdminTarget & Folder & { json?: boolean }
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
  const common = (command: Command): Command =>
    folderOptions(adminOptions(command))
      .option(
        '--head <file>',
        'second head of the journal (default: as in gate.yaml, or DATA.head)',
      )
      .option(
        '--master-key <file>',
        'evidence key (default: as in gate.yaml, or in the data folder)',
      )
      .option('--json', 'print JSON')
      .addHelpText('after', HELP)

  common(evidence.command('show').description('decrypt the private record of an action'))
    .argument('<id>', 'an action_id, or the evidence_digest of a line')
    .action(async (id: string, options: Options) => {
      const path = `/v1/evidence/${encodeURIComponent(id)}`
      const found = namesGate(options)
        ? await callAdmin<Shown>(options, 'GET', path)
        : await withData(options, ASK, (data) => fromFolder(data, options.data, id))
      if (options.json === true) printJson(found)
      else show(found)
    })

  common(evidence.command('erase').description('destroy the key of private records, for good'))
    .option('--subject <name>', 'everything sealed for this subject')
    .option('--operator <name>', 'with --day: what was sealed for an operator on a day')
    .option('--day <date>', 'YYYY-MM-DD, UTC')
    .option('--yes', 'do not ask')
    .action(async (options: Options & Scope & { yes?: boolean }) => {
      const scope = scopeOf(options)
      if (options.yes !== true && !(await confirmed(scope))) {
        process.stderr.write('nothing was erased\n')
        process.exitCode = EXIT.failed
        return
      }
      const done = namesGate(options)
        ? await callAdmin<{ records: number }>(options, 'POST', '/v1/evidence/erase', scope)
        : await withData(options, ASK, (data) =>
            eraseEvidence(scope, `cli:${userInfo().username}`, data),
          )
      if (options.json === true) printJson(done)
      else print(`${done.records} records went dark; their digests stay and verify`)
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

async function fromFolder(data: Data, folder: string, action_id: string): Promise<Shown> {
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
  return { action_id, parts: found.value.map(shown), absent }
}

function show({ action_id, parts, absent }: Shown): void {
  print(plain(action_id))
  for (const { kind, name, digest, value, bytes } of parts) {
    print(`${plain(kind)}${name === null ? '' : ` ${plain(name)}`}  ${digest}`)
    const text = bytes === undefined ? JSON.stringify(value, null, 2) : `base64 ${bytes}`
    for (const line of text.split('\n')) print(`  ${plain(line)}`)
  }
  for (const { member, digest, state, line } of absent) {
    const by = line === null ? '' : ` by line ${line.seq} of ${plain(line.at)}`
    print(`${state}${by}  ${plain(member)}  ${digest}`)
  }
}
