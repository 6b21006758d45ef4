import type { McpClient, Note } from './client.js'

/** Something a client does with a server; what it returns is compared with the gate and without. */
export type Scenario = {
  readonly name: string
  run(client: McpClient, at: Place): Promise<unknown>
}

export type Place = {
  /** A folder of this run alone. */
  readonly folder: string
  /** How long to wait for what should come unasked, in milliseconds. */
  readonly patience: number
}

export type Outcome =
  | { readonly works: true; readonly saw: unknown }
  | { readonly works: false; readonly why: unknown }

export function errorOf(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { message, code, data } = error as Error & { code?: unknown; data?: unknown }
  return { message, code, data }
}

/** The error of something that has to fail; it failing is what works. */
export async function failing(attempt: Promise<unknown>): Promise<unknown> {
  const done = await attempt.then(
    (result) => ({ result }),
    (error: unknown) => ({ error: errorOf(error) }),
  )
  if ('result' in done) throw new Error(`it did not fail: ${JSON.stringify(done.result)}`)
  return done.error
}

/** What the server asked the client for meanwhile; roots are asked for at any time. */
export async function asking(client: McpClient, attempt: Promise<unknown>): Promise<unknown> {
  const saw = await attempt
  return { saw, asked: client.hands.asked.filter(({ method }) => method !== 'roots/list') }
}

/** The first notification of that method since it began. */
export async function hearing(
  client: McpClient,
  { patience }: Place,
  fits: (note: Note) => boolean,
  begin: () => Promise<unknown>,
): Promise<unknown> {
  const before = client.heard.notes.length
  const saw = await begin()
  return { saw, heard: await client.heard.wait(fits, before, patience) }
}

/** A call that tells how far it is, and is given up at the first word of it. */
export async function givenUp(
  client: McpClient,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const stop = new AbortController()
  return failing(
    client.call(name, args, { signal: stop.signal, onProgress: () => stop.abort('enough') }),
  )
}

/**
 * A call and the first it said on the way. What comes together with the result is lost by the libraries, so how much
 * they hear of the rest is a matter of luck; it has to go up.
 */
export async function withProgress(
  client: McpClient,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const steps: { progress: number }[] = []
  const saw = await client.call(name, args, { onProgress: (step) => steps.push(step) })
  const goesUp = steps.every(({ progress }, nth) => progress > (steps[nth - 1]?.progress ?? 0))
  return { saw, first: steps[0], goesUp }
}

/** Twenty at once; the answers must not be mixed up. */
export const twenty = (call: (nth: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(Array.from({ length: 20 }, (_, nth) => call(nth)))
