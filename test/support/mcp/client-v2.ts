import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { z } from 'zod'
import type { Hands, McpClient, TaskRun } from './client.js'
import { answerForm, CAPABILITIES, createHeard, lastWords, leave, ONCE, SAMPLE } from './hands.js'
import type { Link } from './servers.js'

const ANY = z.looseObject({})
const TASK = z.looseObject({ taskId: z.string(), status: z.string(), pollInterval: z.number() })
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'

/** `@modelcontextprotocol/client`: by default the older era, with `auto` it asks, with a pin it insists. */
export async function connectV2(
  link: Link,
  hands: Hands,
  mode: 'auto' | { pin: string } | undefined,
): Promise<McpClient> {
  const client = new Client(
    { name: 'client', version: '1.0.0' },
    {
      capabilities: CAPABILITIES,
      ...(mode === undefined ? {} : { versionNegotiation: { mode } }),
    },
  )
  const heard = createHeard()
  client.fallbackNotificationHandler = async (note) => heard.add(note)
  client.setRequestHandler('elicitation/create', ({ method, params }) => {
    hands.asked.push({ method, params })
    return answerForm(hands, params)
  })
  client.setRequestHandler('sampling/createMessage', ({ method, params }) => {
    hands.asked.push({ method, params })
    return SAMPLE
  })
  client.setRequestHandler('roots/list', ({ method }) => {
    hands.asked.push({ method })
    return { roots: [...hands.roots] }
  })

  const transport = transportOf(link)
  const told = lastWords('stderr' in transport ? transport.stderr : null)
  await told(client.connect(transport))
  const era = client.getProtocolEra() ?? 'legacy'
  // The newer era has no request for the level: each call says what it wants to hear.
  let level: string | null = null

  const request = (method: string, params: Readonly<Record<string, unknown>>) =>
    client.request({ method, params }, ANY)

  /** This library has no functions for tasks; the requests are the same. */
  const runTask = async (
    name: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<TaskRun> => {
    const { task: created } = await client.request(
      { method: 'tools/call', params: { name, arguments: args, task: { ttl: 60_000 } } },
      z.looseObject({ task: TASK }),
    )
    let { status } = created
    while (status === 'working') {
      await new Promise((resolve) => setTimeout(resolve, created.pollInterval))
      const params = { taskId: created.taskId }
      status = (await client.request({ method: 'tasks/get', params }, TASK)).status
    }
    return { created, result: await request('tasks/result', { taskId: created.taskId }) }
  }

  return {
    era,
    hands,
    heard,
    hello: () => ({
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    }),
    list: async (kind) => {
      switch (kind) {
        case 'tools':
          return (await client.listTools()).tools
        case 'resources':
          return (await client.listResources()).resources
        case 'templates':
          return (await client.listResourceTemplates()).resourceTemplates
        case 'prompts':
          return (await client.listPrompts()).prompts
      }
    },
    call: (name, args, { onProgress, signal } = {}) =>
      client.callTool(
        {
          name,
          arguments: { ...args },
          ...(level === null ? {} : { _meta: { [LOG_LEVEL]: level } }),
        },
        {
          ...(onProgress === undefined ? {} : { onprogress: onProgress }),
          ...(signal === undefined ? {} : { signal }),
        },
      ),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) =>
      client.getPrompt({ name, ...(args === undefined ? {} : { arguments: { ...args } }) }),
    complete: (params) => client.complete(params),
    watch: async (uri) => {
      if (era === 'modern') {
        const listening = await client.listen({
          toolsListChanged: true,
          resourceSubscriptions: [uri],
        })
        return () => listening.close()
      }
      await client.subscribeResource({ uri })
      return async () => void (await client.unsubscribeResource({ uri }))
    },
    level: async (wanted) => {
      if (era === 'modern') level = wanted
      else await client.setLoggingLevel(wanted)
    },
    rootsChanged: () => client.sendRootsListChanged(),
    task: runTask,
    request,
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
