/**
 * A server of revision 2026-07-28 that serves older clients too. `node modern-server.mjs` speaks over stdio;
 * `node modern-server.mjs http` listens on a free port of this machine and says which on stderr.
 */
import { setTimeout as pause } from 'node:timers/promises'
import {
  completable,
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
import { listenFor } from './web-listener.mjs'

const text = (said) => ({ content: [{ type: 'text', text: said }] })
const PAGE = 5
const COLOURS = ['red', 'green', 'grey', 'blue']

/** Where announcements go: over HTTP each request has a server of its own, so a bus between them carries them. */
let http = null

function build() {
  const mcp = new McpServer(
    { name: 'modern', title: 'Modern test server', version: '1.0.0' },
    {
      instructions: 'Call echo first.',
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
      },
    },
  )
  const announce = {
    tools: () => (http ? http.notify.toolsChanged() : mcp.sendToolListChanged()),
    resource: (uri) =>
      http ? http.notify.resourceUpdated(uri) : mcp.server.sendResourceUpdated({ uri }),
  }
  addTools(mcp, announce)
  addResources(mcp)
  addPrompts(mcp)
  return mcp
}

function addTools(mcp, announce) {
  const listed = []
  const tool = (name, description, input, run, more = {}) => {
    const { output, ...shown } = more
    mcp.registerTool(
      name,
      {
        description,
        ...shown,
        inputSchema: z.object(input),
        ...(output === undefined ? {} : { outputSchema: z.object(output) }),
      },
      run,
    )
    listed.push({
      name,
      description,
      ...shown,
      inputSchema: mcp.toolInputSchemaJson(name),
      ...(output === undefined ? {} : { outputSchema: z.toJSONSchema(z.object(output)) }),
    })
  }
  const hints = { annotations: { readOnlyHint: true, openWorldHint: false } }

  tool('echo', 'Says it again', { message: z.string() }, ({ message }) => text(message), hints)
  tool(
    'add',
    'Adds two numbers',
    { a: z.number(), b: z.number() },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
    { title: 'Add', output: { sum: z.number() } },
  )
  tool(
    'slow',
    'Counts, telling how far it is',
    { steps: z.number().int(), every: z.number() },
    async ({ steps, every }, { mcpReq }) => {
      for (let done = 1; done <= steps; done++) {
        await pause(every, undefined, { signal: mcpReq.signal })
        if (mcpReq._meta?.progressToken === undefined) continue
        await mcpReq.notify({
          method: 'notifications/progress',
          params: {
            progressToken: mcpReq._meta.progressToken,
            progress: done,
            total: steps,
            message: `step ${done}`,
          },
        })
      }
      return text(`counted to ${steps}`)
    },
  )
  tool('ask', 'Asks the person a form', {}, (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'name')
    if (answer.kind !== 'missing')
      return text(JSON.stringify([answer, mcpReq.requestState() ?? null]))
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'Who are you?',
          requestedSchema: {
            type: 'object',
            properties: { name: { type: 'string', title: 'Name', minLength: 1 } },
            required: ['name'],
          },
        }),
      },
      requestState: 'asked ☎',
    })
  })
  tool('ask_page', 'Asks the person to open a page', {}, (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'page')
    if (answer.kind !== 'missing') return text(JSON.stringify(answer))
    return inputRequired({
      inputRequests: {
        page: inputRequired.elicitUrl({
          message: 'Please sign in',
          url: 'https://example.test/sign-in',
        }),
      },
    })
  })
  tool('think', "Asks the client's model", { prompt: z.string() }, ({ prompt }, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'thought')
    if (answer.kind !== 'missing') return text(JSON.stringify(answer))
    return inputRequired({
      inputRequests: {
        thought: inputRequired.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
          maxTokens: 50,
        }),
      },
    })
  })
  tool('where', "Asks for the client's roots", {}, (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, 'roots')
    if (answer.kind !== 'missing') return text(JSON.stringify(answer))
    return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } })
  })
  tool('later', 'Is ready at the second call', {}, (_, { mcpReq }) =>
    mcpReq.requestState() === undefined
      ? inputRequired({ requestState: 'come again' })
      : text('ready now'),
  )
  tool('fail', 'Fails, and says so', {}, () => ({ ...text('no such order'), isError: true }))
  tool(
    'fail_shaped',
    'Fails although it promises a shape',
    {},
    () => ({ ...text('out of stock'), isError: true }),
    { output: { left: z.number() } },
  )
  tool('throw', 'Throws', {}, () => {
    throw new Error('the tool broke')
  })
  tool('large', 'Answers with so many characters', { size: z.number().int() }, ({ size }) =>
    text('é'.repeat(size)),
  )
  tool('log', 'Logs at three levels', {}, async (_, { mcpReq }) => {
    await mcpReq.log('debug', 'a detail', 'test')
    await mcpReq.log('info', { said: 'hello' }, 'test')
    await mcpReq.log('error', 'it broke', 'test')
    return text('logged')
  })
  tool('announce', 'Says that the tools have changed', {}, () => {
    announce.tools()
    return text('announced')
  })
  tool('touch', 'Says that a resource has changed', { uri: z.string() }, async ({ uri }) => {
    await announce.resource(uri)
    return text('touched')
  })

  // In pages, which the library does not do by itself.
  mcp.server.setRequestHandler('tools/list', ({ params }) => {
    const from = Number(params?.cursor ?? 0)
    const next = from + PAGE
    return {
      tools: listed.slice(from, next),
      ...(next < listed.length ? { nextCursor: String(next) } : {}),
    }
  })
}

