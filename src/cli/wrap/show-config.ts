import { basename, resolve } from 'node:path'

type Launch = { readonly command: string; readonly args: readonly string[] }

/** What each client wants in its own file. */
export const CLIENTS = {
  'claude-desktop': (name: string, launch: Launch) => pretty({ mcpServers: { [name]: launch } }),
  'claude-code': (name: string, { command, args }: Launch) =>
    ['claude', 'mcp', 'add', name, '--', command, ...args].map(quoted).join(' '),
  cursor: (name: string, launch: Launch) => pretty({ mcpServers: { [name]: launch } }),
  vscode: (name: string, launch: Launch) =>
    pretty({ servers: { [name]: { type: 'stdio', ...launch } } }),
} as const
export type ClientName = keyof typeof CLIENTS

/** The line to paste: this very command, without the option that asked for it. */
export function snippet(
  client: ClientName,
  name: string,
  command: readonly string[],
  argv: readonly string[],
): string {
  const given = argv.slice(2, argv.length - command.length)
  const args = given
    .map((word, index) => (FILES.has(given[index - 1] ?? '') ? resolve(word) : word))
    .filter(
      (word, index) =>
        !word.startsWith('--show-config') && given[index - 1] !== '--show-config' && word !== '--',
    )
  const behind = command.length === 0 ? [] : ['--', ...command]
  const installed = basename(argv[1] ?? '') === 'capsule-gate'
  const launch = installed
    ? { command: 'capsule-gate', args: [...args, ...behind] }
    : { command: 'npx', args: ['-y', 'capsule-gate', ...args, ...behind] }
  return CLIENTS[client](name, launch)
}

/** Clients start commands in folders of their own. */
const FILES: ReadonlySet<string> = new Set(['--config', '--data', '--token-file'])

const pretty = (value: unknown): string => JSON.stringify(value, null, 2)
const quoted = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
