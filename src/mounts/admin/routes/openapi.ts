import { z } from 'zod'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { ADMIN_PROBLEMS, type AdminCode } from '../problem.js'
import { answering, type Content, json, type Route, route } from '../route.js'
import { problem } from './schemas.js'

type Schema = Readonly<Record<string, unknown>>

const schemaOf = (type: z.ZodType, io: 'input' | 'output' = 'output'): Schema => {
  const { $schema, ...rest } = z.toJSONSchema(type, { io, target: 'draft-2020-12' })
  return rest
}

/** Of the same rows and schemas the server runs on, so that it cannot say anything else. */
export function openApiDocument(routes: readonly Route[]): Schema {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const row of routes) {
    paths[row.path] = { ...paths[row.path], [row.method]: operation(row) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'capsule-gate admin plane', version: '1' },
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Problem: schemaOf(problem) },
    },
  }
}

function operation(row: Route): Schema {
  return {
    summary: row.summary,
    ...(row.roles === 'anyone' ? { security: [] } : { 'x-roles': row.roles }),
    parameters: [...parameters('path', row.params), ...parameters('query', row.query)],
    ...(row.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaOf(row.body, 'input') } },
          },
        }),
    responses: responses(row),
  }
}

function parameters(where: 'path' | 'query', shape: z.ZodObject | undefined): Schema[] {
  return Object.entries(shape?.shape ?? {}).map(([name, type]) => ({
    name,
    in: where,
    required: where === 'path' || !(type as z.ZodType).safeParse(undefined).success,
    schema: schemaOf(type as z.ZodType, 'input'),
  }))
}

function responses(row: Route): Schema {
  const out: Record<string, unknown> = {}
  for (const [status, contents] of Object.entries(row.answers)) {
    out[status] = {
      description: row.summary,
      content: Object.fromEntries(contents.map((content) => [content.type, media(content)])),
    }
  }
  for (const code of problemsOf(row)) {
    const [status, description] = ADMIN_PROBLEMS[code]
    out[status] ??= {
      description,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  }
  return out
}

const media = (content: Content): Schema =>
  content.type === 'application/json' ? { schema: schemaOf(content.schema) } : {}

/** What every row of its kind can answer, beside its own. */
const problemsOf = (row: Route): readonly AdminCode[] => [
  ...(row.problems ?? []),
  ...(row.roles === 'anyone'
    ? []
    : (['unauthenticated', 'forbidden', 'too_many_requests'] as const)),
  'request_invalid',
  ...(row.body === undefined ? [] : (['too_large'] as const)),
  'internal',
]

export const openApi = (routes: () => readonly Route[]): Route =>
  route({
    method: 'get',
    path: '/v1/openapi.json',
    summary: 'This document.',
    roles: ADMIN_ROLES,
    answers: answering(z.looseObject({ openapi: z.literal('3.1.0') })),
    handle: () => json(openApiDocument(routes())),
  })
