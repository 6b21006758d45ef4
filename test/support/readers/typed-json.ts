import { pairsOf } from './form.js'
import { keeping } from './javascript.js'
import { goName, protobufName, readJson } from './json.js'
import { pathOf, queryOf, textOf } from './request.js'
import { exactly, type Reader, segmentsOf } from './view.js'

/** Readers that decode into declared fields: two names may be one field to them. */
const decoding = (
  name: string,
  member: (name: string) => string,
  parameter: (name: string) => string,
): Reader => ({
  name,
  literal: exactly,
  read(request) {
    const query = keeping(
      pairsOf(queryOf(request)).map(([given, value]) => [parameter(given), value] as const),
      'last',
    )
    const body = readJson(textOf(request), 'last', member)?.value
    return {
      method: request.method,
      segments: segmentsOf(pathOf(request)),
      bags: [
        { name: 'query', from: 'query', values: query },
        {
          name: 'message',
          from: 'body',
          values: body ?? new Map(),
        },
      ],
    }
  },
})

/** net/http and encoding/json: members by simple case folding, query names to the letter. */
export const go = decoding('Go', goName, (name) => name)
/** A gRPC gateway: `userId` for `user_id`, in the body and in the query. */
export const protobuf = decoding('protobuf-JSON', protobufName, protobufName)
