import type { ServerResponse } from 'node:http'
import type { RequestHead } from '../../http/read-request.js'
import type { EndpointOptions } from './endpoint.js'
import { headerOf } from './head.js'

/** RFC 9728: what clients may know of the resource before they have a token. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const PATH = /^\/\.well-known\/oauth-protected-resource(\/mcp\/[a-z0-9][a-z0-9_-]{0,63})$/

export const isMetadata = (target: string): boolean => PATH.test(target)

type Here = Pick<EndpointOptions, 'scheme' | 'issuers' | 'servers'>

const originOf = ({ headers }: Pick<RequestHead, 'headers'>, { scheme }: Here): string =>
  `${scheme}://${(headerOf(headers, 'host') ?? '').replaceAll(/["\\\s]/g, '')}`

export const resourceMetadata = (head: RequestHead, here: Here): string =>
  `${originOf(head, here)}${WELL_KNOWN}${head.target}`

/** The same for every name: which servers there are is not for strangers. */
export function answerMetadata(head: RequestHead, res: ServerResponse, here: Here): void {
  const [, path = ''] = PATH.exec(head.target) ?? []
  if (head.method !== 'GET') {
    res.writeHead(405, { allow: 'GET' }).end()
    return
  }
  const body = JSON.stringify({
    resource: `${originOf(head, here)}${path}`,
    ...(here.issuers.length === 0 ? {} : { authorization_servers: here.issuers }),
    bearer_methods_supported: ['header'],
  })
  res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body)
}
