import { join } from 'node:path'
import { isHex64 } from '../../core/bytes/hex.js'
import { GateError } from '../../core/error.js'
import { jsonDigestOf } from '../../core/json/build.js'
import { parse } from '../../core/json/parse.js'
import { ifThere } from '../disk/errno.js'
import { readFile, stat } from '../disk/files.js'
import { replaceFile } from '../disk/replace-file.js'
import { sha256 } from './segment/record.js'

/** Manifests and policy sets, by digest, in clear: an auditor re-derives verdicts from them. */
export function publicFiles(folder: string) {
  const pathOf = (digest: string): string => join(folder, digest)
  /** One write of a digest at a time: two would share a temporary file. */
  const writing = new Map<string, Promise<void>>()

  async function get(digest: string): Promise<Uint8Array | null> {
    if (!isHex64(digest)) return null
    const bytes = await ifThere(readFile(pathOf(digest)))
    if (bytes === null) return null
    if (!isOf(digest, bytes)) {
      throw new GateError('damaged', `${pathOf(digest)} is not what its name says`)
    }
    return new Uint8Array(bytes)
  }

  async function write(digest: string, bytes: Uint8Array): Promise<void> {
    const known = await stat(pathOf(digest)).catch(() => null)
    // A damaged file is written anew: these bytes are the right ones.
    if (known?.size === bytes.length && (await get(digest).catch(() => null)) !== null) return
    await replaceFile(pathOf(digest), bytes)
  }

  return {
    get,
    async put(digest: string, bytes: Uint8Array): Promise<void> {
      if (!isHex64(digest) || !isOf(digest, bytes)) {
        throw new GateError('digest_mismatch', `the bytes are not those of ${digest}`)
      }
      const earlier = writing.get(digest)
      if (earlier !== undefined) return earlier
      const mine = write(digest, bytes).finally(() => writing.delete(digest))
      writing.set(digest, mine)
      return mine
    },
  }
}

/** SHA-256 of the bytes, or JSON-DIGEST of the document they are: a manifest is named by the latter. */
function isOf(digest: string, bytes: Uint8Array): boolean {
  if (sha256(bytes).toString('hex') === digest) return true
  const parsed = parse(bytes)
  return parsed.ok && jsonDigestOf(parsed.value, { sha256 }) === digest
}
