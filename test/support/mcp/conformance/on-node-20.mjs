/**
 * The conformance suite imports fs.globSync, which Node 20 lacks, for a command of its that is not run here. Where
 * it is missing, the import is answered with a stand-in; nothing else of the suite is touched.
 */
import * as fs from 'node:fs'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const FS = `data:text/javascript,${encodeURIComponent(
  "export * from 'node:fs'; export const globSync = () => { throw new Error('globSync is not in Node 20') }",
)}`

// Node loads this file again, in a thread of its own, for the hook below.
if (isMainThread && !('globSync' in fs)) register(import.meta.url)

export async function resolve(name, context, next) {
  if (name === 'fs' && context.parentURL?.includes('/conformance/'))
    return { url: FS, shortCircuit: true }
  return next(name, context)
}
