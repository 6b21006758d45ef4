import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../src/core/manifest/expand/expand.js'
import { cli } from '../cli/support.js'
import { manifestOf } from '../support/manifests.js'

const ROOT = join(import.meta.dirname, '..', '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const README = read('README.md')

async function run(
  command: string,
  args: readonly string[],
): Promise<{ code: number; out: string }> {
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, NO_COLOR: '1' } })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      out += chunk
    })
  }
  const [code] = await once(child, 'close')
  return { code, out }
}

/** Ids and ports differ from run to run; nothing else may. */
const steady = (text: string): string =>
  text.replace(/\b([0-9a-f]{12}|[0-9a-f]{64})\b/g, 'id').replace(/127\.0\.0\.1:\d+/g, 'loopback')

describe('README', () => {
  it('shows the output of the demo as it is', async () => {
    const [, shown = ''] = /<!-- output: .+ -->\n```text\n([\s\S]*?)```/.exec(README) ?? []
    const dir = await mkdtemp(join(tmpdir(), 'capsule-gate-readme-'))
    try {
      const { out } = await cli(['demo', '--once'], { cwd: dir })
      expect(steady(shown)).toBe(steady(out))
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })

  it('tells no command that the first-ten-minutes script or CI does not run', () => {
    const script = read('scripts/first-ten-minutes.sh')
    const byCi = ['npm ci', 'npm start']
    const told = [...README.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, text = '']) =>
      text.trimEnd().split('\n'),
    )
    expect(told.filter((line) => !byCi.includes(line) && !script.includes(line))).toEqual([])
    expect(JSON.parse(read('package.json')).scripts.start).toMatch(/main\.js demo$/)
  })

  it('leads a newcomer through: demo, own API, constraint, policy, verification', async () => {
    const { code, out } = await run('bash', ['scripts/first-ten-minutes.sh'])
    expect({ code, end: out.trimEnd().split('\n').at(-1) }).toEqual({
      code: 0,
      end: 'all of it worked',
    })
  }, 180_000)
})

describe('examples', () => {
  const examples = readdirSync(join(ROOT, 'examples')).filter((name) =>
    existsSync(join(ROOT, 'examples', name, 'run.mjs')),
  )
  it.each(examples)('%s runs, asserts and exits 0', async (name) => {
    const { code, out } = await run(process.execPath, [join('examples', name, 'run.mjs')])
    expect({ code, out: code === 0 ? '' : out }).toEqual({ code: 0, out: '' })
  })

  it.each([
    ['proxy', 'payments'],
    ['intent', 'booking'],
  ])('of %s has the manifest the package ships', (example, name) => {
    const digest = (path: string): string => manifestDigest(manifestOf(read(path)), nodeCrypto)
    const manifest = `manifests/${name}.yaml`
    expect(digest(join('examples', example, manifest))).toBe(digest(manifest))
  })

  it.each([
    ['proxy', 'payments'],
    ['intent', 'intent'],
  ])('of %s has the policies the package ships', (example, name) => {
    const policies = `policies/${name}.cedar`
    expect(read(join('examples', example, policies))).toBe(read(policies))
  })

  it('of intent prints what its page shows', async () => {
    const [, shown] = /```text\n([\s\S]*?)```/.exec(read('examples/intent/README.md')) ?? []
    const { out } = await run(process.execPath, [join('examples', 'intent', 'run.mjs')])
    expect(out).toBe(shown)
  })
})

describe('Dockerfile', () => {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ').split('\n')
  const of = (word: string): string[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))

  it('ends as a user who is not root, with pinned majors and a health check', () => {
    expect(of('USER')).toEqual(['node'])
    for (const from of of('FROM')) expect(from).toMatch(/^node:2[0-9]-slim\b/)
    expect(of('HEALTHCHECK')[0]).toContain('/livez')
    const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')))
    expect(last.filter((line) => /^(?:RUN|COPY).*npm/.test(line))).toEqual([])
    expect(lines.indexOf('USER node')).toBeLessThan(lines.findIndex((l) => l.startsWith('VOLUME')))
  })

  it('copies only what is there and what .dockerignore lets through', () => {
    const through = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const copied = of('COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1))
    expect(copied.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
    expect(copied.filter((path) => !through.includes(path))).toEqual([])
    expect(through.filter((path) => !copied.includes(path))).toEqual([])
  })

  it('writes nowhere but to its volume', () => {
    expect(of('ENV')).toContain('GATE_DATA_DIR=/data/records')
    expect(of('VOLUME')).toEqual(['/data'])
  })
})

describe('LICENSE', () => {
  it('is the Apache License 2.0 the package names', () => {
    const text = read('LICENSE')
    expect(text).toContain('Version 2.0, January 2004')
    expect(text).toContain('END OF TERMS AND CONDITIONS')
    expect(JSON.parse(read('package.json')).license).toBe('Apache-2.0')
  })
})
