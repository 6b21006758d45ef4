import * as s from '../../core/json/shape.js'

/**
 * What goes between two instances of `wrap` over the socket of a data folder: lines, each a message of the
 * protocol (`m…`) or a word about the instances themselves (`c…`).
 */
export type Frame =
  | { readonly kind: 'message'; readonly octets: Uint8Array }
  | { readonly kind: 'control'; readonly control: Control }

const hello = s.record({
  say: s.only('hello'),
  name: s.text,
  agent: s.text,
  command: s.text,
  args: s.list(s.anyText),
  cwd: s.text,
  env: s.mapOf(s.anyText),
})
/** What a second instance asks the first to start for it. */
export type Hello = s.Of<typeof hello>

const signal = s.record({ say: s.only('signal'), signal: s.oneOf('SIGINT', 'SIGTERM', 'SIGHUP') })
const stderr = s.record({ say: s.only('stderr'), base64: s.anyText })
/** `moved`: the first goes, the session does not: the second goes on by itself. */
const ended = s.record({ say: s.only('ended'), code: s.count, moved: s.flag })
/** A request that came when the first was going already: nothing was done with it. */
const back = s.record({ say: s.only('back'), base64: s.anyText })
/**
 * `welcome`: the first has heard the hello; what goes to one that never says it was not begun.
 * `moving`: the first is going; `still`: the second sends no more requests.
 * `done`: the client of the second has closed its end.
 */
const word = s.record({ say: s.oneOf('welcome', 'moving', 'still', 'done') })

export type Control =
  | Hello
  | s.Of<typeof signal>
  | s.Of<typeof stderr>
  | s.Of<typeof ended>
  | s.Of<typeof back>
  | s.Of<typeof word>

const SHAPES: Readonly<Record<Control['say'], s.Shape<Control>>> = {
  hello,
  signal,
  stderr,
  ended,
  back,
  welcome: word,
  moving: word,
  still: word,
  done: word,
}

const SAID = s.record({
  say: s.oneOf('hello', 'signal', 'stderr', 'ended', 'back', 'welcome', 'moving', 'still', 'done'),
})
const M = 0x6d

export const messageFrame = (octets: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(M), octets, Buffer.from('\n')])
export const controlFrame = (control: Control): Buffer =>
  Buffer.from(`c${JSON.stringify(control)}\n`, 'utf8')

/** Null for a line that is neither. */
export function readFrame(line: Uint8Array): Frame | null {
  if (line[0] === M) return { kind: 'message', octets: line.subarray(1) }
  const text = Buffer.from(line).toString('utf8')
  if (!text.startsWith('c')) return null
  try {
    const value: unknown = JSON.parse(text.slice(1))
    const say = s.read(SAID, value)
    if (!say.ok) return null
    const got = s.read(SHAPES[say.value.say], value)
    return got.ok ? { kind: 'control', control: got.value } : null
  } catch {
    return null
  }
}
