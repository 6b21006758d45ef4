import type { Note } from './client.js'
import {
  asking,
  failing,
  givenUp,
  hearing,
  type Scenario,
  twenty,
  withProgress,
} from './scenario.js'

const NOTE = 'note://all/drei%20%C3%BC'
const PIXEL = 'note://pixel'
const said = (method: string) => (note: Note) => note.method === method

/** Both eras; over HTTP the server keeps nothing between requests of older clients, so what it would ask fails. */
export const MODERN: readonly Scenario[] = [
  { name: 'hello', run: async (client) => client.hello() },
  { name: 'list tools', run: (client) => client.list('tools') },
  { name: 'list resources', run: (client) => client.list('resources') },
  { name: 'list templates', run: (client) => client.list('templates') },
  { name: 'list prompts', run: (client) => client.list('prompts') },
  { name: 'call', run: ({ call }) => call('echo', { message: 'hello' }) },
  {
    name: 'unicode',
    run: ({ call }) =>
      call('echo', { message: 'Grüße 👩‍👩‍👧 \u2028 "\\" \u0000 中文 שלום e\u0301' }),
  },
  { name: 'structured output', run: ({ call }) => call('add', { a: 0.1, b: 0.2 }) },
  { name: 'call that fails', run: ({ call }) => call('fail', {}) },
  { name: 'call with a shape that fails', run: ({ call }) => call('fail_shaped', {}) },
  { name: 'call that throws', run: ({ call }) => call('throw', {}) },
  { name: 'wrong arguments', run: ({ call }) => call('echo', { message: 7 }) },
  { name: 'unknown tool', run: ({ call }) => failing(call('no_such_tool', {})) },
  {
    name: 'progress',
    run: (client) => withProgress(client, 'slow', { steps: 4, every: 100 }),
  },
  {
    name: 'cancel',
    run: async (client) => ({
      error: await givenUp(client, 'slow', { steps: 20, every: 50 }),
      after: await client.call('echo', { message: 'still here' }),
    }),
  },
  { name: 'elicitation form', run: (client) => asksFor(client.call('ask', {}), client) },
  {
    name: 'elicitation declined',
    run: (client) => {
      client.hands.action = 'decline'
      return asksFor(client.call('ask', {}), client)
    },
  },
  { name: 'elicitation url', run: (client) => asksFor(client.call('ask_page', {}), client) },
  { name: 'sampling', run: (client) => asksFor(client.call('think', { prompt: 'why?' }), client) },
  { name: 'roots', run: (client) => asksFor(client.call('where', {}), client) },
  { name: 'call again', run: ({ call }) => call('later', {}) },
  { name: 'prompt that asks', run: (client) => asking(client, client.prompt('interview')) },
  { name: 'read', run: (client) => client.read(NOTE) },
  { name: 'read by template', run: (client) => client.read('note://colour/blue') },
  { name: 'read bytes', run: (client) => client.read(PIXEL) },
  { name: 'read nothing', run: (client) => failing(client.read('note://none')) },
  {
    name: 'subscribe',
    run: async (client, at) => {
      const unwatch = await client.watch(PIXEL)
      const updated = said('notifications/resources/updated')
      const saw = await hearing(client, at, updated, () => client.call('touch', { uri: PIXEL }))
      await unwatch()
      return saw
    },
  },
  {
    name: 'list changed',
    run: async (client, at) => {
      const unwatch = await client.watch(PIXEL)
      const changed = said('notifications/tools/list_changed')
      const saw = await hearing(client, at, changed, () => client.call('announce', {}))
      await unwatch()
      return { saw, tools: (await client.list('tools')).length }
    },
  },
  {
    name: 'prompts',
    run: async (client) => [
      await client.prompt('greet'),
      await client.prompt('paint', { colour: 'grün' }),
      await failing(client.prompt('paint', {})),
      await failing(client.prompt('no_such_prompt')),
    ],
  },
  {
    name: 'completion',
    run: async (client) => [
      await client.complete({
        ref: { type: 'ref/prompt', name: 'paint' },
        argument: { name: 'colour', value: 'gr' },
      }),
      await client.complete({
        ref: { type: 'ref/resource', uri: 'note://colour/{colour}' },
        argument: { name: 'colour', value: 'b' },
      }),
    ],
  },
  {
    name: 'logging',
    run: async (client, at) => {
      await client.level('error')
      const before = client.heard.notes.length
      const saw = await client.call('log', {})
      await client.heard.wait(said('notifications/message'), before, at.patience)
      // A message names no request: where clients share a server process, each may hear the other's as well.
      const messages = client.heard.notes.slice(before).filter(said('notifications/message'))
      return { saw, heard: [...new Set(messages.map(({ params }) => JSON.stringify(params)))] }
    },
  },
  { name: 'unknown method', run: (client) => failing(client.request('no/such/method', { a: 1 })) },
  { name: 'large', run: ({ call }) => call('large', { size: 500_000 }) },
  {
    name: 'large arguments',
    run: ({ call }) => call('echo', { message: 'ß'.repeat(500_000) }),
  },
  {
    name: 'twenty at once',
    run: ({ call }) => twenty((nth) => call('echo', { message: `number ${nth}` })),
  },
]

/** A call for which the server has to ask; that it says it could not is an error here. */
async function asksFor(call: Promise<unknown>, client: Parameters<Scenario['run']>[0]) {
  const { saw, asked } = { saw: await call, asked: [...client.hands.asked] }
  if (asked.length === 0) throw new Error('the client was not asked', { cause: saw })
  return { saw, asked }
}
