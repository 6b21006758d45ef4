import { ALL_UNREAD, type Member, membersOf } from '../schema/members.js'
import { isRecord, type Reader, type Schema } from '../schema/schema.js'

/** The members of a request's JSON body. */
export function* bodyMembers(body: Schema, reader: Reader): Generator<Member> {
  const { resolve, note } = reader
  const content = isRecord(body.content) ? body.content : {}
  const [type, media] = Object.entries(content).find(([name]) => JSON_TYPE.test(name)) ?? []
  const others = Object.keys(content).filter((name) => name !== type)
  if (type === undefined) {
    if (others.length === 0) return
    note(`a body of ${others.join(', ')} is not read and passes unjudged (also.body: any)`)
    yield ALL_UNREAD
    return
  }
  for (const other of others) note(`a body of ${other} is refused: the tool reads JSON`)
  const schema = isRecord(media) ? resolve(media.schema) : undefined
  if (schema !== undefined) yield* membersOf(schema, body.required === true, reader)
  else {
    note('the body has no schema that can be followed; it passes unjudged (also.body: any)')
    yield ALL_UNREAD
  }
}
const JSON_TYPE = /^application\/(?:json|[\w.-]+\+json)(?:;|$)/
