import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { loadJudges } from '../../../src/app/judges/load.js'
import { loadManifests } from '../../../src/config/load-manifests.js'
import { isMcpMatch } from '../../../src/core/manifest/model.js'
import type { PolicyRequest } from '../../../src/ports/policy.js'
import { manifestOf } from '../../support/manifests.js'
import { cli } from '../support.js'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'capsule-gate-import-test-'))
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const SERVERS = join(import.meta.dirname, '../../../node_modules/@modelcontextprotocol')
const EVERYTHING = [join(SERVERS, 'server-everything/dist/index.js')]
const FILESYSTEM = [join(SERVERS, 'server-filesystem/dist/index.js'), tmpdir()]
const MODERN = [join(import.meta.dirname, 'modern-server.mjs')]
const scripted = (way: string) => [join(import.meta.dirname, 'scripted-server.mjs'), way]

const importing = (server: readonly string[], more: readonly string[] = []) =>
  cli(['tools', 'import', '--name', 'srv', ...more, '--', process.execPath, ...server], {
    cwd: dir,
  })
const written = () => manifestOf(readFileSync(join(dir, 'manifests/srv.yaml'), 'utf8'))
const toolsOf = () =>
  written().rules.map(({ match }) => (isMcpMatch(match) && 'tool' in match ? match.tool : null))

/** As an unmodified client lists them. */
async function listed(server: readonly string[]): Promise<readonly string[]> {
  const capabilities = { roots: {}, sampling: {}, elicitation: {} }
  const client = new Client({ name: 'peer', version: '1' }, { capabilities })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...server],
    stderr: 'ignore',
  })
  await client.connect(transport)
  const { tools } = await client.listTools()
  await client.close()
  return tools.map(({ name }) => name)
}

