import { isObject, type JsonObject } from '../../../core/json/value.js'
import type { Executed } from '../../../gate/answer/answer.js'
import type { McpGate } from '../options.js'
import { responseIn } from './answer.js'

/** Tasks that a client may still ask for; the oldest are forgotten first. */
const MOST_TASKS = 10_000
/** A join key stands in a public capsule: nothing that is a sentence (seed §5.2). */
const REFERENCE = /^[^\s\p{C}]{1,256}$/u

/**
 * Which action each task of a server goes back to, so that its result, read later, is stated as that action's
 * outcome. Known while the session lasts: after it the task's result is a call of its own and nothing more.
 */
export function createTasks(gate: Pick<McpGate, 'recordTaskResult' | 'report'>) {
  const actions = new Map<string, string>()

  function remember(taskId: string, actionId: string): void {
    const [oldest] = actions.keys()
    if (actions.size >= MOST_TASKS && oldest !== undefined) actions.delete(oldest)
    actions.set(taskId, actionId)
  }

  return {
    /** After each call that ran, before its answer goes out. */
    async seen(answer: Executed, method: string, params: JsonObject): Promise<void> {
      const { observation, held } = answer.dispatched
      if (observation.kind !== 'unfinished' && !method.startsWith('tasks/')) return
      const response = held === null ? null : responseIn(held.body)
      const result = response?.body.kind === 'result' ? response.body.value : null
      if (observation.kind === 'unfinished' && result !== null) {
        const taskId = taskIdIn(result)
        if (taskId !== null) remember(taskId, answer.actionId)
        return
      }
      const taskId = params.get('taskId')
      if (observation.kind !== 'complete' || typeof taskId !== 'string') return
      const actionId = actions.get(taskId)
      const ended = method === 'tasks/result' || (method === 'tasks/get' && isEnd(result))
      if (actionId === undefined || !ended) return
      actions.delete(taskId)
      await gate.recordTaskResult({
        actionId,
        observed: withState(observation, result),
        ref: taskId,
      })
    },
  }
}
export type Tasks = ReturnType<typeof createTasks>

/** 2025-11-25 names it inside `task`, the extension of 2026-07-28 at the top. */
function taskIdIn(result: JsonObject): string | null {
  const task = result.get('task')
  const id = isObject(task) ? task.get('taskId') : result.get('taskId')
  return typeof id === 'string' && REFERENCE.test(id) ? id : null
}

/** The state alone is no result: a task that is done has it beside its state, one that failed has none. */
const isEnd = (result: JsonObject | null): boolean =>
  result !== null &&
  ((result.get('status') === 'completed' && isObject(result.get('result'))) ||
    result.get('status') === 'failed' ||
    result.get('status') === 'cancelled')

type Complete = Extract<Executed['dispatched']['observation'], { kind: 'complete' }>

function withState(observed: Complete, result: JsonObject | null): Complete {
  const status = result?.get('status')
  const inner = result?.get('result')
  const failed =
    status === 'failed' ||
    status === 'cancelled' ||
    (isObject(inner) && inner.get('isError') === true)
  return failed ? { ...observed, outcome: 'refused' } : observed
}
