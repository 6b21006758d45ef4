import type { Call } from './call.js'

/** What the private record of a refusal keeps of a call that no rule names. */
export function requestLine(call: Call): { readonly [name: string]: string } {
  switch (call.kind) {
    case 'http':
      return { method: call.method, target: call.target }
    case 'function':
      return { tool: call.tool }
  }
}

/** The method that logs and metrics tell; null for calls that have none. */
export function methodOf(call: Call): string | null {
  switch (call.kind) {
    case 'http':
      return call.method
    case 'function':
      return null
  }
}
