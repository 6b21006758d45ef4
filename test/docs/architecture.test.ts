import { existsSync, readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** docs/architecture.md: its tour of one governed POST, its glossary, and every path it names. */
const ROOT = join(import.meta.dirname, '..', '..')
const PAGE = readFileSync(join(ROOT, 'docs', 'architecture.md'), 'utf8')
const [, TOUR = ''] = /<!-- tour -->([\s\S]*?)<!-- \/tour -->/.exec(PAGE) ?? []
const files = [...TOUR.matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(([, file]) => file as string)

const importsOf = (file: string): readonly string[] =>
  [...readFileSync(join(ROOT, 'src', file), 'utf8').matchAll(/ from '(\.[^']+)\.js'/g)].map(
    ([, to]) => `${normalize(join(file, '..', to as string))}.ts`,
  )

describe('the tour in docs/architecture.md', () => {
  it('has at most twenty files, each once', () => {
    expect(files.length).toBeGreaterThan(10)
    expect(files.length).toBeLessThanOrEqual(20)
    expect(new Set(files).size).toBe(files.length)
  })

  it.each(files.slice(1).map((file, index) => [file, index + 1] as const))(
    '%s is there, and follows from the files before it',
    (file, index) => {
      expect(existsSync(join(ROOT, 'src', file))).toBe(true)
      const before = files.slice(0, index)
      const importers = before.filter((earlier) => importsOf(earlier).includes(file))
      // An adapter is wired by the composition: it follows from the port that it implements.
      const ports = importsOf(file).filter((to) => to.startsWith('ports/') && before.includes(to))
      expect([...importers, ...(file.startsWith('adapters/') ? ports : [])]).not.toEqual([])
    },
  )
})

describe('docs/architecture.md', () => {
  it('has a glossary of twenty words', () => {
    const [, glossary = ''] = /## Twenty words\n([\s\S]*?)\n## /.exec(PAGE) ?? []
    expect(glossary.match(/^\| \*\*/gm)).toHaveLength(20)
  })

  it('names only files and folders that are there', () => {
    const named = [
      ...PAGE.matchAll(/`((?:core|ports|gate|mounts|adapters|config|app|cli)\/[^`]*)`/g),
    ]
      .map(([, path]) => path as string)
      .filter((path) => !/[{ ]/.test(path))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((path) => !existsSync(join(ROOT, 'src', path)))).toEqual([])
  })
})
