/**
 * What became of the requests of a connection that are no longer under way: enough to tell a second answer from one
 * that nobody asked for. The newest only; who answers again after thousands of others is told as unasked.
 */
export type EndedIds = {
  /** `given_up`: it ended without an answer, which may still come. */
  add(key: string, how: 'answered' | 'given_up'): void
  /** What a response is that nobody waits for; null: the late answer to a request that was given up. */
  judge(key: string): 'answered_twice' | 'answered_unasked' | null
}

const REMEMBERED = 4096

export function createEndedIds(): EndedIds {
  const ended = new Map<string, 'answered' | 'given_up'>()
  const add: EndedIds['add'] = (key, how) => {
    ended.delete(key)
    ended.set(key, how)
    if (ended.size <= REMEMBERED) return
    for (const oldest of ended.keys()) {
      ended.delete(oldest)
      return
    }
  }
  return {
    add,
    judge(key) {
      const how = ended.get(key)
      if (how === undefined) return 'answered_unasked'
      if (how === 'answered') return 'answered_twice'
      add(key, 'answered')
      return null
    },
  }
}
