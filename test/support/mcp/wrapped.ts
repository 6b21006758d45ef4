import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { exportKeyring } from '../../../src/adapters/keys/keyring.js'
import { verifyLedger } from '../../../src/verify.js'

const MAIN = join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'main.js')
export const SERVER = join(import.meta.dirname, 'scripted-server.mjs')

export type Rpc = {
  readonly id?: number | string | null
  readonly method?: string
  // biome-ignore lint/suspicious/noExplicitAny: what another process sent
  readonly params?: any
  // biome-ignore lint/suspicious/noExplicitAny: what another process sent
  readonly result?: any
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
export type WrapOptions = {
  readonly args?: readonly string[]
  readonly data?: string
  readonly command?: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** Instead of the built command: a module that composes it otherwise. */
  readonly main?: readonly string[]
  /** Leaves stderr unread, as some clients do. */
  readonly deaf?: boolean
}

/** `wrap` in a process of its own, at the other end of its pipes a client that writes what a test tells it to. */
export class Wrapped {
  readonly child: ChildProcess
  /** Every line of stdout, as it came. */
  readonly lines: string[] = []
  stderr = ''
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  #rest = ''
  #last = 0
  readonly #waiting = new Set<() => void>()

  constructor(options: WrapOptions) {
    const { args = [], data, command = [], env = {}, cwd, main = [MAIN, 'wrap'] } = options
    const folder = data === undefined ? [] : ['--data', data]
    const behind = command.length === 0 ? [] : ['--', ...command]
    this.child = spawn(process.execPath, [...main, ...folder, ...args, ...behind], {
      cwd,
      env: { ...process.env, ...env },
      stdio: 'pipe',
    })
    this.child.stdout?.on('data', (piece) => this.#read(String(piece)))
    if (options.deaf !== true) {
      this.child.stderr?.on('data', (piece) => {
        this.stderr += piece
        this.#wake()
      })
    }
    this.child.stdin?.on('error', () => undefined)
    this.exited = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.#gone = true
        this.#wake()
        resolve({ code, signal })
      })
    })
  }

  #gone = false
  #read(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    this.lines.push(...lines)
    this.#wake()
  }
  #wake(): void {
    for (const wake of this.#waiting) wake()
  }

  /** What was read so far; a line that is no message is a failure of its own. */
  get messages(): readonly Rpc[] {
    return this.lines.map((line) => JSON.parse(line) as Rpc)
  }
  get pid(): number {
    return this.child.pid ?? 0
  }
  write(line: string): void {
    this.child.stdin?.write(`${line}\n`)
  }
  send(message: object): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }
  /** Resolves with the first value that is found; an ended process has none. */
  until<T>(find: () => T | undefined, what = 'it'): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find()
        if (found === undefined && !this.#gone) return
        this.#waiting.delete(look)
        if (found === undefined) reject(new Error(`${what} never came: ${this.stderr}`))
        else resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }
  answer(id: number | string): Promise<Rpc> {
    const own = (one: Rpc): boolean => one.id === id && one.method === undefined
    return this.until(() => this.messages.find(own), `the answer to ${id}`)
  }
  /** Its id; `answer` waits for what comes back. */
  ask(method: string, params: object = {}): number {
    const id = ++this.#last
    this.send({ id, method, params })
    return id
  }
  request(method: string, params: object = {}): Promise<Rpc> {
    return this.answer(this.ask(method, params))
  }
  call(name: string, args: object = {}, meta?: object): Promise<Rpc> {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) }
    return this.request('tools/call', params)
  }
  async initialize(capabilities: object = {}): Promise<Rpc> {
    const clientInfo = { name: 'test', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
    const answer = await this.request('initialize', params)
    this.send({ method: 'notifications/initialized' })
    return answer
  }
  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }
  /** The client closes its end. */
  async end(): Promise<number | null> {
    this.child.stdin?.end()
    return (await this.exited).code
  }
}

