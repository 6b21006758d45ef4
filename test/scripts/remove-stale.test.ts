import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from '@jest/globals'

/** The build leaves nothing in dist that has no source. */
const { removeStale } = (await import('../../scripts/remove-stale.mjs' as string)) as {
  removeStale(dist: string, src: string): void
}

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'remove-stale-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
}
const left = (): string[] =>
  readdirSync(join(root, 'dist'), { recursive: true, encoding: 'utf8' }).sort()
const run = (): void => removeStale(join(root, 'dist'), join(root, 'src'))

it('removes files and folders without a source, and nothing else', () => {
  write('src/a.ts', 'src/new/b.ts')
  write('dist/a.js', 'dist/a.js.map', 'dist/a.d.ts', 'dist/new/b.js')
  write('dist/b.js', 'dist/b.js.map', 'dist/b.d.ts', 'dist/old/c/d.js', 'dist/new/gone.d.ts')
  run()
  expect(left()).toEqual(['a.d.ts', 'a.js', 'a.js.map', 'new', 'new/b.js'])
})

it('has nothing to do before the first build', () => {
  expect(run).not.toThrow()
})
