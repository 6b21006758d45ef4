import { messageOf } from '../output/print.js'

/** One thing an installation needs. `fix` is what to type, or what to change, when it is not there. */
export type Check = {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly fix: string | null
}

const check =
  (status: Check['status']) =>
  (name: string, detail: string, fix: string | null): Check => ({ name, status, detail, fix })

export const ok = (name: string, detail: string): Check => check('ok')(name, detail, null)
export const warn = check('warn')
export const fail = check('fail')

/** A check that throws is a failed one, with its message. */
export async function attempt(
  name: string,
  fix: string,
  run: () => Promise<readonly Check[]> | readonly Check[],
): Promise<readonly Check[]> {
  try {
    return await run()
  } catch (error) {
    return [fail(name, messageOf(error), fix)]
  }
}
