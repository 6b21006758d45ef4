const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const VERSION_AT = 14

/**
 * A UUID of RFC 9562 in its one canonical text: lower case, hyphens, no braces or `urn:`. Ids are compared as
 * text, so a second spelling would be a second id. The Nil and Max UUID name nothing and are none.
 */
export const isUuid = (text: string): boolean => UUID.test(text)

export const isUuidV4 = (text: string): boolean => isUuid(text) && text[VERSION_AT] === '4'

/** UUIDs in running text, in whatever letter case. */
export const uuidsIn = (text: string): readonly string[] =>
  text.match(/(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])/gi) ?? []
