import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { utf8 } from '../../src/core/bytes/text.js'
import type { Answer } from '../../src/gate/answer/answer.js'
import { answered, tool, unreachable } from '../support/approvals.js'
import { OTHER_TOKEN, refund, rig, TOKEN } from '../support/rig.js'
import { approvalConformance, DECLARING, type Sent, type Told } from './approval-conformance.js'

/** The spine itself, no mount in front of it. */
approvalConformance('govern', async (time, rules) => {
  const dir = mkdtempSync(join(tmpdir(), 'gate-conformance-'))
  let down = false
  const { sent, dispatch } = tool(() => (down ? unreachable() : answered()))
  const options = {
    clock: time.clock,
    timer: time.timer,
    mandateIssuers: DECLARING.options,
  }
  let at = await rig({ ...rules, ...options }, dir)
  return {
    get gate() {
      return at.gate
    },
    send: async (call) => told(await at.gate.govern(httpOf(call), dispatch)),
    async sendAnd(call) {
      let left = false
      at.gate.govern({ ...httpOf(call), callerLeft: () => left }, dispatch).catch(() => undefined)
      return {
        async leave() {
          left = true
        },
      }
    },
    reached: () => sent.length,
    sendNothing(on) {
      down = on
    },
    capsules: () => at.capsules(),
    async restart(more = {}) {
      await at.gate.close()
      at = await rig({ ...rules, ...more, ...options }, dir)
    },
    close: () => at.close(),
  }
})

const httpOf = ({ amount, order = 'o-1', as = 'support-bot', ...more }: Sent) =>
  refund(
    amount,
    {
      caller: {
        bearer: as === 'support-bot' ? TOKEN : OTHER_TOKEN,
        certificate: null,
        asserted: null,
        source: '127.0.0.1',
      },
      approvalId: more.approvalId ?? null,
      waitSeconds: more.waitSeconds ?? 0,
      idempotencyKey: more.idempotencyKey ?? null,
      ...(more.declared === undefined
        ? {}
        : {
            declared: {
              kind: 'carried' as const,
              intent: utf8(JSON.stringify(more.declared.intent)),
              mandate: more.declared.mandate,
            },
          }),
    },
    order,
  )

function told(answer: Answer): Told {
  const { caller: _, ...rest } = answer
  const wire = JSON.stringify(rest)
  switch (answer.kind) {
    case 'executed':
      return { status: 200, code: null, approvalId: null, capsuleId: answer.capsuleId, wire }
    case 'replayed':
      return { status: 200, code: null, approvalId: null, capsuleId: answer.capsuleId, wire }
    case 'unrecorded':
      return { status: answer.status, code: answer.code, approvalId: null, capsuleId: null, wire }
    case 'refused':
    case 'pending':
    case 'joined': {
      const { approval_id, differs_at } = answer.problem
      return {
        status: answer.status,
        code: answer.code,
        approvalId: typeof approval_id === 'string' ? approval_id : null,
        capsuleId: answer.capsuleId,
        differsAt: typeof differs_at === 'string' ? differs_at : null,
        wire,
      }
    }
  }
}
