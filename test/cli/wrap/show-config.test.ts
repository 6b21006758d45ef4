import { describe, expect, it } from '@jest/globals'
import { cli } from '../support.js'

describe('wrap --show-config', () => {
  it('names files by their whole path, because clients start in folders of their own', async () => {
    const files = ['--config', 'gate.yaml', '--data', 'records', '--agent', 'bot']
    const args = ['wrap', ...files, '--show-config', 'cursor', '--', 'node', 'server.mjs']
    const { code, out } = await cli(args, { cwd: '/usr' })
    expect(code).toBe(0)
    expect(JSON.parse(out).mcpServers.server.args).toEqual([
      ...['-y', 'capsule-gate', 'wrap', '--config', '/usr/gate.yaml', '--data', '/usr/records'],
      ...['--agent', 'bot', '--', 'node', 'server.mjs'],
    ])
  })

  it('quotes what a shell would take apart, and leaves itself out', async () => {
    const args = ['wrap', '--name', 'x', '--show-config=claude-code', '--', 'run', "it's", 'a b']
    const { out } = await cli(args)
    expect(out).toBe(
      `claude mcp add x -- npx -y capsule-gate wrap --name x -- run 'it'\\''s' 'a b'\n`,
    )
  })

  it('starts nothing and refuses a client that it does not know', async () => {
    const { code, err } = await cli(['wrap', '--show-config', 'emacs', '--', 'node'])
    expect(code).not.toBe(0)
    expect(err).toContain('claude-desktop, claude-code, cursor, vscode')
  })
})
