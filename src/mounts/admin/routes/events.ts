import type { Response } from 'express'
import { GateError } from '../../../core/error.js'
import { isHeadType } from '../../../core/journal/vocabulary.js'
import type { Read } from '../../../gate/read.js'
import type { JournalLine } from '../../../ports/journal.js'
import { AdminProblem } from '../problem.js'
import { publicLine } from '../public-line.js'
import { route } from '../route.js'

export const events = route({
  method: 'get',
  path: '/v1/events',
  summary:
    "The journal as it grows (server-sent events): each line's public members, without heads and seals. " +
    "The id is the line's seq; `Last-Event-ID` goes on after it, from the first line with 0.",
  roles: ['viewer', 'auditor', 'approver', 'operator'],
  answers: { 200: [{ type: 'text/event-stream' }] },
  handle({ http, stillAllowed }, { gate }) {
    const { read } = gate
    const { seq } = read.head()
    const last = http.get('last-event-id') ?? String(seq)
    if (!/^\d{1,15}$/.test(last) || Number(last) > seq) {
      throw new AdminProblem('request_invalid', 'Last-Event-ID is no line of this journal.')
    }
    return {
      kind: 'stream',
      run: (response) => follow(response, read, Number(last) + 1, stillAllowed),
    }
  },
})

/** A reader that falls further behind than this is served from the journal again, not from memory. */
const MAX_QUEUED = 1_000
const BEAT_MS = 15_000

/** Every line from `next` on, in order, each once, for as long as the reader stays and may. */
async function follow(
  response: Response,
  { lines, subscribe }: Pick<Read, 'lines' | 'subscribe'>,
  from: number,
  stillAllowed: () => boolean,
): Promise<void> {
  let next = from
  let queue: JournalLine[] = []
  let behind = true
  let wake = (): void => {}
  const stop = subscribe((line) => {
    if (queue.length >= MAX_QUEUED) behind = true
    if (!behind) queue.push(line)
    wake()
  })
  const open = (): boolean => !response.destroyed && !response.writableEnded && stillAllowed()
  const send = async (line: JournalLine): Promise<void> => {
    if (line.seq < next) return
    next = line.seq + 1
    // Live lines come without the journal's own; lines that are read again must not have them either.
    if (isHeadType(line.type)) return
    const data = JSON.stringify(publicLine(line))
    if (!response.write(`id: ${line.seq}\nevent: ${line.type}\ndata: ${data}\n\n`)) {
      await drained(response)
    }
  }
  const beat = setInterval(() => {
    // Keeps the way open, and notices a token revoked while nothing happens.
    if (open()) response.write(':\n\n')
    wake()
  }, BEAT_MS)
  response.on('close', () => wake())
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  response.write(':\n\n')
  try {
    while (open()) {
      if (behind) {
        behind = false
        queue = []
        for await (const line of lines(next)) {
          if (!open()) return
          await send(line)
        }
      }
      const line = queue.shift()
      if (line === undefined) {
        if (behind) continue
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      } else await send(line)
    }
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== 'archived') throw error
    response.write('event: archived\ndata: {}\n\n')
  } finally {
    clearInterval(beat)
    stop()
    response.end()
  }
}

const drained = (response: Response): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
    if (response.destroyed) go()
  })
