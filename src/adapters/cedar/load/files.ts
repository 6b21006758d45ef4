import { join } from 'node:path'
import { fromUtf8 } from '../../../core/bytes/text.js'
import { readdir, readFile, stat } from '../../disk/files.js'
import { type Finding, fault } from '../findings.js'

export type PolicyFile = { readonly name: string; readonly content: string }

const MAX_FILE_BYTES = 4 * 1024 * 1024

/**
 * The folder's own `*.cedar` files, by name. Symbolic links are followed (Kubernetes mounts are made of
 * them); names that start with a dot are not read. A policy nobody reads may be the forbid that was
 * meant to hold, so everything that looks like one and cannot be read is an error.
 */
export async function readPolicyFiles(
  folder: string,
): Promise<{ readonly files: readonly PolicyFile[]; readonly findings: readonly Finding[] }> {
  const files: PolicyFile[] = []
  const findings: Finding[] = []
  const names = await namesIn(folder)
  if (names === null) {
    const help = 'create it with at least one .cedar file, or name another folder'
    return {
      files,
      findings: [fault('folder_unreadable', null, `cannot read the folder ${folder}`, help)],
    }
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
  const place = { file: name, line: 1 }
  try {
    const found = await stat(path)
    if (found.isDirectory()) {
      const inside = await namesIn(path)
      if (inside !== null && !inside.some(isPolicyFile)) return null
      return fault(
        'folder_nested',
        place,
        'policies in a folder below the policy folder are not read',
        'move them up, or out of the policy folder',
      )
    }
    if (!isPolicyFile(name)) return null
    if (!found.isFile()) throw new Error('not a regular file')
    if (found.size > MAX_FILE_BYTES) {
      return fault(
        'file_too_large',
        place,
        `a file of ${found.size} bytes; at most ${MAX_FILE_BYTES} are read`,
        'split it into several files',
      )
    }
    const content = fromUtf8(await readFile(path))
    if (content === null || content.startsWith('\uFEFF')) throw new Error('not UTF-8 without a BOM')
    return { name, content }
  } catch (error) {
    if (!isPolicyFile(name)) return null
    const message = error instanceof Error ? error.message : String(error)
    return fault('file_unreadable', place, message, 'make it a readable UTF-8 file, or remove it')
  }
}

const isPolicyFile = (name: string): boolean => name.endsWith('.cedar')
