import type { Hands, Heard, Note } from './client.js'

export const createHands = (roots: Hands['roots']): Hands => ({
  action: 'accept',
  roots,
  asked: [],
})

export const CAPABILITIES = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
}

/** Fills a form with the first choice of each field that must be filled; the test, not the model, is the person. */
export function answerForm(
  hands: Hands,
  params: unknown,
): { action: 'accept' | 'decline'; content?: Record<string, string> } {
  if (hands.action === 'decline') return { action: 'decline' }
  const asked = params as {
    mode?: string
    requestedSchema?: {
      required?: string[]
      properties?: Record<string, { oneOf?: { const: string }[] }>
    }
  }
  if (asked.mode === 'url') return { action: 'accept' }
  const { required = [], properties = {} } = asked.requestedSchema ?? {}
  return {
    action: 'accept',
    content: Object.fromEntries(
      required.map((field) => [field, properties[field]?.oneOf?.[0]?.const ?? 'Ada']),
    ),
  }
}

export const SAMPLE = {
  model: 'test-model',
  role: 'assistant',
  content: { type: 'text', text: '42' },
} as const

export function createHeard(): Heard {
  const notes: Note[] = []
  const waiting = new Set<() => void>()
  return {
    notes,
    add: (note) => {
      notes.push(note)
      for (const look of [...waiting]) look()
    },
    wait: (fits, after, patience) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look)
          reject(new Error('the notification did not come'))
        }, patience)
        const look = (): void => {
          const found = notes.slice(after).find(fits)
          if (found === undefined) return
          clearTimeout(late)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
  }
}

/**
 * Streams that end are not taken up again, as they would be by default after a second: server-everything then says
 * everything again that it has said since, to every client at another moment.
 */
export const ONCE = {
  initialReconnectionDelay: 1000,
  maxReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 0,
}

type Held = { readonly pid?: number | null; terminateSession?(): Promise<void> }

/**
 * Ends the session, or the process: a server may stay when its input ends, and a client waits two seconds before it
 * says more, so it is told to go at once.
 */
export async function leave(client: { close(): Promise<void> }, transport: Held): Promise<void> {
  if (transport.terminateSession !== undefined) await transport.terminateSession()
  else if (typeof transport.pid === 'number') process.kill(transport.pid, 'SIGTERM')
  await client.close()
}

/** What a process said last, for the message of a connection that failed. */
export function lastWords(
  stderr: { on(event: 'data', listener: (piece: Buffer) => void): unknown } | null,
) {
  let said = ''
  stderr?.on('data', (piece) => {
    said = (said + String(piece)).slice(-2048)
  })
  return async (connecting: Promise<void>): Promise<void> => {
    try {
      await connecting
    } catch (error) {
      if (error instanceof Error && said !== '') error.message += `\nIt had said: ${said}`
      throw error
    }
  }
}