function addResources(mcp) {
  for (const name of ['one', 'two', 'drei ü']) {
    const uri = `note://all/${encodeURIComponent(name)}`
    mcp.registerResource(name, uri, { mimeType: 'text/plain', title: `Note ${name}` }, (asked) => ({
      contents: [{ uri: asked.href, mimeType: 'text/plain', text: `This is ${name}. ✓` }],
    }))
  }
  mcp.registerResource('pixel', 'note://pixel', { mimeType: 'image/png' }, (asked) => ({
    contents: [{ uri: asked.href, mimeType: 'image/png', blob: 'iVBORw0KGgo=' }],
  }))
  mcp.registerResource(
    'coloured',
    new ResourceTemplate('note://colour/{colour}', {
      list: undefined,
      complete: { colour: (begun) => COLOURS.filter((colour) => colour.startsWith(begun)) },
    }),
    { description: 'A note of that colour' },
    (asked, { colour }) => ({ contents: [{ uri: asked.href, text: `All is ${colour}.` }] }),
  )
  // Older clients subscribe one by one; newer ones listen, which the library serves.
  mcp.server.setRequestHandler('resources/subscribe', () => ({}))
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function addPrompts(mcp) {
  mcp.registerPrompt('greet', { description: 'A greeting' }, () => ({
    messages: [{ role: 'user', content: { type: 'text', text: 'Say hello.' } }],
  }))
  mcp.registerPrompt(
    'paint',
    {
      title: 'Paint',
      argsSchema: z.object({
        colour: completable(z.string(), (begun) =>
          COLOURS.filter((colour) => colour.startsWith(begun)),
        ),
      }),
    },
    ({ colour }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Paint it ${colour}.` } }],
    }),
  )
  mcp.registerPrompt('interview', { description: 'Asks a name first' }, (...given) => {
    const { mcpReq } = given.at(-1)
    const answer = inputResponse(mcpReq.inputResponses, 'name')
    if (answer.kind === 'missing')
      return inputRequired({
        inputRequests: {
          name: inputRequired.elicit({
            message: 'Whom do I interview?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
          }),
        },
      })
    const said = JSON.stringify(answer)
    return { messages: [{ role: 'user', content: { type: 'text', text: said } }] }
  })
}

if (process.argv[2] === 'http') {
  http = createMcpHandler(build)
  const port = await listenFor(http.fetch)
  process.stderr.write(`listening on port ${port}\n`)
} else {
  serveStdio(build)
}
