import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import { type Adoption, adoptJournal, type Examined } from '../../adapters/journal/start/adopt.js'
import { exportKeyring } from '../../adapters/keys/keyring.js'
import { openSigner } from '../../adapters/keys/signer.js'
import { ownSignatureFault } from '../../core/journal/own-signature.js'
import type { Clock } from '../../ports/clock.js'
import { systemClock } from '../clock.js'
import { journalOrigin } from './open.js'

/** The journal of a data folder, taken over from version 1 (docs/operate.md). */
export async function adoptData(
  dir: string,
  headFile: string,
  accept: (found: Examined) => boolean,
  clock: Pick<Clock, 'now'> = systemClock,
): Promise<Adoption | null> {
  const journal = join(dir, 'journal')
  if (!existsSync(journal)) return null
  const { keys } = exportKeyring(join(dir, 'keys'))
  return adoptJournal(
    {
      dir: journal,
      origin: journalOrigin(join(dir, 'keys')),
      signer: openSigner(join(dir, 'keys')),
      keys,
      clock,
      headFile,
      lineFault: (line) => ownSignatureFault(line, keys, nodeCrypto),
    },
    accept,
  )
}
