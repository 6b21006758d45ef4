export type Era = 'legacy' | 'modern'
export type Note = { readonly method: string; readonly params?: unknown }

export type CallOptions = {
  readonly onProgress?: (step: { progress: number }) => void
  readonly signal?: AbortSignal
}

export type Listed = 'tools' | 'resources' | 'templates' | 'prompts'

/** What the person at the client does when the server asks, and what the client shows of itself. */
export type Hands = {
  /** Whether forms and pages are accepted; a test may change it between calls. */
  action: 'accept' | 'decline'
  readonly roots: readonly { uri: string; name: string }[]
  /** What the server asked for, in the order in which it came. */
  readonly asked: Note[]
}

/** The one shape in which scenarios see every client; results are as the library returned them. */
export interface McpClient {
  readonly era: Era
  readonly hands: Hands
  readonly heard: Heard
  hello(): unknown
  /** All pages. */
  list(kind: Listed): Promise<readonly unknown[]>
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<unknown>
  read(uri: string): Promise<unknown>
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<unknown>
  complete(params: Completion): Promise<unknown>
  /** Hear of changes to a resource and to the list of tools; resolves to what stops it. */
  watch(uri: string): Promise<() => Promise<void>>
  level(level: 'debug' | 'error'): Promise<void>
  rootsChanged(): Promise<void>
  task(name: string, args: Readonly<Record<string, unknown>>): Promise<TaskRun>
  /** A request the library has no function for. */
  request(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown>
  close(): Promise<void>
}

export type Completion = {
  ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string }
  argument: { name: string; value: string }
  context?: { arguments: Record<string, string> }
}

export type TaskRun = { readonly created: unknown; readonly result: unknown }

/** The notifications a client was given; one can wait for the next that fits. */
export type Heard = {
  readonly notes: readonly Note[]
  add(note: Note): void
  /** The first that fits after so many; rejects when none comes in time. */
  wait(fits: (note: Note) => boolean, after: number, patience: number): Promise<Note>
}
