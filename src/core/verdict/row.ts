import type { VerdictClass } from '../capsule/registries.js'

/** What a row of the verdict table is, and the ways into the gate on which one can happen. */
export type Mount =
  | 'proxy'
  | 'middleware'
  | 'governed_proxy'
  | 'function'
  | 'mcp_stdio'
  | 'mcp_http'
export type EffectRow = 'none' | 'confirmed' | 'failed' | 'dispatched'
export type Row = {
  readonly verdict: VerdictClass
  readonly effect: EffectRow
  /** `upstream`: the tool's own status and bytes are released. */
  readonly status: number | 'upstream'
  /** Where it can happen; the table test runs each row on each of these. */
  readonly mounts: readonly Mount[]
  readonly said: string
  readonly instead: string
}

export const MCP: readonly Mount[] = ['mcp_stdio', 'mcp_http']
export const HTTP: readonly Mount[] = ['proxy', 'middleware', 'governed_proxy']
export const EVERYWHERE: readonly Mount[] = [...HTTP, 'function', ...MCP]
/** Where the caller sends octets, and the gate has to make a message of them. */
export const ON_A_WIRE: readonly Mount[] = [...HTTP, ...MCP]
/** Where a request is framed by HTTP. */
export const OVER_HTTP: readonly Mount[] = [...HTTP, 'mcp_http']
/** Where callers show a credential. */
export const CREDENTIALED: readonly Mount[] = OVER_HTTP
/** Where the gate sends the call to another process. */
export const NETWORK: readonly Mount[] = ['proxy', 'governed_proxy', ...MCP]
export const EMBEDDED: readonly Mount[] = ['middleware', 'governed_proxy']
export const PROXY: readonly Mount[] = ['proxy']
/** Where runtimes ask for a verdict and act themselves (`/.gate/v1/decide`). */
export const DECIDED: readonly Mount[] = PROXY
/** Where somebody else than the gate runs the call and reports what became of it. */
export const REPORTED: readonly Mount[] = ['middleware', 'function', ...DECIDED]

type Text = readonly [said: string, instead: string]
type RowOf<V extends VerdictClass, E extends EffectRow> = Row & {
  readonly verdict: V
  readonly effect: E
}
export const row = <V extends VerdictClass, E extends EffectRow>(
  verdict: V,
  effect: E,
  status: Row['status'],
  mounts: readonly Mount[],
  [said, instead]: Text,
): RowOf<V, E> => ({ verdict, effect, status, mounts, said, instead })
export const denied = (status: number, mounts: readonly Mount[], text: Text) =>
  row('denied', 'none', status, mounts, text)
export const blocked = (status: number, mounts: readonly Mount[], text: Text) =>
  row('blocked', 'none', status, mounts, text)
export const broken = (status: number, mounts: readonly Mount[], text: Text) =>
  row('engine_failure', 'none', status, mounts, text)

export const SAFE_TO_RETRY = 'Nothing was dispatched; it is safe to try again later.'
