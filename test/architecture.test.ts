import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/**
 * The house plan as a test: the first folder under src is the layer, and imports go one way.
 * core ← ports ← {gate ← mounts, adapters} ← config ← app ← cli; package entries stand on app.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: ['core'],
  ports: ['core', 'ports'],
  gate: ['core', 'ports', 'gate'],
  mounts: ['core', 'ports', 'gate', 'mounts'],
  adapters: ['core', 'ports', 'adapters'],
  config: ['core', 'ports', 'adapters', 'config'],
  app: ['core', 'ports', 'gate', 'mounts', 'adapters', 'config', 'app'],
  cli: [
    'core',
    'ports',
    'gate',
    'mounts',
    'adapters',
    'config',
    'app',
    'cli',
    'verify.ts',
    'cps.ts',
    'capseal.ts',
  ],
  'verify.ts': ['core'],
  'capsule.ts': ['core'],
  'cps.ts': ['core'],
  'capseal.ts': ['core'],
  'index.ts': ['core', 'gate', 'mounts', 'config', 'app'],
  'express.ts': ['mounts', 'app'],
}
const SRC = join(import.meta.dirname, '..', 'src')

/** `import … from 'x'`, `export … from 'x'`, `import 'x'` ending a line, and `import('x')`. */
const IMPORT =
  /^\s*(?:(?:import|export|\})[^'\n;]*\bfrom |import )'([^'\n]+)'$|\bimport\('([^'\n]+)'\)/gm

type Source = { path: string; layer: string; text: string; imports: string[] }

function sources(folder: string): Source[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return sources(path)
    if (!entry.name.endsWith('.ts')) return []
    const text = readFileSync(path, 'utf8')
    const imports = [...text.matchAll(IMPORT)].map((found) => (found[1] ?? found[2]) as string)
    return [{ path: relative(SRC, path), layer: layerOf(relative(SRC, path)), text, imports }]
  })
}
const layerOf = (path: string): string => path.split(sep)[0] as string
const all = sources(SRC)
const code = (text: string): string =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')

describe('layers', () => {
  it('knows every folder and file at the top of src', () => {
    expect([...new Set(all.map((s) => s.layer))].filter((layer) => !(layer in LAYERS))).toEqual([])
  })

  it('has no import that goes up', () => {
    const upward = all.flatMap((source) =>
      source.imports
        .filter((to) => to.startsWith('.'))
        .map((to) =>
          layerOf(relative(SRC, join(SRC, source.path, '..', to)).replace(/\.js$/, '.ts')),
        )
        .filter((to) => !LAYERS[source.layer]?.includes(to))
        .map((to) => `${source.path} → ${to}`),
    )
    expect(upward).toEqual([])
  })

  it('keeps adapters apart from each other', () => {
    const folder = (path: string): string => path.split(sep).slice(0, 2).join(sep)
    const across = all
      .filter((s) => s.layer === 'adapters')
      .flatMap((s) =>
        s.imports
          .filter((to) => to.startsWith('.'))
          .map((to) => relative(SRC, join(SRC, s.path, '..', to)))
          .filter((to) => layerOf(to) === 'adapters' && folder(to) !== folder(s.path))
          .filter((to) => to !== join('adapters', 'crypto-node.js'))
          .filter((to) => folder(to) !== join('adapters', 'disk'))
          .map((to) => `${s.path} → ${to}`),
      )
    expect(across).toEqual([])
  })
})

describe('mounts', () => {
  it('stand apart: what they share is in mounts/http; the approval pages belong to the admin plane', () => {
    const folder = (path: string): string => path.split(sep)[1] ?? ''
    const sharing: Readonly<Record<string, readonly string[]>> = {
      http: [],
      admin: ['http', 'approver'],
      approver: ['http', 'admin'],
    }
    const mayImport = (from: string, to: string): boolean =>
      from === to || (sharing[from] ?? ['http']).includes(to)
    const across = all
      .filter((s) => s.layer === 'mounts')
      .flatMap((s) =>
        s.imports
          .filter((to) => to.startsWith('.'))
          .map((to) => relative(SRC, join(SRC, s.path, '..', to)))
          .filter((to) => layerOf(to) === 'mounts')
          .filter((to) => !mayImport(folder(s.path), folder(to)))
          .map((to) => `${s.path} → ${to}`),
      )
    expect(across).toEqual([])
  })
})

describe('files', () => {
  it('are opened through adapters/disk; the Express mount only recognizes a file stream', () => {
    const direct = all.filter((s) => s.imports.some((to) => /^(?:node:)?fs(?:\/|$)/.test(to)))
    expect(direct.map((s) => s.path)).toEqual([
      join('adapters', 'disk', 'files.ts'),
      join('mounts', 'express', 'relayed.ts'),
    ])
  })
})

