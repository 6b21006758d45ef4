/** Tools that answer, fail or tell how far they are, by the names the conformance suite calls. */
import { setTimeout as pause } from 'node:timers/promises'
import { fromJsonSchema } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { EXPECTED_SCHEMA, embedded, IMAGE, SILENCE, text } from './content.mjs'

export const tool = (mcp, name, input, run) =>
  mcp.registerTool(name, { description: `Tests ${name}`, inputSchema: input }, run)
export const NOTHING = z.object({})

export function addContentTools(mcp) {
  tool(mcp, 'test_simple_text', NOTHING, () => text('This is a simple text response for testing.'))
  tool(mcp, 'test_image_content', NOTHING, () => ({ content: [IMAGE] }))
  tool(mcp, 'test_audio_content', NOTHING, () => ({
    content: [{ type: 'audio', data: SILENCE, mimeType: 'audio/wav' }],
  }))
  tool(mcp, 'test_embedded_resource', NOTHING, () => ({
    content: [
      embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.'),
    ],
  }))
  tool(mcp, 'test_multiple_content_types', NOTHING, () => ({
    content: [
      { type: 'text', text: 'Multiple content types test:' },
      IMAGE,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  }))
  tool(mcp, 'test_error_handling', NOTHING, () => {
    throw new Error('This tool intentionally returns an error for testing')
  })
  tool(mcp, 'json_schema_2020_12_tool', fromJsonSchema(EXPECTED_SCHEMA), () => text('valid'))
  tool(
    mcp,
    'test_header_parameter',
    fromJsonSchema({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    }),
    ({ region }) => text(`in ${region}`),
  )
}

export function addTellingTools(mcp, notify) {
  tool(mcp, 'test_tool_with_logging', NOTHING, async (_, { mcpReq }) => {
    const steps = ['Tool execution started', 'Tool processing data', 'Tool execution completed']
    for (const step of steps) {
      await mcpReq.log('info', step)
      await pause(50)
    }
    return text('Logged three times.')
  })
  tool(mcp, 'test_logging_tool', NOTHING, async (_, { mcpReq }) => {
    await mcpReq.log('info', 'A message')
    return text('Logged.')
  })
  tool(mcp, 'test_tool_with_progress', NOTHING, async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      await pause(50)
    }
    return text('Done.')
  })
  tool(mcp, 'test_trigger_tool_change', NOTHING, () => {
    notify().toolsChanged()
    return text('changed')
  })
  tool(mcp, 'test_trigger_prompt_change', NOTHING, () => {
    notify().promptsChanged()
    return text('changed')
  })
}
