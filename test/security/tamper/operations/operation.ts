import type { HeadSigner } from '../../../../src/core/journal/head.js'
import type { PublicKeyRecord } from '../../../../src/core/statement/keys.js'
import type { TestKey } from '../../../core/statement/sample.js'
import type { Files } from '../folder.js'
import type { Random } from '../random.js'
import { indexesOf, type Row, rowsOf } from '../rows.js'
import type { Story } from '../story.js'

/** What an adversary has: the folder as it was, public keys, keys of their own. */
export type World = {
  readonly story: Story
  /** Line types that the story has, in the order of their first line. */
  readonly types: readonly string[]
  readonly keyring: readonly PublicKeyRecord[]
  readonly stranger: { readonly event: TestKey; readonly statement: TestKey }
  /** Signers that are not the gate's event key, by what they are. */
  readonly signers: { readonly [name: string]: (origin: string) => HeadSigner }
}

/** Something that is done to a folder without the keys that would make it hold. */
export type Operation = {
  readonly name: string
  /** Who does it, and what for. */
  readonly adversary: string
  /** What it is done to, one case each: line types, files, places. */
  targets(world: World): readonly string[]
  /** The changed folder; null where it cannot be done to this one. */
  apply(files: Files, target: string, random: Random, world: World): Files | null
}

export const once = (): readonly string[] => ['']
export const everyType = ({ types }: World): readonly string[] => types

/** The rows and one of that type among them; null where there is none. */
export function pickRow(
  files: Files,
  type: string,
  random: Random,
): { readonly rows: readonly Row[]; readonly at: number } | null {
  const rows = rowsOf(files)
  if (rows === null) return null
  const found = indexesOf(rows, type)
  return found.length === 0 ? null : { rows, at: random.pick(found) }
}
