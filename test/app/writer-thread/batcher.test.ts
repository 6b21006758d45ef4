import type { Worker } from 'node:worker_threads'
import { describe, expect, it } from '@jest/globals'
import { createBatcher } from '../../../src/app/writer-thread/batcher.js'
import type { ToWorker, Write } from '../../../src/app/writer-thread/protocol.js'

/** A worker that only keeps what it is sent. */
function kept() {
  const sent: ToWorker[] = []
  const refs: boolean[] = []
  const worker = {
    postMessage: (message: ToWorker) => void sent.push(message),
    ref: () => void refs.push(true),
    unref: () => void refs.push(false),
  }
  const batcher = createBatcher(worker as unknown as Worker, () => 1)
  return { batcher, sent, isHeld: () => refs.at(-1) ?? false }
}
const line = (name: string): Write => ({
  kind: 'append',
  entries: [{ type: 'NOTE', json: JSON.stringify({ name }), listed: null }] as never,
  urgent: false,
})
const evidence = (name: string): Write => ({ kind: 'put', record: [name], urgent: false })
const named = (write: Write): string =>
  write.kind === 'put'
    ? `evidence ${String(write.record[0])}`
    : (JSON.parse(String(write.entries[0]?.json)) as { name: string }).name
const batches = (sent: readonly ToWorker[]): string[][] =>
  sent.flatMap((message) => (message.kind === 'batch' ? [message.writes.map(named)] : []))
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const done = (count: number) => Array.from({ length: count }, () => [undefined, null] as const)

describe('a write that goes with the next one', () => {
  it('is sent by nothing of its own, however long nothing follows', async () => {
    const { batcher, sent } = kept()
    void batcher.write(evidence('a'), { withNext: true })
    void batcher.write(line('a'), { withNext: true })
    await turn()
    await turn()
    expect(sent).toEqual([])
  })

  it('goes before the write that follows, in the same batch and in its order', async () => {
    const { batcher, sent } = kept()
    void batcher.write(evidence('a'), { withNext: true })
    void batcher.write(line('a'), { withNext: true })
    void batcher.write(evidence('b'), { withNext: true })
    void batcher.write(line('b'), { withNext: true })
    await turn()
    void batcher.write(evidence('c'))
    void batcher.write(line('c'))
    await turn()
    expect(batches(sent)).toEqual([['evidence a', 'a', 'evidence b', 'b', 'evidence c', 'c']])
  })

  it('goes with what waits for a batch on its way, and is not overtaken', async () => {
    const { batcher, sent } = kept()
    void batcher.write(line('first'))
    await turn()
    void batcher.write(line('a'), { withNext: true })
    void batcher.write(line('b'))
    void batcher.write(line('c'), { withNext: true })
    await turn()
    expect(batches(sent)).toEqual([['first']])
    batcher.written(0, done(1))
    await turn()
    expect(batches(sent)).toEqual([['first'], ['a', 'b', 'c']])
  })

  it('is pushed by a request, because what is asked may be about it', async () => {
    const { batcher, sent } = kept()
    const written = batcher.write(line('a'), { withNext: true })
    void batcher.request('extent')
    expect(sent.map(({ kind }) => kind)).toEqual(['batch', 'request'])
    const [batch] = sent
    batcher.written(batch?.kind === 'batch' ? batch.number : -1, [['there', null]])
    expect(await written).toBe('there')
  })

  it('is settled with its own result, not with that of the write that took it along', async () => {
    const { batcher } = kept()
    const first = batcher.write(line('a'), { withNext: true })
    const second = batcher.write(line('b'))
    await turn()
    batcher.written(0, [
      [undefined, { name: 'Error', message: 'no room' }],
      ['there', null],
    ])
    await expect(first).rejects.toThrow('no room')
    expect(await second).toBe('there')
  })

  it('is rejected when the thread is lost, and so is every one after', async () => {
    const { batcher, sent } = kept()
    const waiting = batcher.write(line('a'), { withNext: true })
    batcher.lost(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    await expect(batcher.write(line('b'), { withNext: true })).rejects.toThrow('gone')
    expect(sent).toEqual([])
  })

  it('keeps the process while it waits: its promise is somebody’s', () => {
    const { batcher, isHeld } = kept()
    void batcher.write(line('a'), { withNext: true })
    expect(isHeld()).toBe(true)
  })
})
