import { Worker } from 'node:worker_threads'
import { CEDAR_MODULE, type CedarWasm } from '../evaluate/wasm.js'

/**
 * Cedar in a worker thread, for text that has not been checked yet: a trap there loses the worker's instance and not
 * the one that decides.
 */
export type CedarWorker = {
  /** Calls in order; the first that throws ends the batch, and the result names it. */
  call<F extends keyof CedarWasm>(
    fn: F,
    calls: readonly Parameters<CedarWasm[F]>[],
  ): Promise<WorkerResult<ReturnType<CedarWasm[F]>>>
  close(): Promise<void>
}
export type WorkerResult<T> =
  | { readonly ok: true; readonly values: readonly T[] }
  /** `at` is null when the worker itself died or took too long. */
  | { readonly ok: false; readonly at: number | null; readonly detail: string }

/** Source text, so that it runs from any build of this file without a second one beside it. */
const WORKER = `
const { parentPort, workerData } = require('node:worker_threads')
const cedar = require(workerData)
parentPort.on('message', ({ fn, calls }) => {
  const values = []
  try {
    for (const args of calls) values.push(cedar[fn](...args))
  } catch (error) {
    return parentPort.postMessage({ ok: false, at: values.length, detail: String(error) })
  }
  parentPort.postMessage({ ok: true, values })
})
`
/**
 * A smaller stack than the main thread's (984 KiB, of which the worker keeps some back): what survives
 * here survives there, whatever frames the server has below it.
 */
const RESOURCES = { stackSizeMb: 1, maxOldGenerationSizeMb: 512 }
const DEADLINE_MS = 60_000

export function startWorker(deadlineMs = DEADLINE_MS): CedarWorker {
  const worker = new Worker(WORKER, {
    eval: true,
    workerData: CEDAR_MODULE,
    resourceLimits: RESOURCES,
    env: {},
    execArgv: [],
  })
  let dead: string | null = null
  let settle: (result: WorkerResult<unknown>) => void = () => {}
  const die = (detail: string): void => {
    dead ??= detail
    settle({ ok: false, at: null, detail: dead })
  }
  worker.on('message', (result: WorkerResult<unknown>) => settle(result))
  worker.on('messageerror', (error) => die(String(error)))
  worker.on('error', (error) => die(String(error)))
  worker.on('exit', () => die('the worker ended'))

  const call = async (fn: string, calls: readonly unknown[]): Promise<WorkerResult<unknown>> => {
    if (dead !== null) return { ok: false, at: null, detail: dead }
    const settled = new Promise<WorkerResult<unknown>>((resolve) => {
      settle = resolve
    })
    const timer = setTimeout(() => die(`no answer within ${deadlineMs} ms`), deadlineMs)
    worker.postMessage({ fn, calls })
    const result = await settled
    clearTimeout(timer)
    return result
  }
  return {
    call: call as CedarWorker['call'],
    async close() {
      await worker.terminate()
    },
  }
}
