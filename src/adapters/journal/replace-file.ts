import { dirname } from 'node:path'
import { open, rename } from '../disk/files.js'

/** All of the new content or all of the old, whatever happens in between. */
export async function replaceFile(path: string, content: Uint8Array | string): Promise<void> {
  const temporary = `${path}.tmp`
  const handle = await open(temporary, 'w', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(temporary, path)
  await syncFolder(dirname(path))
}

/** A name is durable only when its folder is. */
export async function syncFolder(dir: string): Promise<void> {
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