// biome-ignore lint/suspicious/noExplicitAny: lines of any type
export type JournalLine = any

export const journalText = (data: string): string =>
  readdirSync(join(data, 'journal'))
    .filter((file) => file.endsWith('.jsonl'))
    .sort()
    .map((file) => readFileSync(join(data, 'journal', file), 'utf8'))
    .join('')

export const journalOf = (data: string, type?: string): readonly JournalLine[] =>
  journalText(data)
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalLine)
    .filter((line) => type === undefined || line.type === type)

/** Of calls; the start of a gate has its own, which proves that it denies. */
export const capsulesOf = (data: string): readonly JournalLine[] =>
  journalOf(data, 'CAPSULE')
    .map(({ capsule }) => capsule)
    .filter(({ developer }) => developer !== 'dev.capsulegate.canary')

/** Verdict and effect of each, in a word. */
export const endsOf = (data: string): readonly string[] =>
  capsulesOf(data).map((capsule) => {
    const recovered = capsule['dev.capsulegate.recovered'] === undefined ? '' : ' recovered'
    return `${capsule.disposition.verdict_class} ${capsule.effect?.status ?? 'none'}${recovered}`
  })

/** What `ledger verify` would say of it. */
export function verified(data: string): { readonly status: string; readonly bad: unknown[] } {
  const { keys } = exportKeyring(join(data, 'keys'))
  const { results, journal } = verifyLedger(journalText(data), { keys, crypto: nodeCrypto })
  return { status: journal?.status ?? 'none', bad: results.filter(({ ok }) => !ok) }
}

/** What the server was sent, line by line. */
export const receivedIn = (log: string): readonly Rpc[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Rpc)

/** Folders and processes of one suite, all of which are gone behind it. */
export function workshop(prefix: string) {
  const dir = mkdtempSync(join(tmpdir(), prefix))
  const started: Wrapped[] = []
  let count = 0
  return {
    fresh() {
      const root = join(dir, String(++count))
      mkdirSync(root)
      return { root, data: join(root, 'data'), log: join(root, 'log') }
    },
    wrap(options: WrapOptions): Wrapped {
      const one = new Wrapped(options)
      started.push(one)
      return one
    },
    async stopAll(): Promise<void> {
      for (const one of started) one.signal('SIGKILL')
      await Promise.all(started.splice(0).map(({ exited }) => exited))
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

export const scripted = (log: string, ...habits: readonly string[]): readonly string[] => [
  process.execPath,
  SERVER,
  log,
  ...habits,
]

/** A gate.yaml with a manifest of a server `scripted` and policies beside it; gives the path of the first. */
export function filesIn(
  root: string,
  { config = '', tools = 'echo: {}', policies = ALL } = {},
): string {
  mkdirSync(join(root, 'manifests'))
  mkdirSync(join(root, 'policies'))
  const manifest = `id: com.acme.scripted\nserver: scripted\ntools:\n${indented(tools)}\n`
  writeFileSync(join(root, 'manifests', 'm.yaml'), manifest)
  writeFileSync(join(root, 'policies', 'p.cedar'), policies)
  writeFileSync(join(root, 'gate.yaml'), config)
  return join(root, 'gate.yaml')
}
const ALL = '@id("all") permit (principal == Agent::"local", action, resource);\n'
const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

/** Polls, for what nobody tells. */
export async function eventually(holds: () => boolean, what = 'it'): Promise<void> {
  for (const until = performance.now() + 20_000; !holds(); ) {
    if (performance.now() > until) throw new Error(`${what} did not happen`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Whether a call of this tool has reached the server. */
export const hasReached = (log: string, tool: string): boolean => {
  try {
    return receivedIn(log).some(({ params }) => params?.name === tool)
  } catch {
    return false
  }
}

export const textOf = (answer: Rpc): string => answer.result?.content?.[0]?.text
