import { parse } from '../json/parse.js'
import { anyText, list, optional, read, record } from '../json/shape.js'
import type { Plain } from '../json/value.js'
import { type ArgValue, typedValue } from '../manifest/constraint/typed-value.js'
import { type ApprovalDocument, document, type ShownArgument } from './document.js'

/** The document as the evidence store gave it out; null for anything that is not one. */
export function readDocument(value: Plain | undefined): ApprovalDocument | null {
  const got = read(document, value)
  return got.ok ? got.value : null
}

/** The argument that was shown like this; null where value and type disagree. */
export function readArgument({ type, value }: ShownArgument): ArgValue | null {
  switch (type) {
    case 'string':
    case 'decimal':
      return typeof value === 'string' ? { type, value } : null
    case 'boolean':
      return typeof value === 'boolean' ? { type, value } : null
    case 'integer':
      return typeof value === 'string' && /^-?\d+$/.test(value)
        ? { type, value: BigInt(value) }
        : null
    case 'strings': {
      const got = read(strings, value)
      return got.ok ? { type, value: got.value.items ?? [] } : null
    }
    case 'object':
    case 'objects': {
      const parsed = typeof value === 'string' ? parse(value) : null
      return parsed?.ok ? typedValue(type, { kind: 'json', value: parsed.value }) : null
    }
  }
}

/** An empty list may have been normalized away. */
const strings = record({ items: optional(list(anyText)) })
