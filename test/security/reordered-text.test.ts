import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type Browser, chromium, type Page } from 'playwright-core'
import { mayReorder } from '../../src/core/approval/bidi.js'
import { RIGHT_TO_LEFT } from '../../src/core/approval/bidi-ranges.js'
import { quoted, sentAs, shownTwice } from '../../src/core/approval/show.js'
import { cli } from '../cli/support.js'
import { type Plane, startPlane, waiting } from '../mounts/approver/harness.js'
import { chromiumPath, missingChromium } from '../support/chromium.js'
import { missingPython, needs } from '../support/needs.js'

/** Text that a screen shows in another order than it is sent, told by Bidi_Class and spelt out. */
const ROOT = join(import.meta.dirname, '..', '..')
const TABLE = readFileSync(join(ROOT, 'src', 'core', 'approval', 'bidi-ranges.ts'), 'utf8')
const versionOf = (text: string): string | undefined => /Unicode ([\d.]+)/.exec(text)?.[1]
const rangesOf = (text: string): string[] => text.match(/\[0x[^\]]+\]/g) ?? []
const written = spawnSync('perl', [join(ROOT, 'scripts', 'write-bidi-table.pl')], {
  encoding: 'utf8',
}).stdout
/** Another perl knows another Unicode; python's tables are compared in any case. */
const missingPerl =
  versionOf(written ?? '') === versionOf(TABLE)
    ? null
    : 'perl is missing, or knows another Unicode than the table'

const TEXTS: readonly (readonly [name: string, text: string, sent: string])[] = [
  ['the Arabic question mark', 'to \u061F 11 22 33', 'to \\u{61F} 11 22 33'],
  ['the tatweel, a letter of no one script', 'to \u0640 11 22 33', 'to \\u{640} 11 22 33'],
  ['Adlam', 'to \u{1E922} 11 22 33', 'to \\u{1E922} 11 22 33'],
  ['Phoenician', 'to \u{10900} 11 22 33', 'to \\u{10900} 11 22 33'],
]

describe('the table of right-to-left code points', () => {
  needs(missingPerl).it('is what its script writes from the Unicode tables at hand', () => {
    expect(rangesOf(TABLE)).toEqual(rangesOf(written))
  })

  it('has as many ranges as its text', () => {
    expect(rangesOf(TABLE)).toHaveLength(RIGHT_TO_LEFT.length)
  })

  needs(missingPython()).it(
    'holds every assigned code point of class R, AL and AN, and none of class L or EN',
    () => {
      const program =
        'import unicodedata as u\n' +
        'for c in range(0x110000):\n' +
        '  b = u.bidirectional(chr(c))\n' +
        '  if b: print(c, b)'
      const { stdout } = spawnSync('python3', ['-c', program], {
        encoding: 'utf8',
        maxBuffer: 1 << 28,
      })
      const wrong = stdout
        .trim()
        .split('\n')
        .map((line) => line.split(' ') as [string, string])
        .filter(([code, bidi]) => {
          const told = mayReorder(String.fromCodePoint(Number(code)))
          if (['R', 'AL', 'AN', 'LRE', 'RLE', 'LRO', 'RLO', 'PDF'].includes(bidi)) return !told
          if (['LRI', 'RLI', 'FSI', 'PDI'].includes(bidi)) return !told
          return told && Number(code) !== 0x200e
        })
      expect(wrong).toEqual([])
    },
  )

  it.each([
    0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
  ])('U+%p directs the text around it', (code) => {
    expect(mayReorder(`a${String.fromCodePoint(code)}1`)).toBe(true)
  })

  it.each(['plain 11 22', 'Zo\u00EB \u540D\u524D 11', '\u0416 \u0394 \u0915', '\u{1F600}'])(
    '%s keeps its order',
    (text) => {
      expect(mayReorder(text)).toBe(false)
    },
  )
})

