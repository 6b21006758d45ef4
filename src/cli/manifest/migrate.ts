import { join } from 'node:path'
import { readdirSync, renameSync, writeFileSync } from '../../adapters/disk/files.js'
import { isManifestFile } from '../../config/load-manifests.js'
import { migrateManifest } from '../../config/migrate-manifest.js'
import type { ConfigProblem } from '../../config/model.js'
import { readText } from '../../config/read-text.js'
import { print, printJson, UsageError } from '../output.js'
import { reportProblems } from '../problems.js'

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
    reportProblems(problems, options.json === true)
    return
  }
  if (options.dryRun !== true) for (const one of rewritten) replace(dir, one)
  tell(rewritten, current, options)
}

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

function replace(dir: string, { file, text }: Rewritten): void {
  const path = join(dir, file)
  writeFileSync(`${path}.migrating`, text)
  renameSync(`${path}.migrating`, path)
}

function tell(
  rewritten: readonly Rewritten[],
  current: readonly string[],
  { dryRun, json }: { dryRun?: boolean; json?: boolean },
): void {
  if (json === true) {
    const files = rewritten.map(({ file, tools }) => ({ file, tools }))
    printJson({ ok: true, written: dryRun !== true, migrated: files, current })
    return
  }
  for (const { file, text, tools } of rewritten) {
    print(`${dryRun === true ? 'would write' : 'wrote'}  ${file}  ${tools.join(', ')}`)
    if (dryRun === true) print(text)
  }
  for (const file of current) print(`unchanged  ${file}`)
  if (rewritten.length > 0) {
    print('Each tool says `any` where it lets through what it does not read: narrow it, then')
    print('run capsule-gate manifest check.')
  }
}
