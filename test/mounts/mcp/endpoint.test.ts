import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { initialize, type McpStand, mcpStand, modern, OTHER, rpc } from './harness.js'

let stand: McpStand
beforeAll(async () => {
  stand = await mcpStand('limits: {mcp_sessions: {per_agent: 6}}')
}, 30_000)
afterAll(() => stand.close())

/** What an exchange left in the record: one capsule, and its verdict. */
async function recorded<T>(act: () => Promise<T>): Promise<{ got: T; verdicts: string[] }> {
  const before = (await stand.capsules()).length
  const got = await act()
  const verdicts = (await stand.capsules())
    .slice(before)
    .map(({ capsule }) => capsule.disposition.verdict_class)
  return { got, verdicts }
}
const call = (text: string) => {
  const given = modern('tools/call', { name: 'echo', arguments: { text } })
  return { ...given, headers: { ...given.headers, 'mcp-param-text': text } }
}

describe('a call over HTTP', () => {
  it('is executed, with the ids of its record and nothing that the server forged', async () => {
    const { got, verdicts } = await recorded(() => stand.send(call('hello')))
    expect(got.status).toBe(200)
    expect(verdicts).toEqual(['executed'])
    const [capsule] = (await stand.capsules()).slice(-1)
    expect(capsule?.capsule.effect?.status).toBe('confirmed')
    expect(got.json.result.content).toEqual([{ type: 'text', text: 'hello' }])
    expect(got.json.result._meta).toEqual({
      'io.modelcontextprotocol/x': 1,
      'dev.capsulegate/action': capsule?.capsule.action_id,
      'dev.capsulegate/capsule': capsule?.capsule.capsule_id,
      'dev.capsulegate/verdict': 'executed',
    })
  })

  it('is refused in words for the model, with the problem beside them', async () => {
    const { got, verdicts } = await recorded(() => stand.send(call('SHOUT')))
    expect(verdicts).toEqual(['blocked'])
    expect(got.json.result).toMatchObject({
      isError: true,
      resultType: 'complete',
      structuredContent: { code: 'constraint_failed', dispatched: false },
    })
  })

  it('of a tool without a rule is refused', async () => {
    const { got, verdicts } = await recorded(() =>
      stand.send(modern('tools/call', { name: 'secret', arguments: {} })),
    )
    expect(verdicts).toEqual(['denied'])
    expect(got.json.result.structuredContent.code).toBe('tool_unknown')
  })

  it('by a method that no rule names is refused as an error with a code of our own', async () => {
    const { got, verdicts } = await recorded(() =>
      stand.send(modern('resources/read', { uri: 'a:b' })),
    )
    expect(verdicts).toEqual(['denied'])
    expect(got.json.error).toMatchObject({ code: 403, data: { code: 'tool_unknown' } })
  })
})

describe('lists', () => {
  it('show what the caller could use, page by page, and are private', async () => {
    const names = async (token?: string) => {
      const pages = []
      for (const cursor of [undefined, 'two']) {
        const params = cursor === undefined ? {} : { cursor }
        const given = modern('tools/list', params)
        const got = await stand.send({ ...given, ...(token === undefined ? {} : { token }) })
        pages.push(got.json.result.tools.map(({ name }: { name: string }) => name))
        if (cursor === undefined) expect(got.json.result.cacheScope).toBe('private')
      }
      return pages
    }
    expect(await names()).toEqual([['echo'], ['slow']])
    expect(await names(OTHER)).toEqual([['echo'], []])
  })
})

describe('who calls', () => {
  it('is asked for with the address of the metadata, and recorded', async () => {
    const { got, verdicts } = await recorded(() => stand.send({ ...call('x'), token: null }))
    expect(got.status).toBe(401)
    expect(verdicts).toEqual(['denied'])
    const challenge = String(got.headers['www-authenticate'])
    const at = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? ''
    const path = new URL(at).pathname
    const metadata = await stand.send({ method: 'GET', path, token: null })
    expect(metadata.json).toEqual({
      resource: `http://127.0.0.1:${stand.port}/mcp/echo`,
      bearer_methods_supported: ['header'],
    })
  })

  it('is never a session: that of another agent is not found, whatever is done with it', async () => {
    const session = await initialize(stand)
    const headers = { 'mcp-session-id': session }
    const body = rpc('tools/call', { name: 'echo', arguments: { text: 'x' } })
    expect((await stand.send({ token: OTHER, headers, body })).status).toBe(404)
    expect((await stand.send({ token: null, headers, body })).status).toBe(401)
    expect((await stand.send({ method: 'GET', token: OTHER, headers })).status).toBe(404)
    expect((await stand.send({ method: 'DELETE', token: OTHER, headers })).status).toBe(404)
    expect((await stand.send({ headers, body })).json.result.content[0].text).toBe('x')
    expect((await stand.send({ method: 'DELETE', headers })).status).toBe(204)
    const { got, verdicts } = await recorded(() => stand.send({ headers, body }))
    expect([got.status, verdicts]).toEqual([404, ['denied']])
  })

  it('needs a session to call in, and a call without one is on record', async () => {
    const body = rpc('tools/call', { name: 'echo', arguments: { text: 'x' } })
    const { got, verdicts } = await recorded(() => stand.send({ body }))
    expect([got.status, got.json.error.code, verdicts]).toEqual([400, -32600, ['denied']])
  })

  it('may have only so many sessions at once', async () => {
    const open = []
    let refused = 0
    for (let n = 0; n < 8; n++) {
      const got = await stand.send({
        token: OTHER,
        body: rpc('initialize', {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: {},
        }),
      })
      if (got.status === 429) refused++
      else open.push(String(got.headers['mcp-session-id']))
    }
    expect(refused).toBeGreaterThan(0)
    for (const session of open) {
      await stand.send({ method: 'DELETE', token: OTHER, headers: { 'mcp-session-id': session } })
    }
  })
})

