import { expect, it } from '@jest/globals'
import { createPace } from '../../../src/app/telemetry/pace.js'

/** Works until the pace asks for a rest. */
function tired(pace: ReturnType<typeof createPace>): Promise<void> {
  for (;;) {
    const resting = pace.rest()
    if (resting !== null) return resting
  }
}

it('ends every wait when it stops, and none begins after that', async () => {
  const pace = createPace()
  // Two pieces of work share it; their timers alone would not keep a process alive.
  const waits = [tired(pace), tired(pace)]
  pace.stop()
  await Promise.all(waits)
  const until = performance.now() + 20
  while (performance.now() < until) expect(pace.rest()).toBeNull()
})
