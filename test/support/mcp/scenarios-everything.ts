import { randomUUID } from 'node:crypto'
import type { McpClient, Note } from './client.js'
import {
  asking,
  failing,
  givenUp,
  hearing,
  type Scenario,
  twenty,
  withProgress,
} from './scenario.js'

const DOC = 'demo://resource/static/document/features.md'
const DYNAMIC = 'demo://resource/dynamic/text/7'

const said = (method: string) => (note: Note) => note.method === method

/** The kinds of content a result can have, in the tools that show them. */
const CONTENTS: readonly (readonly [string, Record<string, unknown>])[] = [
  ['get-tiny-image', {}],
  ['get-annotated-message', { messageType: 'error', includeImage: true }],
  ['get-resource-links', { count: 3 }],
  ['get-resource-reference', { resourceType: 'Text', resourceId: 2 }],
]

async function runTask(client: McpClient): Promise<unknown> {
  const run = client.task('simulate-research-query', { topic: 'python', ambiguous: true })
  return asking(client, run)
}

async function cancelTask(client: McpClient): Promise<unknown> {
  const started = await client.request('tools/call', {
    name: 'simulate-research-query',
    arguments: { topic: 'nothing' },
    task: { ttl: 60_000 },
  })
  const { taskId } = (started as { task: { taskId: string } }).task
  return {
    started,
    cancelled: await client.request('tasks/cancel', { taskId }),
    unknown: await failing(client.request('tasks/get', { taskId: 'nobody' })),
  }
}

export const EVERYTHING: readonly Scenario[] = [
  { name: 'hello', run: async (client) => client.hello() },
  {
    name: 'list changed at the start',
    run: (client, at) => {
      const changed = said('notifications/tools/list_changed')
      return client.heard.wait(changed, 0, at.patience)
    },
  },
  { name: 'list tools', run: (client) => client.list('tools') },
  { name: 'list resources', run: (client) => client.list('resources') },
  { name: 'list templates', run: (client) => client.list('templates') },
  { name: 'list prompts', run: (client) => client.list('prompts') },
  { name: 'call', run: (client) => client.call('echo', { message: 'hello' }) },
  {
    name: 'unicode',
    run: (client) =>
      client.call('echo', { message: 'Grüße 👩‍👩‍👧 \u2028 "\\" \u0000 中文 שלום e\u0301' }),
  },
  { name: 'numbers', run: (client) => client.call('get-sum', { a: 0.1, b: 1e21 }) },
  { name: 'call that fails', run: (client) => client.call('echo', {}) },
  { name: 'unknown tool', run: (client) => client.call('no-such-tool', {}) },
  {
    name: 'structured output',
    run: (client) => client.call('get-structured-content', { location: 'New York' }),
  },
  {
    name: 'kinds of content',
    run: (client) => Promise.all(CONTENTS.map(([name, args]) => client.call(name, args))),
  },
  {
    name: 'progress',
    run: (client) =>
      withProgress(client, 'trigger-long-running-operation', { duration: 0.4, steps: 4 }),
  },
  {
    name: 'cancel',
    run: async (client) => ({
      error: await givenUp(client, 'trigger-long-running-operation', { duration: 1, steps: 10 }),
      after: await client.call('echo', { message: 'still here' }),
    }),
  },
  {
    name: 'elicitation form',
    run: (client) => asking(client, client.call('trigger-elicitation-request', {})),
  },
  {
    name: 'elicitation declined',
    run: (client) => {
      client.hands.action = 'decline'
      return asking(client, client.call('trigger-elicitation-request', {}))
    },
  },
  {
    name: 'elicitation url',
    run: (client) =>
      asking(client, client.call('trigger-url-elicitation', { url: 'https://example.test/' })),
  },
  {
    name: 'elicitation url by error',
    run: (client) => {
      const args = { url: 'https://example.test/', errorPath: true, elicitationId: 'first' }
      return failing(client.call('trigger-url-elicitation', args))
    },
  },
  {
    name: 'sampling',
    run: (client) => asking(client, client.call('trigger-sampling-request', { prompt: 'why?' })),
  },
  {
    name: 'roots',
    run: async (client) => ({ saw: await client.call('get-roots-list', {}) }),
  },
  { name: 'read', run: (client) => client.read(DOC) },
  { name: 'read by template', run: (client) => client.read(DYNAMIC) },
  { name: 'read nothing', run: (client) => failing(client.read('demo://resource/none')) },
  {
    name: 'subscribe',
    run: async (client, at) => {
      const unwatch = await client.watch(DYNAMIC)
      const toggle = () => client.call('toggle-subscriber-updates', {})
      const saw = await hearing(client, at, said('notifications/resources/updated'), toggle)
      await toggle()
      await unwatch()
      return saw
    },
  },
  {
    name: 'prompts',
    run: async (client) => [
      await client.prompt('simple-prompt'),
      await client.prompt('args-prompt', { city: 'Zürich', state: 'ZH' }),
      await client.prompt('resource-prompt', { resourceType: 'Text', resourceId: '3' }),
      await failing(client.prompt('args-prompt', {})),
      await failing(client.prompt('no-such-prompt')),
    ],
  },
  {
    name: 'completion',
    run: async (client) => [
      await client.complete({
        ref: { type: 'ref/prompt', name: 'completable-prompt' },
        argument: { name: 'name', value: 'A' },
        context: { arguments: { department: 'Engineering' } },
      }),
      await client.complete({
        ref: { type: 'ref/resource', uri: 'demo://resource/dynamic/text/{resourceId}' },
        argument: { name: 'resourceId', value: '12' },
      }),
    ],
  },
  {
    name: 'logging',
    // The server draws the level of what it says.
    run: async (client, at) => {
      await client.level('debug')
      const toggle = () => client.call('toggle-simulated-logging', {})
      const fits = ({ method, params }: Note) =>
        method === 'notifications/message' && /level.message/i.test(JSON.stringify(params))
      const before = client.heard.notes.length
      const saw = await toggle()
      await client.heard.wait(fits, before, at.patience)
      return { saw, stopped: await toggle() }
    },
  },
  {
    name: 'list changed',
    // The tool adds a resource for this session; the server keeps them all under their names.
    run: async (client, at) => {
      const name = randomUUID()
      const changed = said('notifications/resources/list_changed')
      const args = { name, data: 'data:text/plain,hello' }
      const saw = await hearing(client, at, changed, () =>
        client.call('gzip-file-as-resource', args),
      )
      return { saw, read: await client.read(`demo://resource/session/${name}`) }
    },
  },
  { name: 'task', run: runTask },
  { name: 'task cancelled', run: cancelTask },
  { name: 'ping', run: (client) => client.request('ping', {}) },
  { name: 'unknown method', run: (client) => failing(client.request('no/such/method', { a: 1 })) },
  {
    name: 'large',
    run: (client) => client.call('echo', { message: 'é'.repeat(500_000) }),
  },
  {
    name: 'twenty at once',
    run: (client) => twenty((nth) => client.call('echo', { message: `number ${nth}` })),
  },
]
