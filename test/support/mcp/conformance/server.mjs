/**
 * The server that the conformance suite asks for: tools, resources and prompts of the names and answers it expects, so
 * that as many of its scenarios as possible pass without the gate. Serves both eras over HTTP, older clients with
 * sessions; says its port on stderr.
 */
import { randomUUID } from 'node:crypto'
import {
  completable,
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  inputRequired,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { listenFor } from '../web-listener.mjs'
import { addAskingTools, addRoundTools, answered, form } from './asking.mjs'
import { embedded, IMAGE, PIXEL } from './content.mjs'
import { addTaskTools, refusalOf, TASKS } from './tasks.mjs'
import { addContentTools, addTellingTools } from './tools.mjs'

const codec = createRequestStateCodec({ key: new Uint8Array(32).fill(7) })

function build({ era }) {
  const isModern = era === 'modern'
  const mcp = new McpServer(
    { name: 'conformance', version: '1.0.0' },
    {
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        ...(isModern ? { extensions: { [TASKS]: {} } } : {}),
      },
      requestState: { verify: codec.verify },
    },
  )
  addContentTools(mcp)
  addTellingTools(mcp, () => modern.notify)
  addAskingTools(mcp)
  if (isModern) {
    addRoundTools(mcp, codec)
    addTaskTools(mcp)
  }
  addResources(mcp)
  addPrompts(mcp, isModern)
  return mcp
}

function addResources(mcp) {
  const described = (description, mimeType) => ({ description, mimeType })
  const resource = (name, uri, about, content) =>
    mcp.registerResource(name, uri, about, (asked, given) => ({
      contents: [{ uri: asked.href, mimeType: about.mimeType, ...content(given) }],
    }))
  resource('static-text', 'test://static-text', described('A text', 'text/plain'), () => ({
    text: 'This is the content of the static text resource.',
  }))
  resource('static-binary', 'test://static-binary', described('An image', 'image/png'), () => ({
    blob: PIXEL,
  }))
  resource('watched', 'test://watched-resource', described('It changes', 'text/plain'), () => ({
    text: 'Watched.',
  }))
  resource(
    'data',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    described('Data by id', 'application/json'),
    ({ id }) => ({ text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }),
  )
  mcp.server.setRequestHandler('resources/subscribe', () => ({}))
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function addPrompts(mcp, isModern) {
  const said = (content) => ({ role: 'user', content })
  const text = (words) => said({ type: 'text', text: words })
  const prompt = (name, args, messages) =>
    mcp.registerPrompt(
      name,
      { description: `Tests ${name}`, ...(args === null ? {} : { argsSchema: z.object(args) }) },
      messages,
    )
  prompt('test_simple_prompt', null, () => ({
    messages: [text('This is a simple prompt for testing.')],
  }))
  prompt(
    'test_prompt_with_arguments',
    {
      arg1: completable(z.string().describe('First test argument'), (begun) =>
        ['paris', 'park', 'party'].filter((word) => word.startsWith(begun)),
      ),
      arg2: z.string().describe('Second test argument'),
    },
    ({ arg1, arg2 }) => ({
      messages: [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  )
  prompt('test_prompt_with_embedded_resource', { resourceUri: z.string() }, ({ resourceUri }) => ({
    messages: [
      said(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      text('Please process the embedded resource above.'),
    ],
  }))
  prompt('test_prompt_with_image', null, () => ({
    messages: [said(IMAGE), text('Please analyze the image above.')],
  }))
  if (!isModern) return
  const context = form('What context should the prompt use?', { context: { type: 'string' } })
  prompt('test_input_required_result_prompt', null, (ctx) => {
    const answer = answered(ctx, 'user_context')
    if (answer === null) return inputRequired({ inputRequests: { user_context: context } })
    return { messages: [text(`In this context: ${answer.content?.context}`)] }
  })
}

const modern = createMcpHandler(build, { legacy: 'reject' })
const sessions = new Map()

/** Older clients: the request that opens a session has no id of one; every other must have one that is known. */
async function older(request) {
  const id = request.headers.get('mcp-session-id')
  const known = sessions.get(id)
  if (known !== undefined) return known.handleRequest(request)
  if (id !== null)
    return Response.json(
      { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } },
      { status: 404 },
    )
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (opened) => void sessions.set(opened, transport),
    onsessionclosed: (closed) => void sessions.delete(closed),
  })
  await build({ era: 'legacy' }).connect(transport)
  return transport.handleRequest(request)
}

const port = await listenFor(async (request) => {
  const refused =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins())
  if (refused) return refused
  if (await isLegacyRequest(request)) return older(request)
  return (await refusalOf(request.clone())) ?? modern.fetch(request)
})
process.stderr.write(`listening on port ${port}\n`)
