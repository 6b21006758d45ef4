import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Hands, McpClient, TaskRun } from './client.js'
import { answerForm, CAPABILITIES, createHeard, lastWords, leave, ONCE, SAMPLE } from './hands.js'
import { pages } from './pages.js'
import type { Link } from './servers.js'

/** `@modelcontextprotocol/sdk`, which knows revisions up to 2025-11-25. */
export async function connectSdk(link: Link, hands: Hands): Promise<McpClient> {
  const client = new Client({ name: 'sdk', version: '1.0.0' }, { capabilities: CAPABILITIES })
  const heard = createHeard()
  client.fallbackNotificationHandler = async (note) => heard.add(note)
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    hands.asked.push({ method, params })
    return answerForm(hands, params)
  })
  client.setRequestHandler(CreateMessageRequestSchema, ({ method, params }) => {
    hands.asked.push({ method, params })
    return SAMPLE
  })
  client.setRequestHandler(ListRootsRequestSchema, ({ method }) => {
    hands.asked.push({ method })
    return { roots: [...hands.roots] }
  })

  const transport = transportOf(link)
  const told = lastWords('stderr' in transport ? transport.stderr : null)
  await told(client.connect(transport))

  const runTask = async (
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<TaskRun> => {
    const run: { created?: unknown; result?: unknown } = {}
    const stream = client.experimental.tasks.callToolStream(
      { name, arguments: { ...args } },
      CallToolResultSchema,
      { task: { ttl: 60_000 } },
    )
    for await (const message of stream) {
      if (message.type === 'taskCreated') run.created = message.task
      if (message.type === 'result') run.result = message.result
      if (message.type === 'error') throw message.error
    }
    return { created: run.created, result: run.result }
  }

  return {
    era: 'legacy',
    hands,
    heard,
    hello: () => ({
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
    list: (kind) => {
      switch (kind) {
        case 'tools':
          return pages(async (page) => client.listTools(page), 'tools')
        case 'resources':
          return pages(async (page) => client.listResources(page), 'resources')
        case 'templates':
          return pages(async (page) => client.listResourceTemplates(page), 'resourceTemplates')
        case 'prompts':
          return pages(async (page) => client.listPrompts(page), 'prompts')
      }
    },
    call: (name, args, { onProgress, signal } = {}) =>
      client.callTool({ name, arguments: { ...args } }, undefined, {
        ...(onProgress === undefined ? {} : { onprogress: onProgress }),
        ...(signal === undefined ? {} : { signal }),
      }),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) =>
      client.getPrompt({ name, ...(args === undefined ? {} : { arguments: { ...args } }) }),
    complete: (params) => client.complete(params),
    watch: async (uri) => {
      await client.subscribeResource({ uri })
      return async () => void (await client.unsubscribeResource({ uri }))
    },
    level: async (level) => void (await client.setLoggingLevel(level)),
    rootsChanged: () => client.sendRootsListChanged(),
    task: runTask,
    request: (method, params) => client.request({ method, params }, ResultSchema),
    close: () => leave(client, transport),
  }
}

function transportOf(link: Link): StdioClientTransport | StreamableHTTPClientTransport {
  if (link.via === 'http')
    return new StreamableHTTPClientTransport(new URL(link.url), {
      requestInit: { headers: { ...link.headers } },
      reconnectionOptions: ONCE,
    })
  return new StdioClientTransport({
    command: link.command,
    args: [...link.args],
    env: { ...link.env },
    stderr: 'pipe',
  })
}
