/**
 * Who is cut when a signal aborts. The signal of a shutdown is shared by every call under way, and a
 * listener of its own for each cost as much as reading the response head: the signal has one, and
 * the calls stand in a set.
 */
export type Cuttable = { aborted(): void }

const watched = new WeakMap<AbortSignal, Set<Cuttable>>()

/** The set in which `call` stands; whoever is over takes itself out. */
export function watchAbort(signal: AbortSignal, call: Cuttable): Set<Cuttable> {
  const calls = watched.get(signal) ?? listen(signal)
  calls.add(call)
  return calls
}

function listen(signal: AbortSignal): Set<Cuttable> {
  const calls = new Set<Cuttable>()
  watched.set(signal, calls)
  signal.addEventListener(
    'abort',
    () => {
      for (const call of calls) call.aborted()
    },
    { once: true },
  )
  return calls
}
