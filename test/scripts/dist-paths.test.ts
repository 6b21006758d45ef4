import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'

/** Programs outside of src import the build by path, which no type check sees: what they name has a source. */
const ROOT = join(import.meta.dirname, '..', '..')
const NAMED = [
  /(?<!ajv\/)\bdist\/([\w./-]+)\.js/g,
  /\bload\(dist, '([\w./-]+)\.js'/g,
  /\$\{DIST\}\/([\w./-]+)\.js/g,
  /\bdist\('([\w./-]+)\.js'/g,
]

it('every file of dist that a program, bench, example or test names has a source', () => {
  const files = ['bench', 'examples', 'scripts', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:mjs|js|ts)$/.test(name) && !name.startsWith('scripts/'))
      .map((name) => join(folder, name)),
  )
  const named = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8')
    return NAMED.flatMap((pattern) => [...text.matchAll(pattern)]).map(([, path]) => ({
      file,
      path: `src/${path}.ts`,
    }))
  })
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(({ path }) => !existsSync(join(ROOT, path)))).toEqual([])
})
