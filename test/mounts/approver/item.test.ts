import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { itemPage } from '../../../src/mounts/approver/item.js'
import { called, filesGate, REMOVE } from '../../gate/servers/files-server.js'
import { approvalOf, tool } from '../../support/approvals.js'
import { expectConformance } from '../../support/conformance.js'
import type { Rig } from '../../support/rig.js'

let at: Rig
beforeEach(async () => {
  at = await filesGate()
  await at.gate.pinTools('files', [REMOVE])
})
afterEach(() => at.close())

const session = {
  pathId: 'p',
  principal: { name: 'dora', role: 'approver', groups: [], machine: false },
  token: 't',
  csrf: 'c',
  secure: false,
} as const

it('shows of a call to a server all that is sent, and how the tool was described', async () => {
  const call = called(REMOVE, 'remove', { more: '"task":{"ttl":"\u202e5"}' })
  const asked = await at.gate.govern(call, tool().dispatch)
  if (asked.kind !== 'pending') throw new Error(asked.kind)
  const approval = await approvalOf(at.gate, asked.approvalId)
  const shown = await at.gate.read.document(approval)
  const page = itemPage({ session, approval, shown, hindrance: null, attempt: null })
  expect(page).toContain(REMOVE.digest)
  expect(page).toContain('tools/call remove')
  expect(page).toContain(String.raw`{&quot;task&quot;:{&quot;ttl&quot;:&quot;\u{202E}5&quot;}}`)
  expect(page).not.toContain('\u202e')
  expect((await expectConformance(at)).get('approval_document')).toBe(1)
})
