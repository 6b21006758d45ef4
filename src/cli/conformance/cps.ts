import { join } from 'node:path'
import { existsSync, readFileSync } from '../../adapters/disk/files.js'
import type { Crypto, Sha3 } from '../../core/crypto/crypto.js'
import { parse } from '../../core/json/parse.js'
import { isArray, isObject, type JsonObject, type JsonValue } from '../../core/json/value.js'
import { dumps, quoteUnicode } from '../../core/python/dumps.js'
import { cpsCanonical, parseCapsuleUri, validateCps } from '../../cps.js'
import type { Case } from './conformance.js'

/** The vectors of the Capsule Protocol: golden capsules, invalid ones, and references. */
export function cpsCases(root: string, crypto: Crypto & Sha3): Case[] {
  const folder = join(root, 'cps', 'conformance')
  const of = (name: string, list: string): readonly JsonObject[] => {
    const path = join(folder, name)
    // Numbers keep their form: `0.0` is another text than `0`.
    const parsed = existsSync(path) ? parse(readFileSync(path)) : null
    const listed = parsed?.ok && isObject(parsed.value) ? parsed.value.get(list) : undefined
    return isArray(listed) ? listed.filter(isObject) : []
  }
  return [
    ...of('fixtures.json', 'fixtures').map((vector): Case => {
      const result = cpsCanonical(textOf(vector.get('capsule_dict')), { crypto })
      return {
        suite: 'cps/fixtures',
        name: String(vector.get('name')),
        expected: `${vector.get('sha3_256_hash')} ${vector.get('canonical_json')}`,
        actual: result.ok ? `${result.hash} ${result.canonical}` : result.code,
        note: null,
      }
    }),
    ...of('invalid-fixtures.json', 'fixtures').map((vector): Case => {
      const claimed = vector.get('claimed_hash')
      const { findings } = validateCps(textOf(vector.get('capsule_dict')), {
        crypto,
        ...(typeof claimed === 'string' ? { claimedHash: claimed } : {}),
      })
      const first = findings.find(({ severity }) => severity === 'error')
      return {
        suite: 'cps/invalid',
        name: String(vector.get('name')),
        expected: `${vector.get('expected_error')} ${vector.get('error_field')}`,
        actual: first === undefined ? 'valid' : `${first.code} ${first.field}`,
        note: null,
      }
    }),
    ...of('uri-fixtures.json', 'valid').map((vector): Case => {
      const uri = parseCapsuleUri(String(vector.get('uri')))
      const actual = uri === null ? null : parse(JSON.stringify(uri))
      return {
        suite: 'cps/uri',
        name: String(vector.get('name')),
        expected: textOf(vector.get('expected')),
        actual: actual?.ok === true ? textOf(actual.value) : 'refused',
        note: null,
      }
    }),
    ...of('uri-fixtures.json', 'invalid').map((vector): Case => {
      const isRead = parseCapsuleUri(String(vector.get('uri'))) !== null
      const name = String(vector.get('name'))
      const actual = isRead ? 'accepted' : 'refused'
      return { suite: 'cps/uri', name: `invalid ${name}`, expected: 'refused', actual, note: null }
    }),
  ]
}

const textOf = (value: JsonValue | undefined): string =>
  dumps(value ?? null, { quote: quoteUnicode })
