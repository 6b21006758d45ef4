import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { deliveryId } from '../../../src/adapters/webhook/intake.js'
import { PER_ENDPOINT } from '../../../src/adapters/webhook/queue.js'
import { denied, granted, journal, opened, receiver } from './harness.js'

const CHILD = join(import.meta.dirname, 'kill-child.mjs')

async function run(order: object): Promise<{ code: number | null; signal: string | null }> {
  const child = spawn(process.execPath, [CHILD, JSON.stringify(order)], { stdio: 'inherit' })
  const [code, signal] = await once(child, 'close')
  return { code, signal }
}

it('killed between sending and recording, again and again, an outbox repeats and loses nothing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gate-webhooks-kill-'))
  const hook = await receiver()
  try {
    const log = journal()
    for (let i = 0; i < 6; i += 1) {
      log.append('APPROVAL_OPENED', opened(`a-${i}`, '2099-01-01T00:00:00.000Z'))
      log.append('GRANT_ISSUED', granted(`a-${i}`))
      log.append('CAPSULE', denied(`x-${i}`))
    }
    const linesFile = join(folder, 'lines.json')
    writeFileSync(linesFile, JSON.stringify(log.lines))
    const order = { folder: join(folder, 'outbox'), url: hook.url, linesFile }

    const kills = [
      { seam: 'before_send', nth: 1 },
      { seam: 'after_send', nth: 1 },
      { seam: 'after_send', nth: 3 },
      { seam: 'before_send', nth: 5 },
      { seam: 'after_send', nth: 6 },
    ]
    for (const kill of kills) {
      expect(await run({ ...order, ...kill })).toEqual({ code: null, signal: 'SIGKILL' })
    }
    expect(await run(order)).toEqual({ code: 0, signal: null })

    const type = {
      APPROVAL_OPENED: 'approval.requested',
      GRANT_ISSUED: 'approval.decided',
    } as const
    const expected = log.lines.map((line) =>
      deliveryId(
        'gate-1',
        line.seq,
        type[line.type as keyof typeof type] ?? 'verdict.denied',
        'chat',
      ),
    )
    expect(new Set(hook.got.map(({ id }) => id))).toEqual(new Set(expected))
    expect(hook.got.length).toBeLessThanOrEqual(expected.length + kills.length * PER_ENDPOINT)
    // First sightings keep each approval's order.
    const first = (id: string | undefined): number => hook.got.findIndex((got) => got.id === id)
    for (let i = 0; i < 6; i += 1) {
      expect(first(expected[3 * i])).toBeLessThan(first(expected[3 * i + 1]))
    }
    // Nothing is left to do for the one that comes after.
    const before = hook.got.length
    expect(await run(order)).toEqual({ code: 0, signal: null })
    expect(hook.got).toHaveLength(before)
  } finally {
    await hook.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
