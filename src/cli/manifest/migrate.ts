import { join } from 'node:path'
import { readdirSync, renameSync, writeFileSync } from '../../adapters/disk/files.js'
import { isManifestFile } from '../../config/load-manifests.js'
import { migrateManifest } from '../../config/migrate-manifest.js'
import type { ConfigProblem } from '../../config/model.js'
import { readText } from '../../config/read-text.js'
import { printProblems, printResult, UsageError } from '../output/print.js'

type Rewritten = { readonly file: string; readonly text: string; readonly tools: readonly string[] }

/** Every manifest of the folder as v2 that behaves as it did; all are written, or none. */
export function migrate(dir: string, options: { dryRun?: boolean; json?: boolean }): void {
  const rewritten: Rewritten[] = []
  const current: string[] = []
  const problems: ConfigProblem[] = []
  for (const file of manifestFiles(dir)) {
    const wrong = (message: string, way_out: string, line: number | null = null): void => {
      problems.push({ file, line, column: null, message, way_out })
    }
    const read = readText(join(dir, file))
    if (!read.ok) {
      wrong(read.message, read.way_out)
      continue
    }
    const migrated = migrateManifest(read.text, file.endsWith('.json'))
    if (migrated.kind === 'current') current.push(file)
    else if (migrated.kind === 'written') {
      rewritten.push({ file, text: migrated.text, tools: migrated.opened })
    } else for (const { message, way_out, line } of migrated.problems) wrong(message, way_out, line)
  }
  if (problems.length > 0) {
    printProblems(problems, options.json)
    return
  }
  const written = options.dryRun !== true
  if (written) for (const { file, text } of rewritten) replace(join(dir, file), text)
  const migrated = rewritten.map(({ file, tools }) => ({ file, tools }))
  printResult(options, { ok: true, written, migrated, current }, () => [
    ...rewritten.flatMap(({ file, text, tools }) =>
      written
        ? [`wrote  ${file}  ${tools.join(', ')}`]
        : [`would write  ${file}  ${tools.join(', ')}`, text],
    ),
    ...current.map((file) => `unchanged  ${file}`),
    ...(rewritten.length > 0 ? NEXT : []),
  ])
}

const NEXT = [
  'Each tool says `any` where it lets through what it does not read: narrow it, then',
  'run capsule-gate manifest check.',
]

function manifestFiles(dir: string): readonly string[] {
  let names: string[]
  try {
    names = readdirSync(dir).filter(isManifestFile).sort()
  } catch (error) {
    throw new UsageError(`${dir} cannot be read: ${(error as Error).message}`)
  }
  if (names.length === 0) throw new UsageError(`there is no manifest in ${dir}`)
  return names
}

function replace(path: string, text: string): void {
  writeFileSync(`${path}.migrating`, text)
  renameSync(`${path}.migrating`, path)
}
