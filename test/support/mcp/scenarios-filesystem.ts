import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { McpClient } from './client.js'
import { failing, type Place, type Scenario, twenty } from './scenario.js'

async function work({ call }: McpClient, { folder }: Place): Promise<unknown> {
  const at = (name: string): string => join(folder, name)
  const file = at('notes.txt')
  return [
    await call('list_allowed_directories', {}),
    await call('write_file', { path: file, content: 'eins\nzwei ü\ndrei 🐟\n' }),
    await call('read_text_file', { path: file }),
    await call('read_text_file', { path: file, head: 1 }),
    await call('edit_file', { path: file, edits: [{ oldText: 'zwei ü', newText: 'zwei' }] }),
    await call('create_directory', { path: at('a/b') }),
    await call('move_file', { source: file, destination: at('a/b/notes.txt') }),
    await call('directory_tree', { path: folder }),
    await call('search_files', { path: folder, pattern: '**/*.txt' }),
    await call('get_file_info', { path: at('a/b/notes.txt') }),
    await call('read_multiple_files', { paths: [at('a/b/notes.txt'), at('none.txt')] }),
  ]
}

export const FILESYSTEM: readonly Scenario[] = [
  { name: 'hello', run: async (client) => client.hello() },
  { name: 'list tools', run: (client) => client.list('tools') },
  { name: 'work on files', run: work },
  {
    name: 'call that fails',
    run: ({ call }, { folder }) => call('read_text_file', { path: join(folder, 'none.txt') }),
  },
  {
    name: 'outside of its folder',
    run: ({ call }) => call('read_text_file', { path: '/etc/hostname' }),
  },
  { name: 'wrong arguments', run: ({ call }) => call('write_file', { path: 7 }) },
  { name: 'unknown tool', run: ({ call }) => call('no_such_tool', {}) },
  {
    name: 'binary',
    run: async ({ call }, { folder }) => {
      const path = join(folder, 'all.png')
      writeFileSync(
        path,
        Uint8Array.from({ length: 256 }, (_, byte) => byte),
      )
      return call('read_media_file', { path })
    },
  },
  {
    name: 'large',
    run: async ({ call }, { folder }) => {
      const path = join(folder, 'large.txt')
      writeFileSync(path, 'ä line of text\n'.repeat(70_000))
      return call('read_text_file', { path })
    },
  },
  {
    name: 'roots changed',
    run: async (client, { folder, patience }) => {
      const asked = () => client.hands.asked.filter(({ method }) => method === 'roots/list').length
      const before = asked()
      await client.rootsChanged()
      for (const late = Date.now() + patience; asked() === before; ) {
        if (Date.now() > late) throw new Error('the server did not ask')
        await client.call('list_allowed_directories', {})
      }
      return client.call('list_directory', { path: folder })
    },
  },
  { name: 'ping', run: (client) => client.request('ping', {}) },
  { name: 'unknown method', run: (client) => failing(client.request('no/such/method', { a: 1 })) },
  { name: 'no resources', run: (client) => failing(client.request('resources/list', {})) },
  {
    name: 'twenty at once',
    run: ({ call }, { folder }) =>
      twenty(async (nth) => {
        const path = join(folder, `many-${nth}.txt`)
        await call('write_file', { path, content: `number ${nth}` })
        return call('read_text_file', { path })
      }),
  },
]
