/** One thing an installation needs. `fix` is what to type, or what to change, when it is not there. */
export type Check = {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly fix: string | null
}

export const ok = (name: string, detail: string): Check => ({
  name,
  status: 'ok',
  detail,
  fix: null,
})
export const warn = (name: string, detail: string, fix: string): Check => ({
  name,
  status: 'warn',
  detail,
  fix,
})
export const fail = (name: string, detail: string, fix: string): Check => ({
  name,
  status: 'fail',
  detail,
  fix,
})

export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

/** A check that itself breaks down is a failed one, with what it said. */
export async function attempt(
  name: string,
  fix: string,
  run: () => Promise<readonly Check[]> | readonly Check[],
): Promise<readonly Check[]> {
  try {
    return await run()
  } catch (error) {
    return [fail(name, reasonOf(error), fix)]
  }
}
