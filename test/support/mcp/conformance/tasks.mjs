/** The tasks extension of the newer era, which the library leaves to servers: tools that take their time. */
import { randomUUID } from 'node:crypto'
import {
  inputRequired,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { answered, form } from './asking.mjs'
import { text } from './content.mjs'
import { NOTHING, tool } from './tools.mjs'

export const TASKS = 'io.modelcontextprotocol/tasks'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const REQUIRED = { requiredCapabilities: { extensions: { [TASKS]: {} } } }
const ENDED = ['completed', 'failed', 'cancelled']

/** Each request has a server of its own; the tasks outlive them. */
const tasks = new Map()

const knowsTasks = ({ mcpReq }) =>
  mcpReq.envelope?.[CAPABILITIES]?.extensions?.[TASKS] !== undefined

function create(work) {
  const now = new Date().toISOString()
  const task = {
    taskId: randomUUID(),
    status: 'working',
    createdAt: now,
    lastUpdatedAt: now,
    ttlMs: 60_000,
    pollIntervalMs: 100,
  }
  tasks.set(task.taskId, task)
  const move = (change) => {
    if (ENDED.includes(task.status)) return
    Object.assign(task, change, { lastUpdatedAt: new Date().toISOString() })
  }
  work(move)
  return { resultType: 'task', ...shown(task) }
}

const shown = ({ onAnswers: _, ...task }) => task

/** Ends after so many seconds, unless it is cancelled. */
const after = (seconds, end) => (move) => {
  setTimeout(() => move(end), seconds * 1000).unref()
}

/** Waits for answers to all that it asks, and takes them one by one. */
const asks = (inputRequests) => (move) => {
  const left = { ...inputRequests }
  const onAnswers = (answers) => {
    for (const key of Object.keys(answers)) delete left[key]
    if (Object.keys(left).length > 0) move({ inputRequests: { ...left } })
    else move({ status: 'completed', inputRequests: undefined, result: text('Thank you.') })
  }
  setTimeout(() => move({ status: 'input_required', inputRequests: { ...left }, onAnswers }), 20)
}

const confirm = form('Really?', { confirm: { type: 'boolean' } })
const askName = form('What is your name?', { name: { type: 'string' } }, ['name'])

export function addTaskTools(mcp) {
  const Compute = z.object({ seconds: z.number(), label: z.string().optional() })
  tool(mcp, 'greet', z.object({ name: z.string() }), ({ name }) => text(`Hello, ${name}!`))
  tool(mcp, 'slow_compute', Compute, ({ seconds, label }, ctx) => {
    const result = text(`computed ${label}`)
    if (!knowsTasks(ctx) || seconds === 0) return result
    return create(after(seconds, { status: 'completed', result }))
  })
  tool(mcp, 'failing_job', NOTHING, () => {
    const result = { ...text('It failed.'), isError: true }
    return create(after(0.1, { status: 'completed', result }))
  })
  tool(mcp, 'protocol_error_job', NOTHING, () => {
    const error = { code: -32603, message: 'The server broke.' }
    return create(after(0.1, { status: 'failed', error }))
  })
  tool(mcp, 'confirm_delete', z.object({ filename: z.string() }), () => create(asks({ confirm })))
  tool(mcp, 'multi_input', NOTHING, () => create(asks({ first: askName, second: confirm })))
  tool(mcp, 'test_tool_with_task', NOTHING, (_, ctx) => {
    const answer = answered(ctx, 'user_name')
    if (answer === null) return inputRequired({ inputRequests: { user_name: askName } })
    const result = text(`Hello, ${answer.content?.name}!`)
    return create(after(0.1, { status: 'completed', result }))
  })
  addTaskMethods(mcp)
}

function addTaskMethods(mcp) {
  const method = (name, run) =>
    mcp.server.setRequestHandler(name, { params: z.looseObject({}) }, (params, ctx) => {
      if (!knowsTasks(ctx)) throw new MissingRequiredClientCapabilityError(REQUIRED)
      const task = tasks.get(params.taskId)
      if (task === undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task')
      return run(task, ctx.mcpReq.inputResponses ?? params.inputResponses ?? {})
    })
  method('tasks/get', (task) => shown(task))
  method('tasks/update', (task, answers) => {
    task.onAnswers?.(answers)
    return {}
  })
  method('tasks/cancel', (task) => {
    if (!ENDED.includes(task.status)) task.status = 'cancelled'
    return {}
  })
}

/** Tools that cannot do without a task; the library would show the error as the tool's. */
const TASK_ONLY = [
  'failing_job',
  'protocol_error_job',
  'confirm_delete',
  'multi_input',
  'test_tool_with_task',
]

/** The refusal of such a call by a client that does not know tasks; null for every other request. */
export async function refusalOf(request) {
  if (request.method !== 'POST') return null
  const { id, method, params } = await request.json().catch(() => ({}))
  if (method !== 'tools/call' || !TASK_ONLY.includes(params?.name)) return null
  if (params._meta?.[CAPABILITIES]?.extensions?.[TASKS] !== undefined) return null
  const { code, message, data } = new MissingRequiredClientCapabilityError(REQUIRED)
  return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } }, { status: 400 })
}
