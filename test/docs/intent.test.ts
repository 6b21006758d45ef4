import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { gateJsonSchema } from '../../src/config/schema.js'
import { LINES } from '../../src/core/journal/vocabulary.js'
import { idpCode } from '../../src/core/verdict/idp.js'
import { TABLE } from '../../src/core/verdict/table.js'
import { needs } from '../support/needs.js'

/** docs/intent.md: what it names is there, and no MUST of the text is without its test. */
const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const PAGE = read('docs/intent.md')
const SEED = join(ROOT, '..', 'shared/seeds/intent-declaration-primitive-01.txt')
const section = (title: string): string =>
  PAGE.split(/^##+ /m).find((part) => part.startsWith(`${title}\n`)) ?? ''
const cells = (row: string): string[] => row.split(' | ').map((cell) => cell.trim())
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => cells(row)).slice(1)

type Must = { readonly of: string; readonly text: string; readonly tests: string }
const MUSTS: readonly Must[] = rows(section('Each MUST of the text')).map(
  ([of = '', text = '', , tests = '']) => ({ of, text, tests }),
)
const TESTS = MUSTS.flatMap(({ tests }) =>
  [...tests.matchAll(/`([^`]+)` “([^”]+)”/g)].map(([, file = '', title = '']) => [file, title]),
)

describe('the MUSTs of the text', () => {
  it('each have a test', () => {
    expect(MUSTS.length).toBeGreaterThan(60)
    expect(MUSTS.filter(({ tests }) => !/`[^`]+` “[^”]+”/.test(tests))).toEqual([])
  })

  it('name tests that are there', () => {
    const titles = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '')
    const gone = TESTS.filter(([file = '', title = '']) => {
      const path = join(ROOT, 'test', file)
      return !['it', 'it.each', "['"].some(() => titles(path).includes(`'${title}'`))
    })
    expect(gone).toEqual([])
  })

  const { it: where } = needs(existsSync(SEED) ? null : 'the text is missing')
  where('are all of them, word by word', () => {
    const text = existsSync(SEED) ? readFileSync(SEED, 'utf8') : ''
    const parts = text.split(/^(\d+(?:\.\d+)*)\. {2}(?=[A-Z])/m).slice(1)
    const missing: string[] = []
    for (let at = 0; at < parts.length; at += 2) {
      const [of = '', raw = ''] = [parts[at], parts[at + 1]]
      // Section 2 says what the word means.
      if (of === '2') continue
      const body = raw.replaceAll(/\n +; /g, ' ').replaceAll(/\s+/g, ' ')
      const told = MUSTS.filter((must) => must.of === of)
      for (const must of told) {
        if (!body.includes(must.text)) missing.push(`${of}, not in the text: ${must.text}`)
      }
      const covered = told.flatMap((must) => {
        const from = body.indexOf(must.text)
        return [...must.text.matchAll(/\bMUST\b/g)].map(({ index }) => from + index)
      })
      for (const { index } of body.matchAll(/\bMUST\b/g)) {
        const times = covered.filter((place) => place === index).length
        if (times !== 1) missing.push(`${of}, ${times} rows: ${body.slice(index - 60, index + 60)}`)
      }
    }
    expect(parts.length).toBeGreaterThan(60)
    expect(missing).toEqual([])
  })
})

describe('docs/intent.md names what is there', () => {
  const named = [...PAGE.matchAll(/`([^`\n]+)`/g)].map(([, word = '']) => word)

  it('rows of the verdict table, with their codes and status', () => {
    const told = rows(section('Reading a refusal')).filter(([, , status = '']) =>
      /^\d+$/.test(status),
    )
    expect(told.length).toBeGreaterThan(10)
    for (const [names = '', codes = '', status] of told) {
      const words = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
      const given = words.map((name) => idpCode(name, 'URN'))
      expect([names, [...new Set(given)].join(', ')]).toEqual([names, codes.replaceAll('`', '')])
      for (const name of words) {
        expect([name, TABLE[name as keyof typeof TABLE].status]).toEqual([name, Number(status)])
      }
    }
  })

  it('every row that a declaration can end in', () => {
    const rowsOf = Object.keys(TABLE).filter((name) =>
      /^(intent|mandate|session|object|mission|cross)_/.test(name),
    )
    expect(rowsOf.length).toBeGreaterThan(15)
    const elsewhere = [
      'session_escalated',
      'session_unattended',
      'session_resumed',
      'session_ended',
    ]
    expect(rowsOf.filter((name) => !named.includes(name) && !elsewhere.includes(name))).toEqual([])
  })

  it('types of lines', () => {
    const lines = rows(section('For the auditor')).flatMap(([first = '']) =>
      [...first.matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, type = '']) => type),
    )
    expect(lines.length).toBeGreaterThan(10)
    expect(lines.filter((type) => !Object.hasOwn(LINES, type))).toEqual([])
    const intents = Object.keys(LINES).filter((type) =>
      /^(IDP|SESSION|MANDATE|MISSION|OBJECT|STATE|CEDAR|ACTION_RESULT)_/.test(type),
    )
    expect(intents.filter((type) => !named.includes(type))).toEqual([])
  })

  it('keys of gate.yaml', () => {
    type Node = {
      readonly properties?: { readonly [key: string]: Node }
      readonly default?: unknown
    }
    const keys = rows(section('For the platform engineer')).map(([key = '']) =>
      key.replaceAll('`', ''),
    )
    const found = keys.map((key) =>
      key
        .split('.')
        .reduce<Node | undefined>(
          (node, part) => node?.properties?.[part],
          gateJsonSchema() as Node,
        ),
    )
    expect(keys.length).toBeGreaterThan(6)
    expect(keys.filter((_, index) => found[index] === undefined)).toEqual([])
  })

  it('keys of a mandate and of a manifest', () => {
    const claims = rows(section('What a mandate holds')).flatMap(([names = '']) =>
      [...names.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
    )
    const reader = ['mandate-claims', 'mandate', 'jwt'].map((name) =>
      read(`src/adapters/identity/${name}.ts`),
    )
    const told = `${reader.join('')}${read('src/config/issuers.ts')}`
    expect(claims.length).toBeGreaterThan(10)
    expect(claims.filter((name) => !told.includes(`'${name}'`) && !told.includes(name))).toEqual([])
    for (const key of ['intent', 'thin', 'cross_principal', 'object']) {
      expect(read('docs/manifest.md')).toContain(`| \`${key}\` |`)
    }
  })
})