describe('tools import from a real server', () => {
  it('server-filesystem: every tool, with policies that let read and ask about writing', async () => {
    const { code, out, err } = await importing(FILESYSTEM, ['--agent', 'bot'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toContain('14 tools; not carried over:')
    expect(out).toContain('srv.edit_file: /edits: read whole; what is in it (properties, required)')
    expect(toolsOf()).toEqual(await listed(FILESYSTEM))

    const checked = await cli(['manifest', 'check', '--dir', 'manifests'], { cwd: dir })
    expect({ code: checked.code, err: checked.err }).toEqual({ code: 0, err: '' })
    expect(checked.out).toContain('14 tools, 3 tests passed')

    const loaded = loadManifests(join(dir, 'manifests'))
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
    const judges = await loadJudges({
      ...{ operator: 'acme', mode: 'enforce', manifests: loaded.manifests },
      policyFolder: join(dir, 'policies'),
    })
    if (!judges.ok) throw new Error(judges.problems.join('\n'))
    const { policy } = judges.judges
    const decide = (tool: string, args: PolicyRequest['args'], principal = 'bot') =>
      policy.decide({
        ...{ principal, roles: [], developer: 'acme', action: `srv.${tool}` },
        ...{ resource: `srv.${tool}`, irreversibility: 'two_way', args },
        approval: { granted: false },
      }).kind
    expect(decide('read_text_file', { path: '/a' })).toBe('permit')
    expect(decide('create_directory', { path: '/a' })).toBe('permit')
    expect(decide('write_file', { path: '/a', content: 'x' })).toBe('ask')
    expect(decide('read_text_file', { path: '/a' }, 'other')).toBe('deny')
  })

  it('server-everything: tools that come after the handshake too', async () => {
    const { code, out, err } = await importing(EVERYTHING, ['--json'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const said = JSON.parse(out)
    expect(said.files).toEqual(['manifests/srv.yaml', 'policies/srv.cedar'])
    expect(said.lossy).toContain('srv.gzip-file-as-resource: /data: format uri is not checked')
    for (const name of await listed(EVERYTHING)) expect(toolsOf()).toContain(name)
    expect(toolsOf()).toEqual(
      expect.arrayContaining(['trigger-sampling-request', 'trigger-elicitation-request']),
    )
    const rule = written().rules.find(({ tool }) => tool === 'srv.get-resource-links')
    expect(rule?.args).toEqual({
      count_arg: { type: 'decimal', optional: true, from: { in: 'body', pointer: '/count' } },
    })
    const checked = await cli(['manifest', 'check', '--dir', 'manifests'], { cwd: dir })
    expect(checked.code).toBe(0)
  })

  it('one of 2026-07-28 that refuses initialize', async () => {
    const { code, out, err } = await importing(MODERN, ['--pin', '--json'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const { tools } = JSON.parse(out)
    expect(tools).toEqual([
      {
        tool: 'srv.add',
        match: { server: 'srv', tool: 'add' },
        irreversibility: 'two_way',
        definition: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    ])
    expect(written().rules[0]?.definition).toBe(tools[0].definition)
  })
})

describe('tools import from a server that', () => {
  it('has pages: takes all', async () => {
    expect((await importing(scripted('pages'))).code).toBe(0)
    expect(toolsOf()).toEqual(['t0', 't1', 't2', 't3'])
  })

  it('changes its list meanwhile: takes the list after', async () => {
    expect((await importing(scripted('changes'))).code).toBe(0)
    expect(toolsOf()).toEqual(['early', 'late'])
  })

  it('asks its client while it is asked: gets an answer', async () => {
    expect((await importing(scripted('asks'))).code).toBe(0)
    expect(toolsOf()).toEqual(['{"roots":[]}_{}_-32601'])
  })

  it.each(['forges', 'twice', 'stays'])('%s: takes the one answer, and ends', async (way) => {
    expect((await importing(scripted(way))).code).toBe(0)
    expect(toolsOf()).toEqual(['only'])
  })

  it.each([
    ['neither', 'refuses initialize (not this) and server/discover (nor that)'],
    ['loops', 'the same page of its list again'],
    ['floods', 'a line of more than 16 MiB'],
    ['no-list', 'answered tools/list without a list'],
    ['refuses-list', 'refuses tools/list: out of order'],
    ['leaves', 'the server ended (exit code 3) before it had answered; it said:'],
  ])('%s: says so, exit 2, and writes nothing', async (way, said) => {
    const { code, err } = await importing(scripted(way))
    expect(err).toContain(said)
    expect(err).not.toContain('\n    at ')
    expect(err).not.toContain('\u001b')
    expect(code).toBe(2)
    expect(readdirSync(dir)).toEqual([])
  })

  it('is not there: says so', async () => {
    const { code, err } = await cli(
      ['tools', 'import', '--name', 'srv', '--', join(dir, 'no-such-server')],
      { cwd: dir },
    )
    expect(err).toContain('no-such-server cannot be started')
    expect(code).toBe(2)
  })
})

const LIST = {
  tools: [
    {
      name: 'send',
      inputSchema: {
        type: 'object',
        properties: { to: { type: 'string', enum: ['a', 'b'] } },
        required: ['to'],
        additionalProperties: false,
      },
    },
  ],
}

describe('tools import --from', () => {
  const from = (text: string, more: readonly string[] = []) => {
    writeFileSync(join(dir, 'list.json'), text)
    const args = ['tools', 'import', '--name', 'srv', 'out', '--from', 'list.json', ...more]
    return cli(args, { cwd: dir })
  }

  it.each([
    ['a result', JSON.stringify(LIST)],
    ['a whole response', JSON.stringify({ jsonrpc: '2.0', id: 1, result: LIST })],
  ])('reads %s and says what is next', async (_what, text) => {
    const { code, out, err } = await from(text)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toBe(`  out/manifests/srv.yaml
  out/policies/srv.cedar

  1 tool; not carried over: nothing

  next: read both files, then
    npx capsule-gate manifest check --dir out/manifests
`)
    expect(readFileSync(join(dir, 'out/manifests/srv.yaml'), 'utf8')).toBe(
      `# Drafted from what the server srv says of its own tools: read it before you use it.

id: com.example.srv
server: srv
tools:
  send:
    args:
      to: string
    irreversibility: one_way_consequential
    constraints:
      send_to: {to: {in: [a, b]}}
tests:
  - {tool: srv.send, args: {to: a}, expect: pass}
  - {tool: srv.send, args: {to: not-a}, expect: blocked}
`,
    )
    const policies = readFileSync(join(dir, 'out/policies/srv.cedar'), 'utf8')
    expect(policies).toContain('// Drafted from what')
    expect(policies).toContain('@id("ask.srv.send") @hem("required")')
  })

  it('reads stdin, and tells of pages that are missing', async () => {
    const { code, out } = await cli(['tools', 'import', '--name', 'srv', '--from', '-'], {
      cwd: dir,
      stdin: JSON.stringify({ ...LIST, nextCursor: 'x' }),
    })
    expect(code).toBe(0)
    expect(out).toContain('the list goes on (nextCursor)')
    expect(toolsOf()).toEqual(['send'])
  })

  it('overwrites with --force only, and then both files', async () => {
    mkdirSync(join(dir, 'out/policies'), { recursive: true })
    writeFileSync(join(dir, 'out/policies/srv.cedar'), 'mine')
    const refused = await from(JSON.stringify(LIST))
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('policies/srv.cedar is in')
    expect(refused.err).toContain('--force overwrites')
    expect(existsSync(join(dir, 'out/manifests'))).toBe(false)
    expect(readFileSync(join(dir, 'out/policies/srv.cedar'), 'utf8')).toBe('mine')
    expect((await from(JSON.stringify(LIST), ['--force'])).code).toBe(0)
    expect(readFileSync(join(dir, 'out/policies/srv.cedar'), 'utf8')).toContain('permit.srv.send')
  })

  it.each([
    ['no JSON', 'tools: []', 'not JSON'],
    ['a name twice', '{"tools":[],"tools":[]}', 'duplicate_name'],
    ['another result', '{"prompts":[]}', 'no result of tools/list'],
    ['a list of texts', '{"tools":["x"]}', 'no result of tools/list'],
    ['no tool', '{"tools":[]}', 'no tool is left to govern'],
    ['no tool that can be governed', '{"tools":[{"name":"a b"}]}', 'no inputSchema'],
  ])('refuses %s with exit 2, and writes nothing', async (_what, text, said) => {
    const { code, err } = await from(text)
    expect(err).toContain(said)
    expect(code).toBe(2)
    expect(existsSync(join(dir, 'out'))).toBe(false)
  })

  it.each([
    ['no name', ['--from', 'list.json'], '--name'],
    ['a name that no tool can have', ['--name', '7up', '--from', 'list.json'], '7up is no name'],
    ['no source', ['--name', 'srv'], 'name one source'],
    ['two sources', ['--name', 'srv', '--from', 'list.json', '--', 'true'], 'name one source'],
    ['a command without dashes', ['--name', 'srv', 'out', 'npx', 'server'], 'goes after --'],
    ['a wrong agent', ['--name', 'srv', '--from', 'list.json', '--agent', 'a"b'], 'no agent name'],
    ['a missing file', ['--name', 'srv', '--from', 'none.json'], 'cannot read none.json'],
  ])('refuses %s', async (_what, args, said) => {
    writeFileSync(join(dir, 'list.json'), JSON.stringify(LIST))
    const { code, err } = await cli(['tools', 'import', ...args], { cwd: dir })
    expect(err).toContain(said)
    expect(code).toBe(2)
    expect(readdirSync(dir)).toEqual(['list.json'])
  })
})
