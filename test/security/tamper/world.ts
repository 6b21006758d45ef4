import { createPrivateKey, sign } from 'node:crypto'
import { parseKeyring } from '../../../src/core/statement/keys.js'
import { testKey } from '../../core/statement/sample.js'
import { EVIDENCE, journalOf } from './folder.js'
import type { World } from './operations/operation.js'
import { rowsOf } from './rows.js'
import { type Story, tellStory } from './story.js'

/** The story, and what an adversary has of it. */
export async function makeWorld(): Promise<World> {
  return worldOf(await tellStory())
}

export function worldOf(story: Story): World {
  const read = parseKeyring(publicKeys(story))
  if (!read.ok) throw new Error(read.detail)
  const keyring = read.keys
  const stranger = { event: testKey('event'), statement: testKey('statement') }
  const own = (purpose: string): Uint8Array =>
    Buffer.from(keyring.find((key) => key.purpose === purpose)?.kid ?? '', 'hex')
  const pem = story.files.get('data/keys/statement-1.key')
  if (pem === undefined) throw new Error('the story has no statement key')
  const statement = createPrivateKey(pem)
  const byStatement = (message: Uint8Array): Uint8Array => sign(null, message, statement)
  const strangers = stranger.event.sign
  return {
    story,
    types: [...new Set((rowsOf(story.files) ?? []).map(({ type }) => type))],
    keyring,
    stranger,
    signers: {
      stranger: (origin) => ({ origin, kid: stranger.event.kid, sign: strangers }),
      posing: (origin) => ({ origin, kid: own('event'), sign: strangers }),
      'statement key': (origin) => ({ origin, kid: own('statement'), sign: byStatement }),
      'statement key as the event key': (origin) => ({
        origin,
        kid: own('event'),
        sign: byStatement,
      }),
    },
  }
}

/** The keyring as an auditor has it pinned: public keys only. */
function publicKeys({ files }: Story): Buffer {
  const bytes = files.get('data/keys/keyring.json')
  if (bytes === undefined) throw new Error('the story has no keyring')
  return bytes
}

/** Files that hold the journal's records or what stands for them. */
export const isJournalFile = (name: string): boolean =>
  !name.startsWith('data/keys/') && !name.startsWith(`${EVIDENCE}/`)

export const honestJournal = ({ story }: World): Buffer => journalOf(story.files)
