import type { Call, ReadCall } from './call.js'

/** How a call's rule is found: by the tool it names alone, or by where it goes. */
export type Address =
  | { readonly kind: 'tool'; readonly tool: string }
  | {
      readonly kind: 'target'
      readonly method: string
      readonly target: string
      /** Null: to whichever upstream the rule of this method and target goes. */
      readonly upstream: string | null
      /** A route guard named the tool; null: the rule's. */
      readonly tool: string | null
    }

export function addressOf(call: Call): Address {
  switch (call.kind) {
    case 'http': {
      const { method, target, upstream, tool } = call
      return { kind: 'target', method, target, upstream, tool }
    }
    case 'function':
      return { kind: 'tool', tool: call.tool }
  }
}

/** The upstream a judged call is sent to; null: it does not leave the process. */
export function destinationOf(call: ReadCall): string | null {
  switch (call.kind) {
    case 'http':
      return call.upstream
    case 'function':
      return null
  }
}