describe('core', () => {
  const PURE =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.|\bglobalThis\b|\bprocess\.|\bBuffer\b/
  const PACKAGES = /^(@noble\/|canonicalize$|re2js$|ajv)/

  it('has no clock, randomness or host globals; text.ts is the one door', () => {
    const impure = all
      .filter((s) => s.layer === 'core' && s.path !== join('core', 'bytes', 'text.ts'))
      .filter((s) => PURE.test(code(s.text)))
    expect(impure.map((s) => s.path)).toEqual([])
  })

  it('imports no Node module and no package beyond its few', () => {
    const foreign = all
      .filter((s) => s.layer === 'core')
      .flatMap((s) =>
        s.imports
          .filter((to) => !to.startsWith('.') && !PACKAGES.test(to))
          .map((to) => `${s.path} → ${to}`),
      )
    expect(foreign).toEqual([])
  })
})

describe('calls', () => {
  it('are told apart by kind in core/call and nowhere else', () => {
    const KINDS =
      /\bisHttp\b|\.kind\s*[!=]==?\s*'(?:http|function|mcp)'|\bcase '(?:http|function|mcp)'|\bkind === 'http'/
    const own = join('core', 'call')
    const elsewhere = all.filter((s) => !s.path.startsWith(own) && KINDS.test(code(s.text)))
    expect(elsewhere.map((s) => s.path)).toEqual([])
  })
})

describe('types', () => {
  const matching = (pattern: RegExp, of: (s: Source) => boolean = () => true): string[] =>
    all.filter((s) => of(s) && pattern.test(code(s.text))).map((s) => s.path)

  it('are never overruled by way of unknown', () => {
    expect(matching(/\bas unknown as\b/)).toEqual([])
  })

  it('of journal lines come from the vocabulary: no member of a line is cast', () => {
    expect(matching(/\bline\.\w+ as [A-Z{]|\.capsule as \w/)).toEqual([])
    expect(matching(/\bString\(line\./)).toEqual([])
  })

  it("of the gate end at the gate: its parts are the composition's, its data too", () => {
    const outside = (s: Source): boolean => ['mounts', 'index.ts', 'express.ts'].includes(s.layer)
    expect(matching(/\bgate\.parts\b|\bparts\b.*\bGate\b|\bgate\.data\b/, outside)).toEqual([])
    expect(matching(/\btenantSalt\b/, outside)).toEqual([])
    expect(matching(/\bgate\.parts\b/, (s) => s.layer === 'cli')).toEqual([])
  })
})

describe('witnesses', () => {
  /** Promise 3 and 4: the two constructors of trust are called where the thing was seen, and nowhere else. */
  const callers = (call: string | RegExp): string[] =>
    all
      .filter(
        (s) => code(s.text).search(call) !== -1 && !s.path.startsWith(join('core', 'capsule')),
      )
      .map((s) => s.path)

  it('lets only the rules of core/http and core/mcp make an observed response', () => {
    expect(callers('ObservedResponse.witness')).toEqual([
      join('core', 'http', 'witness.ts'),
      join('core', 'mcp', 'witness.ts'),
    ])
  })

  it('lets only what reads the messages of a server apply the rules of core/mcp', () => {
    const applying = callers(/(?<![.\w]|function )witnessMessage\(/)
    const allowed = [join('adapters', 'stdio'), join('adapters', 'http-client')]
    expect(applying.filter((path) => !allowed.some((folder) => path.startsWith(folder)))).toEqual(
      [],
    )
  })

  it('lets only the upstream adapter and the Express mount apply those rules', () => {
    const applying = callers(/(?<![.\w]|function )witness\(/).map((path) => join(path, '..'))
    expect(applying).toEqual([join('adapters', 'http-client'), join('mounts', 'express')])
  })

  it('lets one file write capsules', () => {
    const writers = ['buildCapsule(', 'buildOutcome(', 'capsuleEntry(', 'toSign('].flatMap((call) =>
      all.filter((s) => s.layer !== 'core' && code(s.text).includes(call)).map((s) => s.path),
    )
    expect([...new Set(writers)]).toEqual([join('gate', 'write-capsule.ts')])
  })

  it('lets only the decision entrance make a human decision', () => {
    const allowed = [join('gate', 'approval', 'decide', '/')]
    expect(
      callers('HumanDecision.authenticated').filter((p) => !allowed.some((a) => p.startsWith(a))),
    ).toEqual([])
  })
})
