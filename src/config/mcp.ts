import { z } from 'zod'
import { credential, file, one, parseUrl, variable } from './fields.js'

const url = z.string().superRefine((text, context) => {
  const parsed = parseUrl(text)
  const fault = (message: string): void => context.addIssue({ code: 'custom', message })
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) fault('expected an http or https URL')
  else if (parsed.username !== '' || parsed.password !== '') {
    fault('a secret stands in the URL: use credential with env or file')
  } else if (parsed.search !== '' || parsed.hash !== '') fault('expected no query or fragment')
})

const ask = z.enum(['pass', 'refuse']).default('pass')
const key = z.string().regex(/^[A-Za-z0-9._/-]{1,128}$/, 'expected a key of _meta')

/** An MCP server: a command that the gate starts, or the address of one that runs. */
export const mcpServer = z
  .strictObject({
    command: z.array(z.string().min(1).max(4096)).min(1).max(256).optional(),
    cwd: file.optional(),
    /** Variables of the gate's own environment that the command gets, beside PATH, HOME and the like. */
    env: z.array(variable).max(256).default([]),
    url: url.optional(),
    ca_file: file.optional(),
    credential: credential.optional(),
    /** Its annotations may also lower the irreversibility class of a tool. */
    trusted: z.boolean().default(false),
    /** What it may ask of the agents' clients; each ask is recorded. */
    sampling: ask,
    elicitation: ask,
    roots: ask,
    /** Keys of `_meta` that pass beside the protocol's own. */
    meta: z
      .strictObject({
        to_server: z.array(key).max(64).default([]),
        to_client: z.array(key).max(64).default([]),
      })
      .prefault({}),
  })
  .refine(one('command', 'url'), 'expected either command or url')
  .refine(
    ({ command, cwd, env }) => command !== undefined || (cwd === undefined && env.length === 0),
    'cwd and env go with command',
  )
  .refine(
    ({ url: to, ca_file, credential: with_ }) =>
      to !== undefined || (ca_file === undefined && with_ === undefined),
    'ca_file and credential go with url',
  )
