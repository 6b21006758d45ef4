import { closeSync, type FileHandle, open, openSync } from './files.js'

/** Opens a file for `use` and closes it, however that ends. */
export async function withFile<T>(
  path: string,
  flags: string,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, flags, 0o600)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

export function withFileSync<T>(
  path: string,
  flags: string | number,
  use: (fd: number) => T,
  mode = 0o600,
): T {
  const fd = openSync(path, flags, mode)
  try {
    return use(fd)
  } finally {
    closeSync(fd)
  }
}

/** Fills `buffer` from `offset` on with what stands at `position`; returns how much there was. */
export async function readFully(
  file: FileHandle,
  buffer: Buffer,
  position: number,
  offset = 0,
  length = buffer.length - offset,
): Promise<number> {
  let done = 0
  while (done < length) {
    const { bytesRead } = await file.read(buffer, offset + done, length - done, position + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return done
}
