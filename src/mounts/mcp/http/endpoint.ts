import type { ServerResponse } from 'node:http'
import type { Agent } from '../../../core/call/agent.js'
import type { Malformed } from '../../../core/call/malformed.js'
import type { Hashing } from '../../../core/crypto/crypto.js'
import type { Identified } from '../../../ports/identity.js'
import type { MountBeside } from '../../http/beside.js'
import { declaredHeaders } from '../../http/declared.js'
import type { BodyLimits } from '../../http/limits.js'
import type { RequestHead } from '../../http/read-request.js'
import { type Incoming, readWhole } from '../../http/read-whole.js'
import { malformed } from '../call/answer.js'
import { backgroundOver } from '../call/background.js'
import { recordUnread, type Unread } from '../call/unread.js'
import type { McpOptions, Sender, Served } from '../options.js'
import { createSession } from '../session.js'
import { openEventStream } from './event-stream.js'
import { headerOf, paramsIn, siteFault } from './head.js'
import { answerMetadata, isMetadata, resourceMetadata } from './metadata.js'
import { answerPost, sendReply } from './post.js'
import { createSessions, type SessionLimits, type Sessions } from './sessions.js'

export type EndpointOptions = McpOptions & {
  readonly servers: ReadonlyMap<string, Served>
  readonly hashing: Hashing
  readonly body: BodyLimits
  readonly sessions: SessionLimits
  /** The listener is on this machine alone. */
  readonly loopback: boolean
  /** `http` or `https`, as clients reach it. */
  readonly scheme: string
  /** Who issues the tokens that callers may bring (RFC 9728). */
  readonly issuers: readonly string[]
}

const PATH = /^\/mcp\/([a-z0-9][a-z0-9_-]{0,63})$/

/** Streamable HTTP at /mcp/{server}: 2026-07-28 without sessions, the revisions before with them. */
export function createMcpEndpoint(
  options: EndpointOptions,
): MountBeside & { close(drainMs: number): Promise<void> } {
  const { gate, servers } = options
  const sessions = createSessions(
    (served, client) => createSession(served, client, options),
    options.sessions,
    (error) => gate.report({ level: 'error', event: 'session_not_closed', detail: String(error) }),
  )

  async function serve(
    head: RequestHead,
    identified: Identified,
    incoming: Incoming,
  ): Promise<void> {
    const { res } = incoming
    if (isMetadata(head.target)) return answerMetadata(head, res, options)
    const [, name = ''] = PATH.exec(head.target) ?? []
    const served = servers.get(name)
    const sender: Sender = {
      caller: head.caller,
      identified,
      params: paramsIn(head.headers),
      ...(head.declared === undefined ? {} : { declared: declaredHeaders(head.headers) }),
    }
    const refuse = async (fault: Unread | Malformed, status?: number): Promise<void> => {
      const answer = await recordUnread(fault, name, sender, gate)
      const reply = malformed(answer, fault, null)
      const challenge = reply.status === 401 ? challengeOf(head, options) : {}
      // What is left of an unread body would be read as the next request's head.
      res.shouldKeepAlive = false
      sendReply(res, { ...reply, status: status ?? reply.status }, false, challenge)
    }
    const foreign = siteFault(head.headers, options.loopback)
    if (foreign !== null) return refuse(foreign, 403)
    if (identified.kind === 'unknown') return refuse('unread')
    if (served === undefined) return refuse('server_unknown', 404)
    switch (head.method) {
      case 'POST':
        return post(head, identified, incoming, served, sender, refuse)
      case 'GET':
        return stand(head, identified, res, served)
      case 'DELETE': {
        const one = sessionOf(head, identified, served, sessions)
        if (one !== null) await sessions.end(one)
        res.writeHead(one === null ? 404 : 204).end()
        return
      }
      default:
        res.writeHead(405, { allow: 'POST, GET, DELETE' }).end()
    }
  }

  async function post(
    head: RequestHead,
    { agent }: Agent,
    incoming: Incoming,
    served: Served,
    sender: Sender,
    refuse: (fault: Unread | Malformed) => Promise<void>,
  ): Promise<void> {
    const room = gate.memory.bodyOf(agent)
    try {
      const body = await readWhole(head, incoming, options.body, room)
      if (body.kind === 'malformed') return await refuse(body.fault)
      if (body.kind === 'aborted') return await refuse('aborted')
      if (body.kind !== 'read') {
        return await refuse(body.kind === 'too_large' ? 'too_large' : 'no_room')
      }
      // From here on the session counts it.
      room.giveBack()
      const { headers } = head
      if (!isJson(headerOf(headers, 'content-type'))) return await refuse('message_not_json')
      const { res } = incoming
      await answerPost(
        { octets: body.bytes, headers, sender, agent, res },
        served,
        sessions,
        options,
      )
    } finally {
      room.giveBack()
    }
  }

  /** The stream on which a server's own messages reach a client of the older revisions. */
  async function stand(
    head: RequestHead,
    agent: Agent,
    res: ServerResponse,
    served: Served,
  ): Promise<void> {
    const one = sessionOf(head, agent, served, sessions)
    if (one === null) {
      const named = headerOf(head.headers, 'mcp-session-id') !== null
      res.writeHead(named ? 404 : 405, { allow: 'POST' }).end()
      return
    }
    if (one.standing !== null) {
      res.writeHead(409).end()
      return
    }
    const stream = openEventStream(res)
    one.standing = stream
    await new Promise<void>((resolve) => res.once('close', () => resolve()))
    if (one.standing === stream) one.standing = null
  }

  return {
    takes: (target) => PATH.test(target) || isMetadata(target),
    background: backgroundOver(servers, gate),
    serve,
    close: sessions.close,
  }
}

function sessionOf(head: RequestHead, { agent }: Agent, served: Served, sessions: Sessions) {
  const id = headerOf(head.headers, 'mcp-session-id')
  return id === null ? null : sessions.find(id, agent, served.name)
}

const isJson = (type: string | null): boolean =>
  type !== null && /^application\/json[ \t]*(?:;|$)/i.test(type)

/** RFC 9728 §5.1: where a client learns who issues tokens for this resource. */
const challengeOf = (head: RequestHead, options: EndpointOptions): Record<string, string> => ({
  'www-authenticate': `Bearer realm="capsule-gate", resource_metadata="${resourceMetadata(head, options)}"`,
})
