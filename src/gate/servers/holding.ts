import type { Parts } from '../context.js'

/** One at a time of each server, so that nothing is pinned twice and nothing is compared with an older pin. */
export async function holding<T>(
  server: string,
  { state, ids }: Pick<Parts, 'state' | 'ids'>,
  run: () => Promise<T>,
): Promise<T> {
  const by = ids.actionId()
  for (;;) {
    const claimed = await state.claim(`pins ${server}`, by)
    if (claimed.kind === 'claimed') break
    await claimed.settled
  }
  try {
    return await run()
  } finally {
    await state.unclaim(by)
  }
}
