import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { compileFunction } from 'node:vm'
import { readFileSync } from '../../disk/files.js'

type CedarModule = typeof import('@cedar-policy/cedar-wasm/nodejs')

/** The part of cedar-wasm the gate calls. */
export type CedarWasm = Pick<
  CedarModule,
  'policyToJson' | 'preparsePolicySet' | 'preparseSchema' | 'statefulIsAuthorized' | 'validate'
>

export const CEDAR_MODULE = createRequire(import.meta.url).resolve(
  '@cedar-policy/cedar-wasm/nodejs',
)

/**
 * An instance of its own each time, past every module cache: the package keeps one wasm instance per
 * module copy, and an instance that trapped once is of no use any more.
 */
export function instantiateCedar(): CedarWasm {
  keepWasmCallsOutOfLine()
  const module = { exports: {} }
  const run = compileFunction(
    readFileSync(CEDAR_MODULE, 'utf8'),
    ['exports', 'require', 'module', '__filename', '__dirname'],
    { filename: CEDAR_MODULE },
  )
  const require = createRequire(CEDAR_MODULE)
  run(module.exports, require, module, CEDAR_MODULE, dirname(CEDAR_MODULE))
  return module.exports as CedarWasm
}

/**
 * V8 before 12 (Node 20) ends the whole process, "unreachable code" in the deoptimizer, when optimized
 * code that inlined a call into wasm returning a reference is thrown away while that call runs. Every
 * decision is such a call; out of line they are safe. bench/spine-load.mjs met it after some 2,000.
 */
function keepWasmCallsOutOfLine(): void {
  const major = Number(process.versions.v8.split('.', 1)[0])
  if (major < 12) setFlagsFromString('--no-turbo-inline-js-wasm-calls')
}

/** Stack exhaustion or a wasm trap: the instance is lost. By name: the class may be another realm's. */
export const isInstanceLost = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'name' in error &&
  (error.name === 'RangeError' || error.name === 'RuntimeError')

export type CedarHost = ReturnType<typeof cedarHost>
export type Slot = { readonly name: 'A' | 'B'; isHeld(): boolean }

/**
 * One wasm instance and its two slots. What is preparsed under a name is never freed, only replaced, so a reload
 * writes under the names of the other slot; the engine that had that slot is retired.
 */
export function cedarHost(instantiate: () => CedarWasm) {
  let instance = instantiate()
  let generation = 0
  const holders: Partial<Record<Slot['name'], Slot>> = {}
  return {
    wasm: (): CedarWasm => instance,
    /** Grows when the instance is replaced: what was preparsed before is gone. */
    generation: (): number => generation,
    /** After a trap. Slots stay with their holders. */
    replace(): void {
      instance = instantiate()
      generation++
    },
    takeSlot(name: Slot['name']): Slot {
      const slot: Slot = { name, isHeld: () => holders[name] === slot }
      holders[name] = slot
      return slot
    },
  }
}
