import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { acceptTool } from '../../gate/servers/accept-tool.js'
import {
  detailOf,
  shownPin,
  type ToolAccepted,
  type ToolDetail,
  type ToolShown,
} from '../../mounts/admin/routes/tools.js'
import { type AdminTarget, adminOptions, callAdmin, namesGate } from '../access/admin-client.js'
import { type Folder, folderOptions, type OpenedFolder, withData } from '../access/data-folder.js'

export type ToolOptions = AdminTarget & Folder
export type Named = { readonly server: string; readonly tool: string }

const HELP = `
With --url, --token-file or their variables the running gate is asked (role operator to accept); otherwise
the data folder is opened, which a running gate does not allow.`
const ASK = 'ask it with --url and --token-file, or stop it first'

export const reaching = (command: Command): Command =>
  folderOptions(adminOptions(command))
    .option('--head <file>', 'second head of the journal (default: as in gate.yaml, or DATA.head)')
    .option('--master-key <file>', 'evidence key (default: as in gate.yaml, or in the data folder)')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)

/** The running gate where one is named, else the folder of a stopped one. */
const ask = <T>(
  options: ToolOptions,
  gate: () => Promise<T>,
  folder: (data: OpenedFolder) => Promise<T>,
): Promise<T> => (namesGate(options) ? gate() : withData(options, ASK, folder))

export const allTools = (options: ToolOptions): Promise<{ tools: readonly ToolShown[] }> =>
  ask(
    options,
    () => callAdmin(options, 'GET', '/v1/tools'),
    async ({ state }) => ({ tools: (await state.pins()).map(shownPin) }),
  )

const pathOf = ({ server, tool }: Named): string =>
  `/v1/tools/${encodeURIComponent(server)}/${encodeURIComponent(tool)}`

export const oneTool = (named: Named, options: ToolOptions): Promise<ToolDetail> =>
  ask(
    options,
    () => callAdmin(options, 'GET', pathOf(named)),
    async (data) => {
      const pin = await data.state.pin(named.server, named.tool)
      if (pin === null) throw new Error(`${named.server} never described a tool ${named.tool}`)
      return detailOf(pin, data.evidence.getPublic)
    },
  )

export const accept = (
  named: Named,
  definition: string,
  options: ToolOptions,
): Promise<ToolAccepted> =>
  ask(
    options,
    () => callAdmin(options, 'POST', `${pathOf(named)}/accept`, { definition }),
    async (data) => {
      const by = `cli:${userInfo().username}`
      const done = await acceptTool({ ...named, definition, by }, data)
      const pin = await data.state.pin(named.server, named.tool)
      if (pin === null || done === 'unknown' || done === 'not_seen') {
        throw new Error('the tool changed meanwhile: look at it again')
      }
      return { ...shownPin(pin), recorded: done === 'accepted' }
    },
  )
