import type { Command } from 'commander'
import { plain, printResult, table } from '../output/print.js'
import { allTools, reaching, type ToolOptions } from './reach.js'

export function registerLs(tools: Command): void {
  reaching(
    tools.command('ls').description('every tool, the digest it is held to, and changes'),
  ).action(async (options: ToolOptions) => {
    const found = await allTools(options)
    printResult(options, found, () => {
      if (found.tools.length === 0) return 'no server has described a tool yet'
      const rows = found.tools.map(({ server, tool, state, definition, seen }) => [
        plain(server),
        plain(tool),
        state,
        definition,
        seen ?? '-',
      ])
      return table([['server', 'tool', 'state', 'definition', 'changed to'], ...rows])
    })
  })
}