describe('a request that could be read in two ways', () => {
  const mismatched = call('x')
  it.each([
    ['another method in the head', { ...mismatched.headers, 'mcp-method': 'tools/list' }, -32020],
    ['another name in the head', { ...mismatched.headers, 'mcp-name': 'slow' }, -32020],
    ['a name in broken base64', { ...mismatched.headers, 'mcp-name': '=?base64?ZWNo?=x' }, -32020],
    [
      'no name in the head',
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' },
      -32020,
    ],
    [
      'another version in the head',
      { ...mismatched.headers, 'mcp-protocol-version': '2025-11-25' },
      -32020,
    ],
    ['another argument in the head', { ...mismatched.headers, 'mcp-param-text': 'y' }, -32020],
    ['an argument that the head leaves out', modern('tools/call', { name: 'echo' }).headers, null],
  ])('is refused and recorded: %s', async (what, headers, code) => {
    const { got, verdicts } = await recorded(() =>
      stand.send({ body: call('x').body, headers: headers ?? {} }),
    )
    // The head must repeat what the definition asks for.
    expect(got.json.error?.code).toBe(code ?? -32020)
    expect([what, got.status, verdicts]).toEqual([what, 400, ['denied']])
  })

  it.each([
    ['a batch', [rpc('ping'), rpc('ping')], -32600],
    ['a name twice', '{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}', -32700],
    ['no JSON', 'tools/call', -32700],
    ['no JSON-RPC', { id: 1, method: 'ping' }, -32600],
    ['a member beside the known ones', { ...rpc('ping'), also: 1 }, -32600],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, -32600],
  ])('is refused and recorded: %s', async (_what, body, code) => {
    const { got, verdicts } = await recorded(() => stand.send({ body }))
    expect([got.status, got.json.error.code, verdicts]).toEqual([400, code, ['denied']])
  })

  it.each([
    ['a foreign host', { host: 'evil.example' }],
    ['a foreign origin', { origin: 'http://evil.example' }],
    ['an origin that is no URL', { origin: 'null' }],
  ])('is refused and recorded: %s', async (_what, headers) => {
    const given = call('x')
    const { got, verdicts } = await recorded(() =>
      stand.send({ ...given, headers: { ...given.headers, ...headers } }),
    )
    expect([got.status, verdicts]).toEqual([403, ['denied']])
  })
})

describe('a definition that changes', () => {
  it('stops the tool until it is accepted, and says so in the list', async () => {
    const own = await mcpStand()
    try {
      const ask = (text: string) => own.send(call(text))
      expect((await ask('hello')).json.result.isError).toBeUndefined()
      await ask('change')
      const refused = await ask('hello')
      expect(refused.json.result.structuredContent.code).toBe('tool_changed')
      const list = await own.send(modern('tools/list'))
      expect(list.json.result.tools).toEqual([])
      const [pin] = (await own.started.gate.read.pins()).filter(({ tool }) => tool === 'echo')
      await own.started.gate.acceptTool({
        server: 'echo',
        tool: 'echo',
        definition: String(pin?.changed),
        by: 'operator',
      })
      expect((await ask('hello')).json.result.isError).toBeUndefined()
      const types = (await own.lines()).map(({ type }) => type)
      expect(types.filter((type) => /^TOOL/.test(type))).toEqual([
        'TOOLS_PINNED',
        'TOOLS_PINNED',
        'TOOL_CHANGED',
        'TOOL_ACCEPTED',
      ])
    } finally {
      await own.close()
    }
  })
})
