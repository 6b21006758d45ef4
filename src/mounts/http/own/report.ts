import type { ServerResponse } from 'node:http'
import type { Agent } from '../../../core/call/agent.js'
import { malformedInWords } from '../../../core/call/malformed.js'
import { readReport } from '../../../core/runtime/report.js'
import type { Gate } from '../../../gate/gate.js'
import { type Body, restOf } from '../read-body.js'
import { respond, sendProblem } from '../respond.js'
import { gateHeaders } from '../response-headers.js'
import { reservedProblem, sendJson } from './problems.js'

/** What a runtime may say of one act; it is kept whole, in evidence. */
export const MOST_REPORTED = 256 * 1024

/** `POST /.gate/v1/actions/{id}/report`: this is what became of it. Answered when it is on record. */
export async function answerReport(
  actionId: string,
  caller: Agent,
  body: Body,
  res: ServerResponse,
  gate: Gate,
): Promise<void> {
  if (body.kind !== 'read') {
    return sendProblem(res, unreadProblem(body), [], restOf(body))
  }
  const read = readReport(body.bytes)
  if (!read.ok) {
    return sendProblem(res, reservedProblem('report_malformed', { fault: read.fault }))
  }
  const reported = await gate.takeReport(actionId, caller, read.report)
  switch (reported.kind) {
    case 'recorded': {
      const { verdict, capsuleId } = reported
      const told = { action_id: actionId, verdict, capsule_id: capsuleId }
      return sendJson(res, told, gateHeaders(reported))
    }
    case 'over': {
      const { capsuleId: capsule_id } = reported
      const ids = { action_id: actionId, ...(capsule_id === null ? {} : { capsule_id }) }
      return sendProblem(res, reservedProblem('report_over', ids))
    }
    case 'refused':
      return respond(reported, res, null, 'drained')
    case 'too_many':
      return sendProblem(res, reservedProblem('reports_exhausted', { retry_after_seconds: 60 }))
    case 'unrecorded':
      return sendProblem(res, reported.problem)
  }
}

function unreadProblem(body: Exclude<Body, { kind: 'read' }>) {
  switch (body.kind) {
    case 'too_large':
      return reservedProblem('report_too_large')
    case 'no_room':
      return reservedProblem('reports_exhausted', { retry_after_seconds: 1 })
    case 'malformed':
      return reservedProblem('report_malformed', { fault: malformedInWords(body.fault) })
    case 'aborted':
    case 'consumed':
    case 'unread':
      return reservedProblem('report_malformed', { fault: 'the body ended early' })
  }
}
