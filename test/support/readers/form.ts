import { headerOf, type RawRequest } from './request.js'

export type Pair = readonly [name: string, value: string]

/** Name and value of each part of a query or form, decoded; what cannot be decoded stays as it is. */
export const pairsOf = (text: string, separator: RegExp = /&/): Pair[] =>
  text
    .split(separator)
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=')
      return equals === -1
        ? [unescaped(part), '']
        : [unescaped(part.slice(0, equals)), unescaped(part.slice(equals + 1))]
    })

export function unescaped(text: string): string {
  const spaced = text.replaceAll('+', ' ')
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/** The fields of a multipart/form-data body; files count by their name, with their content. */
export function multipartPairs(request: RawRequest): Pair[] {
  const type = headerOf(request, 'content-type') ?? ''
  const found = /;\s*boundary=(?:"([^"]*)"|([^;\s]*))/i.exec(type)
  const boundary = found?.[1] ?? found?.[2]
  if (boundary === undefined || boundary === '') return []
  const text = Buffer.from(request.body).toString('utf8')
  return text
    .split(`--${boundary}`)
    .slice(1)
    .filter((part) => !part.startsWith('--'))
    .flatMap((part): Pair[] => {
      const split = /\r?\n\r?\n/.exec(part)
      if (split === null) return []
      const name = /^content-disposition:.*?;\s*name=(?:"([^"]*)"|([^;\s]*))/im.exec(
        part.slice(0, split.index),
      )
      const value = part.slice(split.index + split[0].length).replace(/\r?\n$/, '')
      return name === null ? [] : [[name[1] ?? name[2] ?? '', value]]
    })
}
