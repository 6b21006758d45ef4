import { join } from 'node:path'
import { fromUtf8 } from '../../../core/bytes/text.js'
import { messageOf } from '../../disk/errno.js'
import { readdir, readFile, stat } from '../../disk/files.js'
import { type Finding, fault } from '../findings.js'

export type PolicyFile = { readonly name: string; readonly content: string }

const MAX_FILE_BYTES = 4 * 1024 * 1024

/**
 * The folder's own `*.cedar` files, by name. Symbolic links are followed (Kubernetes mounts are made of
 * them); names that start with a dot are not read. A policy file that cannot be read may hold the forbid that
 * matters, so it is an error.
 */
export async function readPolicyFiles(
  folder: string,
): Promise<{ readonly files: readonly PolicyFile[]; readonly findings: readonly Finding[] }> {
  const files: PolicyFile[] = []
  const findings: Finding[] = []
  const names = await namesIn(folder)
  if (names === null) {
    findings.push(fault('folder_unreadable', null, `cannot read the folder ${folder}`))
    return { files, findings }
  }
  for (const name of names) {
    const read = await readEntry(folder, name)
    if (read === null) continue
    if ('content' in read) files.push(read)
    else findings.push(read)
  }
  return { files, findings }
}

async function namesIn(folder: string): Promise<string[] | null> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.')).sort()
  } catch {
    return null
  }
}

async function readEntry(folder: string, name: string): Promise<PolicyFile | Finding | null> {
  const path = join(folder, name)
  const location = { file: name, line: 1 }
  try {
    const found = await stat(path)
    if (found.isDirectory()) {
      const inside = await namesIn(path)
      if (inside !== null && !inside.some(isPolicyFile)) return null
      const message = 'policies in a folder below the policy folder are not read'
      return fault('folder_nested', location, message)
    }
    if (!isPolicyFile(name)) return null
    if (!found.isFile()) throw new Error('not a regular file')
    if (found.size > MAX_FILE_BYTES) {
      const message = `a file of ${found.size} bytes; at most ${MAX_FILE_BYTES} are read`
      return fault('file_too_large', location, message)
    }
    const content = fromUtf8(await readFile(path))
    if (content === null || content.startsWith('\uFEFF')) throw new Error('not UTF-8 without a BOM')
    return { name, content }
  } catch (error) {
    if (!isPolicyFile(name)) return null
    return fault('file_unreadable', location, messageOf(error))
  }
}

const isPolicyFile = (name: string): boolean => name.endsWith('.cedar')
