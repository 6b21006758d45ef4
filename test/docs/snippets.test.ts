import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** Snippets are cut from files that run; a page that drifts from them is wrong. */
const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGES = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** A whole file, or what stands between `// #region name` and its end, without the common indent. */
function source(place: string): string {
  const [path = '', region] = place.split('#')
  const text = read(path)
  if (region === undefined) return text
  const [, indent = '', body = ''] =
    new RegExp(`^( *)// #region ${region}\\n([\\s\\S]*?)\\n *// #endregion ${region}$`, 'm').exec(
      text,
    ) ?? []
  expect({ place, found: body !== '' }).toEqual({ place, found: true })
  return `${body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')}\n`
}

const marked = PAGES.flatMap((page) =>
  [...read(page).matchAll(/<!-- from: (.+) -->\n```\w+\n([\s\S]*?)```/g)].map(
    ([, place = '', text = '']) => ({ page, place, text }),
  ),
)

describe('snippets', () => {
  it.each(marked.map((one) => [one.page, one.place, one.text] as const))(
    '%s shows %s as it is',
    (_page, place, text) => {
      expect(text).toBe(source(place))
    },
  )

  it('README has no code that is not cut from a file', () => {
    const code = [...read('README.md').matchAll(/(<!-- .+ -->\n)?```(ya?ml|cedar|m?js|ts|json)\n/g)]
    expect(code.length).toBeGreaterThan(0)
    for (const [block, mark] of code)
      expect({ block, marked: mark !== undefined }).toEqual({ block, marked: true })
  })

  it('every marker is followed by its block', () => {
    const markers = PAGES.flatMap((page) => read(page).match(/<!-- from: /g) ?? [])
    expect(marked).toHaveLength(markers.length)
  })

  it('every relative link leads to a file', () => {
    const dead = PAGES.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(ROOT, page, '..', target)))
        .map((target) => `${page} → ${target}`),
    )
    expect(dead).toEqual([])
  })
})
