import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { watchFolders } from '../../../src/app/judges/watch-folders.js'

it('calls once for a burst of writes, and again for a change during the call', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'gate-watch-'))
  let calls = 0
  let wake: () => void = () => undefined
  const called = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve
    })
  let next = called()
  let release: () => void = () => undefined
  const watcher = watchFolders([dir], async () => {
    calls++
    wake()
    await new Promise<void>((resolve) => {
      release = resolve
    })
  })
  await watcher.ready
  for (const name of ['a', 'b', 'c']) writeFileSync(join(dir, `${name}.cedar`), name)
  await next
  expect(calls).toBe(1)
  next = called()
  writeFileSync(join(dir, 'a.cedar'), 'changed while the first call runs')
  release()
  await next
  expect(calls).toBe(2)
  release()
  await watcher.close()
  rmSync(dir, { recursive: true })
})
