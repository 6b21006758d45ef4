import type { Hands, McpClient } from './client.js'
import { connectSdk } from './client-sdk.js'
import { connectV2 } from './client-v2.js'
import type { Link } from './servers.js'

/** Unmodified clients: the older library, and the newer one as it is, asking for the era, and held to the new one. */
export const CLIENTS = ['sdk', 'client', 'client auto', 'client pinned'] as const
export type ClientName = (typeof CLIENTS)[number]

/** Connects; rejects where the client cannot talk to that server. */
export async function connect(client: ClientName, link: Link, hands: Hands): Promise<McpClient> {
  switch (client) {
    case 'sdk':
      return connectSdk(link, hands)
    case 'client':
      return connectV2(link, hands, undefined)
    case 'client auto':
      return connectV2(link, hands, 'auto')
    case 'client pinned':
      return connectV2(link, hands, { pin: '2026-07-28' })
  }
}