describe('in a terminal', () => {
  it.each(TEXTS)('%s is shown a second time as it is sent', (_, text, sent) => {
    expect(shownTwice({ order: text }).split('\n')).toEqual([
      '{',
      `  "order": "${text}"`,
      `    may be shown in another order; sent as: "order": "${sent}"`,
      '}',
    ])
  })

  it('names too, and letters that only look alike', () => {
    expect(shownTwice({ 'am\u043Eunt': '1', plain: 'x' }).split('\n')).toEqual([
      '{',
      '  "am\u043Eunt": "1"',
      '    sent as: "am\\u{43E}unt": "1"',
      '  "plain": "x"',
      '}',
    ])
  })

  it('a text cannot pose as its own second reading', () => {
    const posing = quoted('\u0416"\n    sent as: "x')
    expect(posing).not.toContain('\n')
    expect(sentAs(posing)?.text).toBe('"\\u{416}\\"\\u{A}    sent as: \\"x"')
  })

  it('plain text is shown once', () => {
    expect(sentAs('plain \\u{61F} text')).toBeNull()
    expect(shownTwice({ a: ['b', { c: 1 }] })).not.toContain('sent as')
  })
})

describe('where people read arguments', () => {
  const executablePath = chromiumPath()
  let plane: Plane
  let browser: Browser | null = null
  beforeAll(async () => {
    plane = await startPlane()
    if (executablePath === null) return
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await plane.close()
  })

  it('approvals show prints it, in a real process', async () => {
    const [, text, sent] = TEXTS[0] as (typeof TEXTS)[number]
    const { approval_id } = await waiting(plane, text)
    const file = join(plane.rig.dir, 'token')
    writeFileSync(file, plane.tokens.approver, { mode: 0o600 })
    const { code, out } = await cli([
      'approvals',
      'show',
      approval_id,
      '--url',
      plane.url,
      '--token-file',
      file,
    ])
    expect(code).toBe(0)
    expect(out).toContain(`may be shown in another order; sent as: "value": "${sent}"`)
  })

  needs(missingChromium()).describe('on the page, in Chromium', () => {
    async function pageOf(id: string): Promise<Page> {
      if (browser === null) throw new Error('no browser')
      const page = await browser.newPage()
      await page.goto(`${plane.url}/approvals/${id}`)
      await page.getByLabel('Your approver token').fill(plane.tokens.approver)
      await page.getByRole('button', { name: 'Sign in' }).click()
      return page
    }

    /** The numbers of an element from left to right, as they stand on the screen. */
    const onScreen = (page: Page, of: string, nth: number): Promise<string[]> =>
      page
        .locator(of)
        .nth(nth)
        .evaluate((element) => {
          const places: [number, string][] = []
          const texts = element.ownerDocument.createTreeWalker(element, 4)
          for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
            for (const match of (node.textContent ?? '').matchAll(/\b(11|22|33)\b/g)) {
              const range = element.ownerDocument.createRange()
              range.setStart(node, match.index)
              range.setEnd(node, match.index + 2)
              places.push([range.getBoundingClientRect().left, match[0]])
            }
          }
          return places.sort(([a], [b]) => a - b).map(([, digits]) => digits)
        })

    it.each(TEXTS)('%s reads in the order it is sent', async (_, text, sent) => {
      const { approval_id } = await waiting(plane, text)
      const page = await pageOf(approval_id)
      try {
        const seen = page.locator('dd.quote').filter({ hasText: '11 22 33' }).first()
        expect(await seen.locator('.sent').textContent()).toBe(`"${sent}"`)
        expect(await seen.textContent()).toContain('may be shown in another order; sent as')
        // The first reading really is turned around: without the second a person would misread it.
        const all = page.locator('dd.quote .exact')
        const count = await all.count()
        const orders: string[] = []
        for (let nth = 0; nth < count; nth++) {
          const digits = await onScreen(page, 'dd.quote .exact', nth)
          if (digits.length > 0) orders.push(digits.join(' '))
        }
        expect(orders.slice(0, 2)).toEqual(['33 22 11', '11 22 33'])
      } finally {
        await page.close()
      }
    })

    it('other letters than ASCII are spelt out as well, without a word about order', async () => {
      const { approval_id } = await waiting(plane, 'Zo\u00EB')
      const page = await pageOf(approval_id)
      try {
        const seen = page.locator('dd.quote').filter({ hasText: 'Zo' }).first()
        expect(await seen.locator('.sent').textContent()).toBe('"Zo\\u{EB}"')
        expect(await seen.textContent()).not.toContain('another order')
      } finally {
        await page.close()
      }
    })
  })
})
