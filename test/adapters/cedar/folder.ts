import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCedarEngine } from '../../../src/adapters/cedar/evaluate/engine.js'
import type { Finding } from '../../../src/adapters/cedar/findings.js'
import { type LoadResult, loadPolicies } from '../../../src/adapters/cedar/load/load.js'
import type { PolicyScope } from '../../../src/adapters/cedar/load/scope.js'
import type { PolicySet } from '../../../src/adapters/cedar/policy-set.js'
import type { PolicyRule } from '../../../src/adapters/cedar/schema.js'

const made: string[] = []
export function removeFolders(): void {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
}

export function policyFolder(files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = mkdtempSync(join(tmpdir(), 'cedar-'))
  made.push(path)
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content)
  return path
}

export const load = (text: string, rules: readonly PolicyRule[]): Promise<LoadResult> =>
  loadPolicies(policyFolder({ 'p.cedar': text }), rules)

export async function loadedSet(text: string, rules: readonly PolicyRule[]): Promise<PolicySet> {
  const result = await load(text, rules)
  if (!result.ok) throw new Error(JSON.stringify(result.findings, null, 1))
  return result.set
}

export const engineFor = async (text: string, rules: readonly PolicyRule[]) =>
  createCedarEngine({ set: await loadedSet(text, rules), rules })

export async function findingsOf(
  text: string,
  rules: readonly PolicyRule[],
): Promise<readonly Finding[]> {
  const result = await load(text, rules)
  return result.ok ? result.warnings : result.findings
}

/** The head `(principal, action, resource)`. */
export const ANYONE: PolicyScope = {
  principal: { type: null, entity: null },
  resource: { type: null, entity: null },
}

/** The refund tool of DESIGN §1, and one beside it. */
export const REFUND_RULES: readonly PolicyRule[] = [
  {
    tool: 'create_refund',
    action: 'create_refund',
    args: {
      order: { type: 'string', optional: false },
      currency: { type: 'string', optional: false },
      amount: { type: 'decimal', optional: false },
    },
  },
  {
    tool: 'search',
    action: 'search',
    args: {
      text: { type: 'string', optional: true },
      limit: { type: 'integer', optional: false },
      tags: { type: 'strings', optional: true },
      deep: { type: 'boolean', optional: true },
      price: { type: 'decimal', optional: true },
    },
  },
]
