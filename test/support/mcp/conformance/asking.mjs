/** Tools that need an answer of the person, the model or the client first. */
import { inputRequired, inputResponse } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { text } from './content.mjs'
import { NOTHING, tool } from './tools.mjs'

export const form = (message, properties, required) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, ...(required ? { required } : {}) },
  })
const askName = form('What is your name?', { name: { type: 'string' } }, ['name'])
const sampleOf = (question, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens,
  })
export const answered = ({ mcpReq }, key) => {
  const answer = inputResponse(mcpReq.inputResponses, key)
  return answer.kind === 'missing' ? null : answer
}

/** Both eras: to older clients the library sends what is asked for as a request of its own. */
export function addAskingTools(mcp) {
  tool(mcp, 'test_sampling', z.object({ prompt: z.string() }), ({ prompt }, ctx) => {
    const answer = answered(ctx, 'sample')
    return answer === null
      ? inputRequired({ inputRequests: { sample: sampleOf(prompt, 100) } })
      : text(`LLM response: ${answer.result.content.text}`)
  })
  const asks = (name, input, request, say) =>
    tool(mcp, name, input, (args, ctx) => {
      const answer = answered(ctx, 'form')
      return answer === null
        ? inputRequired({ inputRequests: { form: request(args) } })
        : text(`${say}: action=${answer.action}, content=${JSON.stringify(answer.content)}`)
    })
  asks(
    'test_elicitation',
    z.object({ message: z.string() }),
    ({ message }) =>
      form(
        message,
        {
          username: { type: 'string', description: "User's response" },
          email: { type: 'string', description: "User's email address" },
        },
        ['username', 'email'],
      ),
    'User response',
  )
  asks(
    'test_elicitation_sep1034_defaults',
    NOTHING,
    () =>
      form('Please confirm', {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }),
    'Elicitation completed',
  )
  const names = ['option1', 'option2', 'option3']
  const titled = ['First', 'Second', 'Third'].map((title, nth) => ({
    const: `value${nth + 1}`,
    title: `${title} Option`,
  }))
  asks(
    'test_elicitation_sep1330_enums',
    NOTHING,
    () =>
      form('Please choose', {
        untitledSingle: { type: 'string', enum: names },
        titledSingle: { type: 'string', oneOf: titled },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: names } },
        titledMulti: { type: 'array', items: { anyOf: titled } },
      }),
    'Elicitation completed',
  )
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** Newer clients alone, whose answers come with the next request. */
export function addRoundTools(mcp, codec) {
  const round = (name, key, request, done) =>
    tool(mcp, name, NOTHING, async (_, ctx) => {
      const answer = answered(ctx, key)
      return answer === null ? inputRequired({ inputRequests: { [key]: request } }) : done(answer)
    })
  round('test_input_required_result_elicitation', 'user_name', askName, (answer) =>
    text(`Hello, ${answer.content?.name}!`),
  )
  round(
    'test_input_required_result_sampling',
    'capital_question',
    sampleOf('What is the capital of France?', 100),
    (answer) => text(answer.result.content.text),
  )
  round(
    'test_input_required_result_list_roots',
    'client_roots',
    inputRequired.listRoots(),
    (answer) => text(answer.roots.map(({ uri }) => uri).join(', ')),
  )
  round('test_streaming_elicitation', 'user_name', askName, () => text('Thank you.'))

  const ok = form('Please confirm', { ok: { type: 'boolean' } }, ['ok'])
  const kept = (name) =>
    tool(mcp, name, NOTHING, async (_, ctx) => {
      if (answered(ctx, 'confirm') !== null && ctx.mcpReq.requestState() !== undefined)
        return text('state-ok')
      const requestState = await codec.mint({ asked: name })
      return inputRequired({ inputRequests: { confirm: ok }, requestState })
    })
  kept('test_input_required_result_request_state')
  kept('test_input_required_result_tampered_state')

  tool(mcp, 'test_input_required_result_multiple_inputs', NOTHING, async (_, ctx) => {
    const keys = ['user_name', 'greeting', 'client_roots']
    if (keys.every((key) => answered(ctx, key) !== null)) return text('All is there.')
    return inputRequired({
      inputRequests: {
        user_name: askName,
        greeting: sampleOf('Generate a greeting', 50),
        client_roots: inputRequired.listRoots(),
      },
      requestState: await codec.mint({ asked: keys }),
    })
  })
  tool(mcp, 'test_input_required_result_multi_round', NOTHING, async (_, ctx) => {
    if (answered(ctx, 'step2') !== null) return text('Both steps are done.')
    const step =
      answered(ctx, 'step1') === null
        ? { step1: form('Step 1: What is your name?', { name: { type: 'string' } }, ['name']) }
        : { step2: form('Step 2: What is your colour?', { color: { type: 'string' } }, ['color']) }
    const requestState = await codec.mint({ at: Object.keys(step) })
    return inputRequired({ inputRequests: step, requestState })
  })
  tool(mcp, 'test_input_required_result_capabilities', NOTHING, (_, { mcpReq }) => {
    const { elicitation, sampling } = mcpReq.envelope?.[CAPABILITIES] ?? {}
    return inputRequired({
      inputRequests: {
        ...(elicitation === undefined ? {} : { user_name: askName }),
        ...(sampling === undefined ? {} : { greeting: sampleOf('Generate a greeting', 50) }),
      },
    })
  })
  // The library refuses what the client has not said it can do.
  round('test_missing_capability', 'sample', sampleOf('Anything', 10), () => text('It can sample.'))
}
